"""`bode`: how a linearized motion answers a force that swings: gain and phase by frequency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.analysis.linearize import Linearization
from soacraft.errors import ViewError, near
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Chart, Panel, chart_of

#: Frequencies drawn, and decades below the slowest and above the fastest eigenvalue.
_COUNT, _AROUND = 400, 1.0
#: Eigenvalues this small relative to the largest have no frequency of their own.
_STILL = 1e-6


def bode(
    lin: Linearization,
    force: Sequence[str] | str | None = None,
    dofs: Sequence[str] | str | None = None,
    frequencies: Any = None,
) -> Chart:
    """Gain and phase of coordinates under forces that swing, about the state of `sc.analysis.linearize`.

        xi(w) = C (i w I - A)^-1 B force(w),     C picks the coordinates

    `force` names the dofs that are pushed, `dofs` those that answer; all by default. `frequencies` in rad/s; by default
    from a decade below the slowest to a decade above the fastest eigenvalue. O(frequencies nv^3).

    >>> import soacraft as sc
    >>> mb = sc.load("cart_pole")
    >>> lin = sc.analysis.linearize(mb, [0, 0], [0, 0], [0, 0])
    >>> chart = sc.view.bode(lin, "cart", "pole")
    >>> [panel.y_label for panel in chart.panels]
    ['gain [rad/N]', 'phase [degrees]']
    """
    if not isinstance(lin, Linearization):
        raise ViewError(f"bode takes what sc.analysis.linearize gives, got {type(lin).__name__}.")
    if lin.A.ndim > 2:
        raise ViewError(f"bode draws one state, and this is a batch {lin.A.shape[:-2]}; linearize one of them.")
    answers = getattr(lin, "position_names", lin.dof_names)
    columns, rows = _picked(tuple(lin.units), force, "force"), _picked(tuple(answers), dofs, "dofs")
    w = _frequencies(lin, frequencies)
    values = responses(lin.A, lin.B[:, columns], w)[:, rows]
    gains: dict[str, dict[str, tuple[Array, Array]]] = {}
    phases: dict[str, tuple[Array, Array]] = {}
    for n, i in enumerate(columns):
        for m, j in enumerate(rows):
            pushed, moved = tuple(lin.units)[i], answers[j]
            name, unit = f"{moved} by {pushed}", f"{lin.units.get(moved, '')}/{_force_unit(lin.units[pushed])}"
            gains.setdefault(unit, {})[name] = (w, np.abs(values[:, m, n]))
            phases[name] = (w, np.degrees(np.unwrap(np.angle(values[:, m, n]))))
    panels = [_panel("gain", f"gain [{unit}]", lines, True) for unit, lines in gains.items()]
    return chart_of([*panels, _panel("phase", "phase [degrees]", phases, False)])


def responses(A: Array, B: Array, w: Array) -> npt.NDArray[np.complex128]:
    """(i w I - A)^-1 B for each frequency, (frequencies, n, m); infinite where an eigenvalue is met."""
    values = np.full((len(w), *B.shape), complex(np.inf))
    for k, x in enumerate(w):
        try:
            values[k] = np.linalg.solve(1j * x * np.eye(len(A)) - A, B)
        except np.linalg.LinAlgError:
            continue
    return values


def _panel(title: str, y_label: str, lines: dict[str, tuple[Array, Array]], logarithmic: bool) -> Panel:
    return Panel(title, "frequency [rad/s]", y_label, lines, False, logarithmic, True)


def _force_unit(unit: str) -> str:
    return {"rad": "(N m)", "m": "N"}.get(unit, "force")


def _picked(names: tuple[str, ...], wanted: Sequence[str] | str | None, what: str) -> list[int]:
    if wanted is None:
        return list(range(len(names)))
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in asked:
        if name not in names:
            raise ViewError(f"{what} of bode: there is no dof {name!r:.60}{near(str(name), names, 'there are')}")
    return [names.index(name) for name in asked]


def _frequencies(lin: Linearization, frequencies: Any) -> Array:
    if frequencies is not None:
        w = np.asarray(frequencies, dtype=np.float64)
        if w.ndim != 1 or not len(w) or not np.isfinite(w).all() or not (w > 0.0).all():
            raise ViewError(f"frequencies of bode are positive numbers in rad/s, got {frequencies!r:.60}.")
        return w
    sizes = np.abs(lin.eigenvalues)
    rates = sizes[sizes > _STILL * max(float(lin.rate), sizes.max(initial=0.0))]
    if not len(rates):
        raise ViewError("bode: no eigenvalue says which frequencies matter; give frequencies= in rad/s.")
    lowest, highest = np.log10(rates.min()) - _AROUND, np.log10(rates.max()) + _AROUND
    return np.logspace(lowest, highest, _COUNT)
