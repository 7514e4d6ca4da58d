"""The best values of parameters: a search with scipy over numbers without units, in which every trial is physical."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.analysis.parametric.charts import Chart, bounds_of, charts_of
from soacraft.analysis.parametric.derivatives import copy_of, sizes_of
from soacraft.analysis.parametric.vocabulary import Found, read_parameters, write
from soacraft.cards import card, facts, part
from soacraft.dynamics.arguments import read_graph
from soacraft.errors import ConvergenceError, SoacraftError, StateError
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite, number_text

_AGREE = 1e-4  # how well a given gradient must agree with differences


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best values that were found."""

    names: tuple[str, ...]
    values: Array
    """The values of the parameters."""
    objective: Any
    """The objective there, a number or a vector."""
    start: Any
    """The objective at the values of the model."""
    converged: bool
    message: str
    """What ended the search, in words."""
    evaluations: int
    """How often the objective was asked."""
    gradient: str
    """"given" or "by differences"."""
    at_bounds: tuple[str, ...]
    """The parameters that a bound holds."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={x:.6g}" for name, x in zip(self.names, self.values, strict=True))
        end = "converged" if self.converged else "not converged"
        held = f", at bounds: {', '.join(self.at_bounds)}" if self.at_bounds else ""
        return f"Optimum: {shown}; {end} after {self.evaluations} evaluations, gradient {self.gradient}{held}"

    def _repr_html_(self) -> str:
        told = zip(self.names, self.values, strict=True)
        rows = [(name, f"{x:.6g}", "at its bound" if name in self.at_bounds else "") for name, x in told]
        search = [
            ("objective", f"{np.linalg.norm(self.objective):.6g}, before {np.linalg.norm(self.start):.6g}"),
            ("evaluations", self.evaluations), ("gradient", self.gradient), ("ended by", self.message),
        ]  # fmt: skip
        head = f"Optimum: {'converged' if self.converged else 'not converged'}"
        table = markup.table(["parameter", "value", ""], rows, more="names and values have all")
        return card(head, part("parameters", lambda: table, True), part("search", lambda: facts(search)))


def optimize(
    mb: Multibody,
    parameters: Any,
    objective: Callable[[Any], Any],
    bounds: Mapping[str, tuple[Any, Any]] | None = None,
    *,
    gradient: Callable[[Any], Any] | None = None,
    apply: bool = False,
    evaluations: int = 2000,
) -> Optimum:
    """The values of parameters that make an objective smallest, near those of the model. O(evaluations objective).

    `objective(model)` is given a copy of the model with trial values. If it answers with a number, that is made small
    (L-BFGS-B); if with a vector, the sum of its squares is (a trust region with its Jacobian, quick and exact near the
    optimum). `gradient(model)` gives its derivatives along the parameters, the last axis, as `parameter_derivatives`
    does; without it they are differences of three points. `bounds` are `{name: (low, high)}`, for a parameter or one
    number of it. It is a local search: what it finds depends on where the model starts.

    Trials are physical: masses stay positive, armature not negative, and of `moment` or `inertia`, which are given
    whole, the pseudo-inertia stays positive definite. The model itself is left as it is, unless `apply=True`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import optimize
    >>> mb = sc.load("pendulum")                          # bob of 1 kg, 1 m below the pin
    >>> arm = mb.add_body("counterweight", "bob", sc.Weld(), sc.Inertia.point(1.0, at=(0, 0, 0.2)))
    >>> best = optimize(mb, "counterweight.mass", lambda m: sc.dynamics.gravity_force(m, [np.pi / 2]))
    >>> round(float(best.values[0]), 9), best.converged   # m 0.2 = 1
    (5.0, True)
    """
    graph = read_graph("optimize", mb)
    found = read_parameters("optimize", graph, parameters)
    for name, given in (("objective", objective), ("gradient", gradient)):
        if not callable(given) and not (name == "gradient" and given is None):
            raise StateError(f"{name} of optimize is a function of the model, got {given!r:.60}.")
    other, copied = copy_of(graph, found)
    charts = charts_of(graph, found)
    low, high = bounds_of(graph, found, bounds)
    search = _Search(other, copied, charts, objective, gradient)
    result, message, good = search.run(low, high, _count(evaluations))
    values = search.values(result)
    size = sizes_of(graph, found)
    held = tuple(
        x.name for x, y, a, b, s in zip(found, values, low, high, size, strict=True) if min(y - a, b - y) <= 1e-9 * s
    )
    best = Optimum(
        tuple(x.name for x in found), values, search.ask(result), search.first, good, message, search.asked,
        "by differences" if gradient is None else "given", held,
    )  # fmt: skip
    if apply:
        if not good:
            raise ConvergenceError(
                f"optimize of {graph.name!r} has not converged, so its values were not applied: {message} "
                "Take more evaluations, other bounds, or another start."
            )
        write("optimize", found, values)
    return best


def _count(evaluations: Any) -> int:
    if isinstance(evaluations, bool) or not isinstance(evaluations, int) or evaluations < 1:
        raise StateError(f"evaluations of optimize must be a whole number of at least 1, got {evaluations!r:.60}.")
    return evaluations


# -- the search -------------------------------------------------------------------------------------------------------


class _Search:
    """The objective as a function of free numbers, in units of its size at the start."""

    def __init__(self, model: Multibody, found: Found, charts: list[Chart], objective: Any, gradient: Any) -> None:
        self.model, self.found, self.charts = model, found, charts
        self._objective, self._gradient = objective, gradient
        self.asked = 0
        self.start = np.concatenate([chart.start for chart in charts])
        self.first = self.ask(self.start)
        self.size = float(np.max(np.abs(self.first), initial=0.0)) or 1.0

    def values(self, z: Array) -> Array:
        return np.concatenate([chart.values(z[chart.where])[0] for chart in self.charts])

    def ask(self, z: Array) -> Any:
        """The objective: a number, or a vector."""
        self.asked += 1
        values = self._set(z)
        try:
            answer = self._objective(self.model)
        except SoacraftError as error:
            raise type(error)(f"optimize: the objective at {self._text(values)}: {error}") from error
        y = np.asarray(answer, dtype=np.float64) if np.ndim(answer) <= 1 else np.zeros((0, 0))
        if y.ndim > 1 or y.size == 0 or not np.isfinite(y).all():
            raise StateError(
                f"optimize: the objective at {self._text(values)} must be a finite number or a vector of them, got "
                f"{answer!r:.60}."
            )
        return float(y) if y.ndim == 0 else y

    def slope(self, z: Array) -> Array:
        """Its derivatives along the free numbers, as the last axis."""
        values = self._set(z)
        shape = (*np.shape(self.first), len(self.found))
        given = finite(self._gradient(self.model), shape, f"gradient of optimize at {self._text(values)}", StateError)
        blocks = [given[..., chart.where] @ chart.values(z[chart.where])[1] for chart in self.charts]
        return np.concatenate(blocks, axis=-1)

    def _set(self, z: Array) -> Array:
        values = self.values(z)
        write("optimize", self.found, values)
        return values

    def _text(self, values: Array) -> str:
        return ", ".join(f"{x.name} = {y:g}" for x, y in zip(self.found, values, strict=True))

    def run(self, low: Array, high: Array, most: int) -> tuple[Array, str, bool]:
        """Where it is smallest, what ended the search, and whether it converged."""
        from scipy.optimize import least_squares, minimize

        ends = self._free(low), self._free(high)
        if self._gradient is not None:
            self._check(*ends)
        size = self.size
        if np.ndim(self.first):
            jacobian: Any = "3-point" if self._gradient is None else lambda z: self.slope(z) / size
            residual: Any = lambda z: self.ask(z) / size  # noqa: E731
            r = least_squares(
                residual, np.clip(self.start, *ends), jac=jacobian, bounds=ends, xtol=1e-14,
                ftol=1e-14, gtol=1e-14, max_nfev=most,
            )  # fmt: skip
            return np.asarray(r.x), f"{r.message}", bool(r.status > 0)
        slope: Any = "3-point" if self._gradient is None else lambda z: self.slope(z) / size
        m: Any = minimize(  # type: ignore[call-overload]
            lambda z: self.ask(z) / size, self.start, jac=slope, method="L-BFGS-B",
            bounds=list(zip(*ends, strict=True)),
            options={"ftol": 1e-15, "gtol": 1e-9, "maxfun": most, "maxiter": most},
        )  # fmt: skip
        return np.asarray(m.x), f"{m.message}", bool(m.success)

    def _free(self, x: Array) -> Array:
        """Bounds of parameters as bounds of free numbers; charts of several have none."""
        z = x.copy()
        for chart in self.charts:
            if chart.where.stop - chart.where.start == 1:
                z[chart.where] = x[chart.where] / chart.values(np.ones(1))[0]
        return z

    def _check(self, low: Array, high: Array) -> None:
        """Raise `StateError` where the given gradient is not that of the objective, along one direction."""
        step = 1e-4
        inside = (self.start - 2 * step >= low) & (self.start + 2 * step <= high)
        way = np.where(inside, np.cos(np.arange(len(self.start))), 0.0)
        differences = sum(
            w * (np.asarray(self.ask(self.start + k * step * way)) - np.asarray(self.ask(self.start - k * step * way)))
            for k, w in ((1, 8 / 12), (2, -1 / 12))
        ) / step  # fmt: skip
        given = self.slope(self.start) @ way
        gap, whole = np.max(np.abs(given - differences)), np.max(np.abs(differences)) + 1e-6 * self.size
        if gap > _AGREE * whole:
            raise StateError(
                "gradient of optimize is not that of the objective: along one direction at the start it gives "
                f"{number_text(np.asarray(given))}, differences give {number_text(np.asarray(differences))}. It is to "
                "be along the parameters in the order they are given, as the last axis."
            )


