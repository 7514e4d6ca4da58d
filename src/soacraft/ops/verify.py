"""Check numerically that two expressions are equal: on given models, or on random ones of random block sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.rounding import ROUNDING, measurer, measuring, noise_sizes
from soacraft.algebra.spaces.space import fits
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.algebra.values.measure import largest_ratio, relative_norm
from soacraft.arguments import whole_number
from soacraft.cards import card
from soacraft.errors import ModelError, SpaceError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.samples.random_models import random_sko, random_tree
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.ops.binding import GraphBinding
from soacraft.ops.maps.leaves import MapLeaf, is_mixed
from soacraft.ops.namespace import Operators, operators, operators_of
from soacraft.ops.portable import portable, rebound

Side = Operator | Callable[[Operators], Any]


@dataclass(frozen=True)
class Verification:
    """Result of `verify`; true when both sides agreed everywhere. Prints where and by how much they differ."""

    errors: tuple[tuple[str, float], ...]
    tolerance: float

    @property
    def worst(self) -> tuple[str, float]:
        """The model with the largest error, and that error."""
        return max(self.errors, key=lambda pair: math.inf if math.isnan(pair[1]) else pair[1])

    @property
    def ok(self) -> bool:
        """True if both sides agreed everywhere."""
        return self.worst[1] <= self.tolerance

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        where, error = self.worst
        if self.ok:
            return f"equal on {_count(len(self.errors))}, largest relative error {error:.1e} on {where}"
        failed = sum(not e <= self.tolerance for _, e in self.errors)
        return f"not equal on {failed} of {_count(len(self.errors))}: relative error {error:.1e} on {where}"

    def _repr_html_(self) -> str:
        said = {True: "equal", False: "not equal"}
        rows = [(where, f"{error:.1e}", said[error <= self.tolerance]) for where, error in self.errors]
        return card(repr(self), markup.table(["on", "relative error", ""], rows))


def _count(n: int) -> str:
    return f"{n} model{'' if n == 1 else 's'}"


def difference(left: Any, right: Any, enough: float = 0.0) -> float:
    """The relative difference of two operators, stacked vectors or numbers.

    Operators and vectors are compared piece by piece (entries that share a unit), so that units do not matter: vectors
    by the largest entry of either in the piece, or where that is rounding, by what went into it. Plain numbers and
    arrays have no units: they are compared by the largest entry of the two, a number with zero exactly. An inverse of
    no known structure is formed densely. Between operators a difference of no more than `enough` is an upper bound.
    """
    if isinstance(left, Operator) and isinstance(right, Operator):
        return relative_norm(left - right, dense=True, enough=enough)
    if isinstance(left, Operator) or isinstance(right, Operator):
        raise SpaceError("an operator can be compared with an operator only; use .array() for numbers.")
    if isinstance(left, StackedVector) and isinstance(right, StackedVector) and left.space != right.space:
        raise SpaceError(f"vectors of {left.space} and of {right.space} cannot be compared.")
    x, y = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not (fits(x.shape, y.shape) or fits(y.shape, x.shape)):
        raise SpaceError(f"numbers of shape {x.shape} and of shape {y.shape} cannot be compared.")
    vector = next((side for side in (left, right) if isinstance(side, StackedVector)), None)
    if vector is None:
        largest = max(float(np.max(np.abs(side), initial=0.0)) for side in (x, y))
        return largest_ratio(np.max(np.abs(x - y), initial=0.0), largest)
    space = vector.space
    x, y = (side if vector.is_columns else side[..., None] for side in (x, y))
    size = np.maximum(space.sizes(x), space.sizes(y))
    if measurer() is not None:
        sides = [side for side in (left, right) if isinstance(side, StackedVector)]
        size = np.maximum(size, ROUNDING * sum(noise_sizes(space, side.rounding) for side in sides))
    return largest_ratio(space.sizes(x - y), size)


def verify(left: Side, right: Side, on: Any = None, tolerance: float = 1e-9, seed: int = 0) -> Verification:
    """Compare left and right numerically, and report where and by how much they differ.

    A side is an expression, or a function of an `Operators` namespace. `on` is a model, a state, an `Operators`
    namespace or several of them; by default both are tried on random SKO models (serial, branched, with random block
    sizes) and on random rigid trees, and expressions also on the model they are bound to. Expressions that pick off
    nodes, and derivatives, are tried on their own model only, at random states.

    >>> import soacraft as sc
    >>> verify(lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, lambda s: s.D).ok
    True
    >>> H, phi, P, K = sc.operators(sc.load("arm7"), "H phi P K")
    >>> verify(H * P, H).ok
    False
    """
    left, right = released(left), released(right)
    for side in (left, right):
        if not isinstance(side, Operator) and not callable(side):
            raise SpaceError(f"verify compares operators, or functions of an Operators namespace, not {side!r}.")
    seed = whole_number(seed, "the seed of verify", 0, 2**32)
    if isinstance(left, Operator) and isinstance(right, Operator) and is_mixed(left, right):
        return Verification(((_models(left, right, on), difference(left, right, tolerance)),), tolerance)
    found = [(name, _error(left, right, s, tolerance)) for name, s in _places(left, right, on, seed)]
    if not found:
        raise ModelError("verify needs at least one model: on=[] leaves nothing to compare.")
    return Verification(tuple(found), tolerance)


def _models(left: Operator, right: Operator, on: Any) -> str:
    """The models that the maps of an expression lead between: it is compared there alone, at their states."""
    if on is not None:
        raise SpaceError("an expression with a map between models is compared on those models; leave on= out.")
    maps = [leaf.numbers for side in (left, right) for leaf in side.leaves() if isinstance(leaf, MapLeaf)]
    return " and ".join(dict.fromkeys(f"{s.owner}" for m in maps for s in (m.a, m.b)))


def _error(left: Side, right: Side, s: Operators, tolerance: float) -> float:
    """The difference on one model; where vectors differ, once more with what rounding may have made of them."""
    one, other = _side(left, s), _side(right, s)
    error = difference(one, other, tolerance)
    if error > tolerance and any(isinstance(x, StackedVector) for x in (one, other)):
        with measuring():
            error = difference(_side(left, s), _side(right, s), tolerance)
    return error


def _side(side: Side, s: Operators) -> Any:
    if isinstance(side, Operator):
        return rebound(side, s.binding)
    return side(s)


def _places(left: Side, right: Side, on: Any, seed: int) -> Iterable[tuple[str, Operators]]:
    if on is not None:
        return [_bound(model) for model in (on if isinstance(on, (list, tuple)) else [on])]
    sides = [side for side in (left, right) if isinstance(side, Operator)]
    leaves = [leaf for side in sides for leaf in side.leaves()]
    places = []
    for binding in {id(leaf.binding): leaf.binding for leaf in leaves}.values():
        places.append((f"{binding.owner}", operators_of(binding)))  # type: ignore[attr-defined, arg-type]
        if isinstance(binding, GraphBinding):
            there = binding.at(**binding.elsewhere(seed))
            places.append((f"{binding.owner} at a random state", operators_of(there)))
    if not all(map(portable, sides)):
        return places
    # a function of the user's may change the models that it is given
    return [*places, *(_samples(seed) if len(sides) == 2 else map(_bound, random_models(seed)))]


@lru_cache(maxsize=4)
def _samples(seed: int) -> tuple[tuple[str, Operators], ...]:
    """Random models that nobody else sees: what is computed of them serves all comparisons."""
    return tuple(map(_bound, random_models(seed)))


def random_models(seed: int = 0) -> Sequence[Graph | SKOModel]:
    """Small models of every class: SKO models with random blocks and rigid trees, serial and branched."""
    return [
        *(random_sko(n, seed=seed + n) for n in (1, 2, 5, 8)),
        random_sko(5, seed=seed, branching=0.0),
        random_tree(6, seed=seed),
        random_tree(5, seed=seed + 1, branching=0.0),
        random_tree(5, seed=seed + 2, bases=2),
    ]


def _bound(model: Any) -> tuple[str, Operators]:
    if isinstance(model, Operators):
        return str(model.binding.owner), model
    found: Operators = operators(model)
    name = model.graph.name if isinstance(model, State) else getattr(model, "name", repr(model))
    return name, found
