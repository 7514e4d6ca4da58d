"""Models and states at which the steps of a proof are checked with numbers, and the errors there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.values.measure import Known, relative_norm
from soacraft.errors import SingularError
from soacraft.model.samples.random_models import random_sko
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.maps.leaves import is_mixed
from soacraft.ops.namespace import operators
from soacraft.ops.portable import portable, rebound

#: The random SKO models that steps are checked on: numbers of nodes, with random block sizes.
SIZES = (1, 3, 6)
STATES = 3
#: Steps that agree so well are not looked at more closely.
ENOUGH = 1e-10


@dataclass(frozen=True)
class Checked:
    """The largest relative error of each step, and where, in words."""

    errors: tuple[float, ...]
    where: str


def check(own: Bound | None, chain: Sequence[Operator], stated: bool, serial: bool) -> Checked:
    """Compare neighbours of a chain: on random SKO models where the operators have a meaning there and no identity
    stated for one model was used, else on their own model at random states. So too where an inverse does not exist on
    the random models; when it does not exist on their own either, `SingularError` says so.
    """
    if own is None:
        return Checked(_errors(chain), "no model: it is made of identities alone")
    if is_mixed(*chain):
        return Checked(_errors(chain), "the models that its maps lead between, at their states")
    if not stated and portable(chain[0]) and portable(chain[-1]):
        models = _samples(0.0 if serial else 0.6)
        found = _on(chain, models)
        if len(found) == len(models):
            kind = "serial SKO models" if serial else "SKO models"
            return Checked(_worst(found), f"{len(found)} random {kind} of random block sizes")
    found = [_errors([rebound(expr, binding) for expr in chain]) for binding in _states(own)]
    where = f"{own.owner} itself"
    if isinstance(own, GraphBinding):
        where += f" at {len(found)} random states"
    return Checked(_worst(found), f"{where}, since operators, identities or inverses in it belong to that model")


@cache
def _samples(branching: float) -> tuple[Bound, ...]:
    """The random SKO models: constant, so what is computed of them serves all proofs."""
    return tuple(operators(random_sko(n, seed=40 + n, branching=branching)).binding for n in SIZES)


def _states(own: Bound) -> list[Bound]:
    if not isinstance(own, GraphBinding):
        return [own]
    return [own.at(**own.elsewhere(seed)) for seed in range(STATES)]


def _on(chain: Sequence[Operator], bindings: Sequence[Bound]) -> list[tuple[float, ...]]:
    """The errors on each model that has all the inverses."""
    found = []
    for binding in bindings:
        try:
            found.append(_errors([rebound(expr, binding) for expr in chain]))
        except SingularError:
            continue
    return found


def _errors(chain: Sequence[Operator]) -> tuple[float, ...]:
    known: Known = {}  # all but the ends are in two differences
    return tuple(relative_norm(a - b, dense=True, enough=ENOUGH, known=known) for a, b in pairwise(chain))


def _worst(found: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(max(errors) for errors in zip(*found, strict=True))
