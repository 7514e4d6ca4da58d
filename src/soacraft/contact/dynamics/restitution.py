"""Laws of restitution, and the order of impacts that happen at one instant.

    "newton"    u_n+ >= -e u_n- of what approaches, with one impulse. With friction it can gain energy (EQUATIONS 4.6).
    "energy"    Newton's, with every e of the impact made smaller by one factor where it would gain: e = 0 never does,
                since then p u+ <= 0; likewise where no impulses have that e, as of a leg that jams: friction lets it
                leave at no speed. The default.
    "poisson"   two impulses: a first one that ends the approach (e = 0), then one of at least e times its normal part,
                and friction of at most mu times that; more where contacts would approach again
                (Glocker and Pfeiffer 1995). It too can gain energy.

Impacts of one instant: "simultaneous" is one problem of all contacts; three equal balls in a row, the first moving,
e = 1, leave with (-1/3, 2/3, 2/3). "sequential" takes one contact after the other, the one with the most energy of
approach first, as if its neighbours were a little apart, until nothing approaches: (0, 0, 1). Then all contacts
together, with e = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from soacraft.contact.dynamics.impulses import Further, ImpulseProblem, Resolved, SolveMass
from soacraft.contact.dynamics.rows import ContactRows, some_points
from soacraft.contact.solvers.blocks import Bilateral, Cone, Law
from soacraft.contact.solvers.problem import Accept, Impulses, Problem
from soacraft.errors import ConvergenceError
from soacraft.spatial.checks import Array

Restitution = Literal["energy", "newton", "poisson"]
Order = Literal["simultaneous", "sequential"]
RESTITUTION: tuple[str, ...] = get_args(Restitution)
ORDER: tuple[str, ...] = get_args(Order)
#: A gain of energy below this part of the energy that is exchanged is rounding.
ROUNDING = 1e-9
_HALVINGS = 30
_TRIES = 7
_EXPANSIONS = 100
#: An approach this part of the fastest, in units of energy, is over.
_OVER = 1e-9
_IMPACTS = 1000


@dataclass(frozen=True)
class ImpactLaw:
    """The law of restitution, the order of impacts of one instant, and how well they are solved, with what is done
    otherwise (see `Problem.solve`)."""

    restitution: Restitution = "energy"
    order: Order = "simultaneous"
    tolerance: float = 1e-10
    otherwise: Accept = "raise"


_DEFAULT = ImpactLaw()


def resolve(
    rows: ContactRows, solve_mass: SolveMass, v: Array, approach: Array, allowed: Array, more: Further | None = None,
    law: ImpactLaw = _DEFAULT, bounces: Array | None = None,
) -> Resolved:  # fmt: skip
    """Velocities after the impulses that v calls for, all contacts at once. `solve_mass` maps columns X to Mcal^-1 X;
    `approach` is u_n- of each point, for restitution; `allowed` the speed at which it may still approach; `more` are
    further rows with their laws and the velocities asked of them, `bounces` the u- of those that strike times their
    restitution (Newton's law and that of energy). O(rows^3)."""
    problem = ImpulseProblem(rows, solve_mass, v, more, law.tolerance, law.otherwise, bounces)
    if not len(problem.N):
        return Resolved(v, np.zeros(len(v)), np.zeros(len(v)), None, 0.0)
    bounce = rows.restitution * np.minimum(approach, 0.0)
    strikes = bounce < 0.0
    if law.restitution == "poisson" and strikes.any():
        return problem.resolved(_poisson(problem, np.where(strikes, 0.0, allowed), strikes))

    def newton(factor: float, guess: Array | None) -> Impulses:
        return problem.solve(np.where(strikes, factor * bounce, allowed), guess, factor)

    some = bool(strikes.any() or problem.bounces.any())
    try:
        impulses, factor = newton(1.0, None), 1.0
    except ConvergenceError as wrong:
        if not some:
            raise
        if law.restitution != "energy":
            raise ConvergenceError(
                f"{wrong}; perhaps no impulses give every contact its restitution by law='newton', as of a leg that "
                "jams: take law='energy'"
            ) from None
        impulses, factor = _largest_solved(newton)
    if (
        law.restitution == "energy"
        and some
        and problem.gain(impulses.p) > ROUNDING * problem.scale(impulses.p)
    ):
        low, high = 0.0, factor
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            impulses = newton(middle, impulses.p)
            low, high = (middle, high) if problem.gain(impulses.p) <= 0 else (low, middle)
        factor = low
        impulses = newton(factor, impulses.p)
    return problem.resolved(impulses, factor)


def _largest_solved(newton: Callable[[float, Array | None], Impulses]) -> tuple[Impulses, float]:
    """Impulses of the largest factor of restitution that any impulses have, to 2^-_TRIES, and the factor."""
    factor, solved, step = 0.0, newton(0.0, None), 1.0
    for _ in range(_TRIES):
        step *= 0.5
        try:
            solved, factor = newton(factor + step, None), factor + step
        except ConvergenceError:
            continue
    return solved, factor


def _poisson(problem: ImpulseProblem, shift: Array, strikes: npt.NDArray[np.bool_]) -> Impulses:
    """Compression, then expansion: p_n >= e p_c, complementary to u_n >= 0, |p_t| <= mu p_n.

    The bound of friction there is not the cone of what complements u_n. So each point that strikes is two blocks: its
    normal row, and rows of friction under a row of their own whose impulse comes out as the bound, which is set to the
    normal impulse until the two agree.
    """
    first = problem.solve(shift)
    rows, S = problem.rows, problem.S
    start = problem.speeds(problem.v) + S @ first.p
    start[rows.normals] += shift
    returned = np.zeros(len(start))  # e p_c along the normals
    returned[rows.normals] = np.where(strikes, rows.restitution * first.p[rows.normals], 0.0)
    b = start + S @ returned
    place: list[int] = []  # of each row of the problem that is solved its own, or -1 for a bound
    laws: list[Law] = []
    bounds: list[tuple[int, int]] = []  # of each bound its row there, and the normal row
    at = 0
    for number, law in enumerate(problem.laws):
        numbers = list(range(at, at + law.rows))
        if number < len(rows) and strikes[number]:
            place.append(at)
            laws.append(Cone((), law.name))
            if law.rows > 1:
                bounds.append((len(place), at))
                place += [-1, *numbers[1:]]
                laws.append(law)
        else:
            place += numbers
            laws.append(law)
        at += law.rows
    index = np.array(place)
    solved = index >= 0
    A, c = np.zeros((len(index), len(index))), np.zeros(len(index))
    A[np.ix_(solved, solved)], c[solved] = S[np.ix_(index[solved], index[solved])], b[index[solved]]
    for row, normal in bounds:
        A[row, row] = S[normal, normal]
    more = np.zeros(len(start))
    for _ in range(_EXPANSIONS):
        for row, normal in bounds:
            c[row] = -A[row, row] * (returned[normal] + more[normal])
        impulses = Problem(A, c, laws).solve(tolerance=problem.tolerance, otherwise=problem.otherwise)
        before, more = more, np.zeros(len(start))
        more[index[solved]] = impulses.p[solved]
        change = np.abs((more - before)[rows.normals]).max(initial=0.0)
        if change <= problem.tolerance * np.abs(first.p[rows.normals]).max(initial=0.0):
            break
    else:
        if problem.otherwise == "raise":
            raise ConvergenceError(
                f"the expansion of {len(rows)} contacts (Poisson's law) did not settle: normal impulses still change "
                f"by {change:.2e} N s after {_EXPANSIONS} rounds; use law='energy', or otherwise='report'."
            )
    p = first.p + returned + more
    u = problem.speeds(problem.v) + S @ p
    return replace(
        first, p=p, u=u, residual=max(first.residual, impulses.residual), unique=first.unique and impulses.unique
    )


def resolve_in_turn(
    rows: ContactRows, solve_mass: SolveMass, v: Array, v0: Array, allowed: Array, more: Further | None = None,
    law: ImpactLaw = _DEFAULT, bounces: Array | None = None,
) -> Resolved:  # fmt: skip
    """Resolve impacts of one instant that follow each other; v0 are the velocities before the step, with which
    approaching contacts strike. Further rows do not bounce: `bounces` are zero.
    """
    now, p, work, factor = np.array(v0), np.zeros(len(rows.J)), 0.0, 1.0
    held, pulled = _equalities(more, v0), np.zeros(len(v))
    X = solve_mass(rows.J[rows.normals].T)
    root = np.sqrt(np.einsum("pi,ip->p", rows.J[rows.normals], X).clip(0.0))
    fastest, small = 0.0, np.abs((rows.J @ (v - v0))[rows.normals])  # what forces make of it in one step rests
    for _ in range(_IMPACTS):
        u = (rows.J @ now + rows.slip)[rows.normals]
        strikes = (rows.restitution > 0.0) & (root > 0.0) & (-u > small)
        energy = np.where(strikes, -u / np.where(root > 0.0, root, 1.0), 0.0)
        fastest = max(fastest, float(energy.max(initial=0.0)))
        if not energy.max(initial=0.0) > _OVER * fastest:
            break
        i = int(np.flatnonzero(energy >= (1.0 - 1e-9) * energy.max())[0])  # of equals the first by name
        one = some_points(rows, np.array([i]))
        done = resolve(one, solve_mass, now, u[[i]], np.zeros(1), held, law)
        assert done.impulses is not None
        part = slice(rows.normals[i], rows.normals[i] + rows.laws[i].rows)
        p[part] += done.impulses.p[: rows.laws[i].rows]
        now, pulled = done.v, pulled + done.held
        work, factor = work + done.work, min(factor, done.factor)
    else:
        if law.otherwise == "raise":
            raise ConvergenceError(
                f"{_IMPACTS} impacts in turn did not end: {rows.laws[i].name!r} still approaches at {abs(u[i]):.3g} "
                "m/s; take impacts='simultaneous', or otherwise='report'."
            )
    rest = replace(law, restitution="newton")
    last = resolve(rows, solve_mass, v + now - v0, np.zeros(len(rows)), allowed, more, rest)
    if last.impulses is None:
        return last
    total = np.array(last.impulses.p)
    total[: len(p)] += p
    impulses = replace(last.impulses, p=total)
    struck = last.contact + rows.J.T @ p
    presses = last.presses or bool(p.any())
    return Resolved(last.v, struck, last.held + pulled, impulses, last.work + work, factor, presses)


def _equalities(more: Further | None, v: Array) -> Further | None:
    """Closures and held dofs among further rows, which act in an impact of one contact: they keep the velocities that
    they have at v.
    """
    if more is None:
        return None
    N, laws, _ = more
    keep = [i for i, law in enumerate(laws) if isinstance(law, Bilateral)]
    return N[keep], tuple(laws[i] for i in keep), N[keep] @ v
