"""`sc.prove`: a chain of named steps from one expression to another, each step also checked with numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.completion import Budget, Contradiction, OutOfBudget
from soacraft.errors import SoacraftError, SpaceError
from soacraft.model.samples.random_models import random_sko
from soacraft.ops.namespace import Operators, operators
from soacraft.ops.proofs import stated
from soacraft.ops.proofs.chain import Chain, between
from soacraft.ops.proofs.letters import binding_of
from soacraft.ops.proofs.places import check
from soacraft.ops.proofs.proof import Proof, Step
from soacraft.ops.proofs.translate import Translator
from soacraft.ops.verify import Side, verify

TOLERANCE = 1e-9


def prove(left: Side, right: Side, seconds: float = 10.0) -> Proof:
    """A chain of named steps from left to right, by the definitions of the operators alone (`docs/proofs.md`).

    Both sides are reduced by the rules that completion derives from the definitions (000 Eq. 24, 004 Eq. 32-37) and
    their adjoints, from the user's definitions and from stated identities; where they meet, the chain is joined. Each
    step is then checked with numbers on random SKO models of random block sizes, or, where an operator belongs to one
    model, on that model at random states. False with a reason when no chain is found in the time given; never a proof
    of what does not hold.

    >>> import soacraft as sc
    >>> H, phi, psi, K, I = sc.operators(sc.load("arm7"), "H phi psi K I")
    >>> bool(sc.prove((I - H * psi * K) * H * phi, H * psi))
    True
    >>> sc.prove(H * phi, H * psi)
    H*phi = H*psi
      not found: the sides differ, not equal on ... of 10 models: relative error ...
    """
    left, right = _sides(left, right)
    left, right = _same_spaces(left, right)
    try:
        chain = _chain(left, right, Budget(_positive(seconds)))
    except Contradiction:
        return _not_found(left, right, "an inverse in it belongs to a singular operator")
    except OutOfBudget as error:
        return _not_found(left, right, f"the budget is used up ({error})")
    if chain is None:
        return _not_found(left, right, "no chain of rules joins the sides")
    return _checked(left, right, chain)


def _positive(seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise SpaceError(f"seconds={seconds!r}: a positive number of seconds is wanted.")
    return float(seconds)


def _sides(left: Side, right: Side) -> tuple[Operator, Operator]:
    found = []
    for side in (released(left), released(right)):
        if callable(side) and not isinstance(side, Operator):
            side = side(_anywhere())
        if not isinstance(side, Operator):
            raise SpaceError(
                f"prove compares operators, or functions of an Operators namespace that give operators, not {side!r}; "
                "vectors and numbers can be compared by sc.verify."
            )
        found.append(side)
    return found[0], found[1]


@cache
def _anywhere() -> Operators:
    """Random model on which functions of a namespace are proved, in the place of all models."""
    found: Operators = operators(random_sko(5, seed=7))
    return found


def _same_spaces(left: Operator, right: Operator) -> tuple[Operator, Operator]:
    """Both sides with spaces: I takes those of the other side."""
    difference_of = left - right  # refuses what does not fit
    rows = difference_of.rows or _anywhere().body
    left, right = (side.with_space(rows) if side.rows is None else side for side in (left, right))
    return left, right


def _chain(left: Operator, right: Operator, budget: Budget) -> Chain | None:
    translator = Translator(binding_of("prove", left, right, maps=True), budget)
    stated.teach(translator)
    return between(translator, left, right)


def _not_found(left: Operator, right: Operator, why: str) -> Proof:
    """Say whether numbers tell the sides apart."""
    try:
        found = verify(left, right)
    except SoacraftError as error:
        return Proof(left, right, (), f"{why}, and the sides cannot be compared with numbers: {error}")
    if not found.ok:
        return Proof(left, right, (), f"the sides differ, {found!r}")
    return Proof(left, right, (), f"{why}; numbers do not tell the sides apart, {found!r}")


def _checked(left: Operator, right: Operator, chain: Chain) -> Proof:
    """The proof, if every step also holds in numbers."""
    try:
        reached = [left, *(expr for expr, _ in chain.links)]
        found = check(chain.translator.binding, reached, chain.stated, chain.serial)
    except SoacraftError as error:
        return Proof(left, right, (), f"a chain was found, but its steps cannot be checked with numbers: {error}")
    steps = tuple(
        Step(expr, reason.name, reason.source, error, reason.rule)
        for (expr, reason), error in zip(chain.links, found.errors, strict=True)
    )
    bad = [step for step in steps if not step.error <= TOLERANCE]
    if bad:
        why = f"a chain was found, but its step '{bad[0].name}' fails in numbers, relative error {bad[0].error:.1e}"
        return Proof(left, right, (), why)
    worst = max(found.errors, default=0.0)
    return Proof(left, right, steps, "", f"each step checked on {found.where}, largest relative error {worst:.1e}")
