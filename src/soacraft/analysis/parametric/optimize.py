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
_EPS = float(np.finfo(float).eps)
_WIDEST = 0.1  # the widest step of differences, in free numbers, which are parameters over their sizes


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
    """Reason for the end of the search, in words."""
    evaluations: int
    """Number of evaluations of the objective."""
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
        columns = zip(self.names, self.values, strict=True)
        rows = [(name, f"{x:.6g}", "at its bound" if name in self.at_bounds else "") for name, x in columns]
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
    number of it. It is a local search: the result depends on the start.

    Trials are physical: masses stay positive, armature not negative, and of `moment` or `inertia`, which are given
    whole, the pseudo-inertia stays positive definite. The model itself is not changed, unless `apply=True`.

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
    chosen = read_parameters("optimize", graph, parameters)
    for name, option in (("objective", objective), ("gradient", gradient)):
        if not callable(option) and not (name == "gradient" and option is None):
            raise StateError(f"{name} of optimize is a function of the model, got {option!r:.60}.")
    other, copied = copy_of(graph, chosen)
    charts = charts_of(graph, chosen)
    low, high = bounds_of(graph, chosen, bounds)
    search = _Search(other, copied, charts, objective, gradient)
    result, message, good = search.run(low, high, _count(evaluations))
    values = search.values(result)
    size = sizes_of(graph, chosen)
    held = tuple(
        x.name for x, y, a, b, s in zip(chosen, values, low, high, size, strict=True) if min(y - a, b - y) <= 1e-9 * s
    )
    best = Optimum(
        tuple(x.name for x in chosen), values, search.ask(result), search.first, good, message, search.asked,
        "by differences" if gradient is None else "given", held,
    )  # fmt: skip
    if apply:
        if not good:
            raise ConvergenceError(
                f"optimize of {graph.name!r} has not converged, so its values were not applied: {message} "
                "Take more evaluations, other bounds, or another start."
            )
        write("optimize", chosen, values)
    return best


def _count(evaluations: Any) -> int:
    if isinstance(evaluations, bool) or not isinstance(evaluations, int) or evaluations < 1:
        raise StateError(f"evaluations of optimize must be a whole number of at least 1, got {evaluations!r:.60}.")
    return evaluations


# -- the search -------------------------------------------------------------------------------------------------------


class _Search:
    """The objective as a function of free numbers, in units of its size at the start."""

    def __init__(self, model: Multibody, parameters: Found, charts: list[Chart], objective: Any, gradient: Any) -> None:
        self.model, self.found, self.charts = model, parameters, charts
        self._objective, self._gradient = objective, gradient
        self.asked = 0
        self.start = np.concatenate([chart.start for chart in charts])
        self.first = self.ask(self.start)

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
        """Derivatives of the criterion along the free numbers, as the last axis."""
        values = self._set(z)
        shape = (*np.shape(self.first), len(self.found))
        slopes = finite(self._gradient(self.model), shape, f"gradient of optimize at {self._text(values)}", StateError)
        blocks = [slopes[..., chart.where] @ chart.values(z[chart.where])[1] for chart in self.charts]
        return np.concatenate(blocks, axis=-1)

    def _set(self, z: Array) -> Array:
        values = self.values(z)
        write("optimize", self.found, values)
        return values

    def _text(self, values: Array) -> str:
        return ", ".join(f"{x.name} = {y:g}" for x, y in zip(self.found, values, strict=True))

    def run(self, low: Array, high: Array, most: int) -> tuple[Array, str, bool]:
        """Search: the smallest point, what ended the search, and True if it converged."""
        ends = self._free(low), self._free(high)
        if self._gradient is not None:
            self._check(*ends)
        return self._least_squares(*ends, most) if np.ndim(self.first) else self._least(*ends, most)

    def _least(self, low: Array, high: Array, most: int) -> tuple[Array, str, bool]:
        """The least value of a number, by L-BFGS-B.

        The search sees (f - f_start) / s, with s the change of f per unit of a free number: neither a constant part nor
        the unit of f says when it has converged. A constant part costs digits: of f only eps |f| is resolved, so with
        r = eps |f| / s differences have the step r^(1/3), whose slopes err by r^(2/3), and ends are not sharper.
        """
        # scipy.optimize takes long to load
        from scipy.optimize import minimize

        first, size = self.first, self._change_per_unit(low, high)
        if size == 0.0:
            why = (
                f"no parameter changes the objective, {first:g}, in the digits that it has. Subtract a constant part "
                "that is large, or take parameters that it depends on."
            )
            return self.start, why, False
        resolved = _EPS * max(abs(first) / size, 1.0)
        step = min(resolved ** (1 / 3), _WIDEST)
        slope: Any = lambda z: self._differences(z, step, low, high) / size  # noqa: E731
        if self._gradient is not None:
            slope = lambda z: self.slope(z) / size  # noqa: E731
        asks = 1 if self._gradient is not None else 1 + 2 * len(self.start)
        m: Any = minimize(  # type: ignore[call-overload]
            lambda z: (self.ask(z) - first) / size, self.start, jac=slope, method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": max(1e-15, resolved), "gtol": max(1e-9, resolved ** (2 / 3)),
                     "maxfun": max(1, most // asks), "maxiter": most},
        )  # fmt: skip
        return np.asarray(m.x), f"{m.message}", bool(m.success)

    def _change_per_unit(self, low: Array, high: Array) -> float:
        """The largest change of a number per unit of a free number at the start, by first and second differences whose
        step grows until they show; 0 where none does."""
        size, step = 0.0, _EPS ** (1 / 3)
        while step <= _WIDEST:
            for unit in np.eye(len(self.start))[high - low > 2 * step]:
                z = np.clip(self.start, low + step * unit, high - step * unit)
                less, here, more = (float(self.ask(z + k * step * unit)) for k in (-1, 0, 1))
                least = 1e3 * _EPS * max(abs(less), abs(here), abs(more))  # a change that rounding does not make
                for change, per in ((more - less, 2 * step), (more - 2 * here + less, step**2)):
                    size = max(size, abs(change) / per) if abs(change) > least else size
            if size > 0.0:
                return size
            step *= 10
        return 0.0

    def _differences(self, z: Array, step: float, low: Array, high: Array) -> Array:
        """Derivatives along free numbers by three points, of second order; within the bounds."""
        columns = []
        for i, unit in enumerate(np.eye(len(z))):
            h = min(step, (high[i] - low[i]) / 2)
            if z[i] - h >= low[i] and z[i] + h <= high[i]:
                columns.append((np.asarray(self.ask(z + h * unit)) - np.asarray(self.ask(z - h * unit))) / (2 * h))
                continue
            h = h if z[i] - h < low[i] else -h
            one, two = np.asarray(self.ask(z + h * unit)), np.asarray(self.ask(z + 2 * h * unit))
            columns.append((4 * one - two - 3 * np.asarray(self.ask(z))) / (2 * h))
        return np.stack(columns, axis=-1)

    def _least_squares(self, low: Array, high: Array, most: int) -> tuple[Array, str, bool]:
        """The least sum of squares: by scipy's trust region, which judges by the sum, then by Gauss-Newton, which
        judges by its changes. Rows that stand still hide them from the first one."""
        # scipy.optimize takes long to load
        from scipy.optimize import least_squares

        size = float(np.max(np.abs(self.first), initial=0.0)) or 1.0
        jacobian: Any = "3-point" if self._gradient is None else lambda z: self.slope(z) / size
        residual: Any = lambda z: self.ask(z) / size  # noqa: E731
        r = least_squares(
            residual, np.clip(self.start, low, high), jac=jacobian, bounds=(low, high), xtol=1e-14,
            ftol=1e-14, gtol=1e-14, max_nfev=most,
        )  # fmt: skip
        if r.status <= 0:
            return np.asarray(r.x), f"{r.message}", False
        z, message = self._gauss_newton(np.asarray(r.x), low, high, most)
        return z, message or f"{r.message}", not message

    def _gauss_newton(self, z: Array, low: Array, high: Array, most: int) -> tuple[Array, str]:
        """Place where steps of Gauss and Newton, halved where they overshoot, lower the sum no more, and why
        they ended before that, if so. The change of the sum is that of its rows, (r' - r).(r' + r): a row that
        does not change adds nothing to it, however large.
        """
        r = self.ask(z)
        while True:
            J = self.slope(z) if self._gradient is not None else self._differences(z, _EPS ** (1 / 3), low, high)
            p = _step(J, r, low - z, high - z)
            foreseen, lost = float(p @ J.T @ (2 * r + J @ p)), 1.0
            # what rounding leaves of a change, and a step that is nothing to parameters of size 1
            if foreseen >= 0.0 or -foreseen <= 1e3 * _EPS * float(np.abs(r * (J @ p)).sum()):
                return z, ""
            if np.abs(p).max(initial=0.0) <= 1e-10:
                return z, ""
            while lost > 0.0:
                if self.asked >= most:
                    return z, "the objective was asked as often as allowed before the sum of squares was least."
                after = np.clip(z + p, low, high)
                new = self.ask(after)
                lost = float((new - r) @ (new + r))
                p = p / 2
                if np.abs(p).max(initial=0.0) <= 1e-10:
                    return z, ""
            z, r = after, new

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
        slope = self.slope(self.start) @ way
        rounding = 1e3 * _EPS / step * float(np.max(np.abs(self.first)))  # of differences
        if np.max(np.abs(slope - differences)) > _AGREE * np.max(np.abs(differences)) + rounding:
            raise StateError(
                "gradient of optimize is not that of the objective: along one direction at the start it gives "
                f"{number_text(np.asarray(slope))}, differences give {number_text(np.asarray(differences))}. It is to "
                "be along the parameters in the order they are given, as the last axis."
            )


def _step(J: Array, r: Array, low: Array, high: Array) -> Array:
    """The step within bounds with the least |r + J p|; columns of J of any size count alike."""
    # scipy.optimize takes long to load
    from scipy.optimize import lsq_linear

    size = np.linalg.norm(J, axis=0)
    size[size == 0.0] = 1.0
    ends = np.minimum(low * size, 0.0), np.maximum(high * size, 0.0)
    free = ends[1] > ends[0]
    y = np.zeros(len(size))
    if free.any():
        y[free] = lsq_linear((J / size)[:, free], -r, (ends[0][free], ends[1][free]), method="bvls").x
    return np.asarray(y / size)
