"""`check_hinge`: whether the methods of a hinge agree with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from soacraft import markup
from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.cards import card
from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.base import (
    H_T_of,
    Hinge,
    bias_of,
    dbias_of,
    dH_of,
    difference_of,
    integrate_of,
    normalize_of,
    over_batch,
    pose_of,
    qdot_of,
)
from soacraft.model.hinges.results import checked_array
from soacraft.spatial import Array, Pose, se3_log
from soacraft.spatial.differences import STENCIL

_STEP = 1e-3
_SAMPLES = 4


class HingeCheck(NamedTuple):
    """One line of a report: what was compared, the largest error, what is allowed, whether that is met."""

    name: str
    error: float
    tolerance: float
    ok: bool
    hint: str


class HingeReport:
    """Report of `check_hinge`: a list of checks; `ok`, and true, if all passed. Prints as a table.

    >>> from soacraft.model.hinges import Weld
    >>> print(str(check_hinge(Weld())).splitlines()[0])
    Weld(): nq = 0, nv = 0; all checks passed
    """

    def __init__(self, hinge: Hinge, checks: list[HingeCheck]) -> None:
        self.hinge, self.checks = hinge, tuple(checks)

    @property
    def ok(self) -> bool:
        """True if every check passed."""
        return all(check.ok for check in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    @property
    def failures(self) -> tuple[HingeCheck, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if not check.ok)

    def __iter__(self) -> Iterator[HingeCheck]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def summary(self) -> str:
        """The hinge and how many checks failed, in one line."""
        found = "all checks passed" if self.ok else f"{len(self.failures)} of {len(self)} checks failed"
        return f"{self.hinge!r}: nq = {self.hinge.nq}, nv = {self.hinge.nv}; {found}"

    def _repr_html_(self) -> str:
        rows = [
            ("ok" if ok else "FAIL", name, f"{error:.1e}", f"{tolerance:.0e}", "" if ok else hint)
            for name, error, tolerance, ok, hint in self.checks
        ]
        head = ["", "check", "error", "allowed", "hint"]
        return card(self.summary(), markup.table(head, rows))

    def __repr__(self) -> str:
        lines = [self.summary()]
        for name, error, tolerance, ok, hint in self.checks:
            lines.append(f"  {'ok  ' if ok else 'FAIL'}  {name:<36} {error:8.1e}  (allowed {tolerance:.0e})")
            if not ok:
                lines.append(f"        {hint}")
        return "\n".join(lines)


def check_hinge(hinge: Hinge, seed: Seed = 0) -> HingeReport:
    """Compare the methods of a hinge with each other by differences, at random and neutral coordinates.

    A method that returns the wrong type or shape is a `ModelError` that names it; methods that disagree are
    lines of the report. Cost: some hundred calls of each method.

    >>> from soacraft.model.hinges import Pin
    >>> report = check_hinge(Pin((0, 0, 1)))
    >>> report.ok
    True
    """
    _check_sizes(hinge)
    rng = read_seed(seed, "the seed of check_hinge")
    neutral = checked_array(hinge, "neutral", hinge.neutral(), ())
    integrate_of(hinge, neutral, np.zeros(hinge.nv))         # `random` may use it: refuse it by its own name
    checked_array(hinge, "random", hinge.random(np.random.default_rng(seed)), ())
    sizes = Sizes(hinge, neutral)
    drawn = [checked_array(hinge, "random", hinge.random_of(rng, sizes.length), ()) for _ in range(_SAMPLES)]
    checks = [_neutral(hinge, neutral, sizes)] if hinge.neutral_is_identity else []
    checks += [_normalized(hinge, [neutral, *drawn], sizes), _rank(hinge, drawn, sizes)]
    errors: dict[str, list[float]] = {}
    for q in [*drawn, neutral]:
        v = rng.uniform(-1.0, 1.0, hinge.nv) * sizes.v
        for name, error in _at(hinge, q, v, sizes):
            errors.setdefault(name, []).append(error)
    checks += [_line(name, max(found)) for name, found in errors.items()]
    checks.append(_round_trip(hinge, drawn, rng, sizes) if hinge.holonomic else _refuses_difference(hinge, drawn))
    if hinge.batched:
        checks.append(_batch(hinge, drawn, rng, sizes))
    return HingeReport(hinge, checks)


class Sizes:
    """Units that numbers of a hinge are compared in: for lengths the largest travel per radian of its dofs, or a metre
    where there is none; for angles a radian.
    """

    def __init__(self, hinge: Hinge, neutral: Array) -> None:
        H = H_T_of(hinge, neutral)
        turn, travel = np.linalg.norm(H[:3], axis=0), np.linalg.norm(H[3:], axis=0)
        self.length = float(np.max(travel[turn > 0.0] / turn[turn > 0.0], initial=0.0)) or 1.0
        self.twist = np.repeat([1.0, self.length], 3)
        self.v, self.q = (np.where(np.array(list(word), dtype="<U1") == "m", self.length, 1.0)
                          for word in (hinge.dof_units, hinge.coordinate_units))
        columns = self.v / self.twist[:, None]
        self.plain = {"H_T": columns, "dH": self.v[:, None, None] * columns, "bias": 1.0 / self.twist, "dbias": columns,
                      "qdot": 1.0 / self.q, "integrate": 1.0 / self.q, "difference": 1.0 / self.v}
        """Factors that make the result of a method free of units."""

    def pose_gap(self, a: Pose, b: Pose) -> float:
        return max(_gap(a.rotation, b.rotation), _gap(a.translation / self.length, b.translation / self.length))


_LINES = {                                                  # name: (allowed error, what to look for)
    "pose is a rigid motion": (1e-9, "pose(q).rotation is not orthonormal"),
    "neutral pose is the identity": (1e-12, "correct pose or neutral, or set neutral_is_identity to False"),
    "normalize keeps valid coordinates": (1e-12, "normalize(q) changes what neutral() and random() return"),
    "H_T has independent columns": (1e-8, "H_T(q) is singular everywhere: a motion is counted twice"),
    "pose rate / H_T": (1e-8, "pose(q) does not move as H_T(q) v along integrate(q, v t): look for a sign, "
                              "inboard instead of outboard axes, linear before angular, quaternion order"),
    "qdot / integrate": (1e-8, "qdot(q, v) is not the rate of integrate(q, v t) at t = 0"),
    "integrate over no motion": (1e-12, "integrate(q, 0) must have the pose of q"),
    "dH / differences of H_T": (1e-7, "dH(q)[j] is not the derivative of H_T along integrate(q, t e_j)"),
    "bias / differences of H_T v": (1e-7, "bias(q, v) is not d/dt H_T(integrate(q, v t)) v"),
    "dbias in q / differences of bias": (1e-6, "dbias(q, v)[0] does not fit bias along integrate"),
    "dbias in v / differences of bias": (1e-7, "dbias(q, v)[1] is not the derivative of bias in v"),
    "integrate / difference": (1e-9, "difference(q0, q1) is not the inverse of integrate(q0, dv)"),
    "difference refuses": (0.0, "holonomic is False, so difference must raise StateError with the reason"),
    "batch / one at a time": (1e-12, "batched is True, but a batch gives other numbers than single calls"),
}


def _line(name: str, error: float) -> HingeCheck:
    tolerance, hint = _LINES[name]
    return HingeCheck(name, error, tolerance, bool(error <= tolerance), hint)


def _check_sizes(hinge: Hinge) -> None:
    if not isinstance(hinge, Hinge):
        raise ModelError(f"check_hinge needs a Hinge, got {hinge!r}"
                         + ("; make an instance of the class first" if isinstance(hinge, type) else ""))
    for name, most in (("nq", 64), ("nv", 6)):
        whole_number(getattr(hinge, name, None), f"{type(hinge).__name__}.{name}", 0, most)


# -- the checks; each gives a line --------------------------------------------------------------------------


def _at(hinge: Hinge, q: Array, v: Array, sizes: Sizes) -> Iterator[tuple[str, float]]:
    """The checks at one configuration, as (name, error)."""
    pose, H, dH, plain = pose_of(hinge, q), H_T_of(hinge, q), dH_of(hinge, q), sizes.plain
    yield "pose is a rigid motion", _gap(pose.rotation.T @ pose.rotation, np.eye(3))
    directions = np.diag(sizes.v)

    def moved(direction: Array) -> Callable[[float], Array]:
        return lambda t: integrate_of(hinge, q, t * direction)

    def twist(x: Array) -> Array:
        relative = pose.inv @ pose_of(hinge, x)
        return se3_log(relative.rotation, relative.translation)

    def along(f: Callable[[Array], Array], direction: Array) -> Array:
        path = moved(direction)
        return _rate(lambda t: f(path(t)))

    still = pose_of(hinge, integrate_of(hinge, q, np.zeros(hinge.nv)))
    yield "integrate over no motion", sizes.pose_gap(still, pose)
    rates = [along(twist, e) for e in directions]
    yield "pose rate / H_T", _gap(_columns(rates) / sizes.twist[:, None], H * plain["H_T"])
    yield "qdot / integrate", _gap(_rate(moved(v)) * plain["qdot"], qdot_of(hinge, q, v) * plain["qdot"])
    slopes = [along(lambda x: H_T_of(hinge, x) * plain["H_T"], e) for e in directions]
    gaps = (_gap(a, b) for a, b in zip(slopes, dH * plain["dH"], strict=True))
    yield "dH / differences of H_T", max(gaps, default=0.0)
    bias = along(lambda x: H_T_of(hinge, x) @ v, v)
    yield "bias / differences of H_T v", _gap(bias * plain["bias"], bias_of(hinge, q, v) * plain["bias"])
    in_q, in_v = dbias_of(hinge, q, v)
    numeric = [along(lambda x: bias_of(hinge, x, v), e) for e in directions]
    yield "dbias in q / differences of bias", _gap(_columns(numeric) / sizes.twist[:, None], in_q * plain["dbias"])
    numeric = [_rate(lambda t, e=e: bias_of(hinge, q, v + t * e)) for e in directions]  # type: ignore[misc]
    yield "dbias in v / differences of bias", _gap(_columns(numeric) / sizes.twist[:, None], in_v * plain["dbias"])


def _neutral(hinge: Hinge, neutral: Array, sizes: Sizes) -> HingeCheck:
    pose = pose_of(hinge, neutral)
    return _line("neutral pose is the identity", sizes.pose_gap(pose, Pose()))


def _normalized(hinge: Hinge, samples: list[Array], sizes: Sizes) -> HingeCheck:
    gaps = (_gap(normalize_of(hinge, q) / sizes.q, q / sizes.q) for q in samples)
    return _line("normalize keeps valid coordinates", max(gaps))


def _rank(hinge: Hinge, samples: list[Array], sizes: Sizes) -> HingeCheck:
    """A singular configuration is allowed, a singular hinge is not: the best of the samples counts."""
    worst = 0.0
    if hinge.nv:
        maps = [H_T_of(hinge, q) * sizes.plain["H_T"] for q in samples]
        values = [np.linalg.svd(H, compute_uv=False) for H in maps]
        worst = 0.0 if any(s[-1] > _LINES["H_T has independent columns"][0] * s[0] for s in values) else 1.0
    return _line("H_T has independent columns", worst)


def _round_trip(hinge: Hinge, samples: list[Array], rng: np.random.Generator, sizes: Sizes) -> HingeCheck:
    worst = 0.0
    for q0, q1 in zip(samples, samples[1:] + samples[:1], strict=True):
        dv = rng.uniform(-0.5, 0.5, hinge.nv) * sizes.v
        there = difference_of(hinge, q0, integrate_of(hinge, q0, dv))
        arrived = integrate_of(hinge, q0, difference_of(hinge, q0, q1))
        gap = sizes.pose_gap(pose_of(hinge, arrived), pose_of(hinge, q1))
        worst = max(worst, _gap(there / sizes.v, dv / sizes.v), gap)
    return _line("integrate / difference", worst)


def _refuses_difference(hinge: Hinge, samples: list[Array]) -> HingeCheck:
    try:
        hinge.difference(samples[0], samples[1])
    except StateError:
        return _line("difference refuses", 0.0)
    return _line("difference refuses", 1.0)


def _batch(hinge: Hinge, samples: list[Array], rng: np.random.Generator, sizes: Sizes) -> HingeCheck:
    """The batch (2, 1, 2) of samples, and an empty one, against single calls."""
    Q = np.array(samples).reshape(2, 1, 2, hinge.nq)
    V = rng.uniform(-1.0, 1.0, (2, 1, 2, hinge.nv)) * sizes.v
    worst = sizes.pose_gap(pose_of(hinge, Q), over_batch(hinge, "pose", Q))
    calls: list[tuple[str, Callable[..., Any], tuple[Array, ...]]] = [
        ("H_T", H_T_of, (Q,)), ("dH", dH_of, (Q,)), ("bias", bias_of, (Q, V)), ("dbias", dbias_of, (Q, V)),
        ("qdot", qdot_of, (Q, V)), ("integrate", integrate_of, (Q, V))]
    if hinge.holonomic:
        calls.append(("difference", difference_of, (Q, Q[::-1])))
    for method, call, arguments in calls:
        together, single = np.asarray(call(hinge, *arguments)), np.asarray(over_batch(hinge, method, *arguments))
        worst = max(worst, _gap(together * sizes.plain[method], single * sizes.plain[method]))
        call(hinge, *(a[:0] for a in arguments))
    return _line("batch / one at a time", worst)


# -- numbers ------------------------------------------------------------------------------------------------


def _rate(path: Callable[[float], Array]) -> Array:
    """The derivative of path(t) at t = 0, central differences of order six."""
    total: Any = 0.0
    for k, weight in STENCIL:
        total = total + weight * (path(k * _STEP) - path(-k * _STEP))
    return np.asarray(total / _STEP)


def _columns(vectors: list[Array]) -> Array:
    return np.stack(vectors, axis=-1) if vectors else np.zeros((6, 0))


def _gap(a: Array, b: Array) -> float:
    """The largest difference, relative to the largest entry of b where that exceeds 1."""
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    return float(np.abs(a - b).max(initial=0.0)) / scale
