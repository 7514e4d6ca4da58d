"""Statistics of a campaign's table: quantiles, probabilities, ellipses, correlations, indices."""

from __future__ import annotations

import numpy as np

from soacraft.attributes import Strict
from soacraft.errors import CampaignError, near
from soacraft.sim.campaigns import statistics
from soacraft.sim.campaigns.folder import Settings
from soacraft.sim.campaigns.job import Job
from soacraft.sim.campaigns.statistics import Ellipse, Index, Probability, Quantile
from soacraft.sim.campaigns.table import Table
from soacraft.spatial.checks import Array


class Judged(Strict):
    """The statistics of what has a table."""

    _job: Job
    _settings: Settings

    @property
    def runs(self) -> int:
        """Number of the runs of the campaign."""
        return self._settings.runs

    def table(self) -> Table:
        """All rows that are done, in order of the runs."""
        raise AssertionError("every kind overrides it")

    def _values(self, measure: str | None) -> tuple[Array, Table, str]:
        """A measure of all runs; not a number where one has none."""
        names = list(self._job.measures)
        if measure is None:
            if len(names) != 1:
                raise CampaignError(f"say which measure: {', '.join(map(repr, names)) or 'there is none'}.")
            measure = names[0]
        if measure not in names:
            raise CampaignError(f"the campaign has no measure {measure!r:.60}{near(str(measure), names)}")
        table = self.table()
        if not table.rows:
            raise CampaignError("no run is done yet: c.run().")
        return np.where(table.ok, table[measure], np.nan), table, measure

    def quantile(self, p: float, measure: str | None = None, confidence: float = 0.95) -> Quantile:
        """A quantile of a measure, with bounds that hold whatever its distribution is. Runs without a value are left
        out and counted."""
        values, _, _ = self._values(measure)
        good = values[~np.isnan(values)]
        return statistics.quantile(good, p, confidence, len(values) - len(good))

    def probability(
        self,
        measure: str | None = None,
        below: float | None = None,
        above: float | None = None,
        confidence: float = 0.95,
    ) -> Probability:
        """The probability that a measure is at most `below` and at least `above`; without limits, that a run comes to
        its end. Failed runs, and runs without a value, are no success."""
        if below is None and above is None and measure is None:
            table = self.table()
            return statistics.probability(int(table.ok.sum()), len(table.rows), confidence)
        values, _, _ = self._values(measure)
        good = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            good &= values <= (np.inf if below is None else below)
            good &= values >= (-np.inf if above is None else above)
        return statistics.probability(int(good.sum()), len(values), confidence)

    def ellipse(self, x: str, y: str, probability: float = 0.95) -> Ellipse:
        """The dispersion ellipse of two measures."""
        a, b = self._values(x)[0], self._values(y)[0]
        good = np.isfinite(a) & np.isfinite(b)
        return statistics.ellipse(a[good], b[good], probability)

    def correlations(self, measure: str | None = None) -> dict[str, float]:
        """Rank correlations (Spearman) of a measure with every path that varies, the strongest first."""
        values, table, _ = self._values(measure)
        good = ~np.isnan(values)
        by_path = {path: statistics.spearman(table[path][good], values[good]) for path in table.paths}
        return dict(sorted(by_path.items(), key=lambda x: -abs(x[1])))

    def sobol(self, measure: str | None = None) -> dict[str, Index]:
        """First and total Sobol' indices of every variation, of a campaign with sampling="saltelli"."""
        if self._settings.sampling != "saltelli":
            raise CampaignError(f"Sobol' indices need sampling='saltelli', and this is {self._settings.sampling!r}.")
        values, table, _ = self._values(measure)
        group, runs = self._job.inputs.sampler.group, {int(i): n for n, i in enumerate(table["run"])}
        complete = [i for i in range(0, self.runs, group) if all(i + k in runs for k in range(group))]
        picked = [values[runs[i + k]] for i in complete for k in range(group)]
        return statistics.sobol_indices(
            np.array(picked), [x.name for x in self._job.inputs.variations], self._settings.seed
        )
