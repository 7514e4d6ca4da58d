"""Terms of couplings and tendons, `{dof: number, ...}`: reading, with the names of the dofs of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.flat.structure import Structure
from soacraft.model.tree.names import one_dof
from soacraft.model.tree.parts.laws import make_law
from soacraft.model.tree.parts.records import make_attributes, read_numbers
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.checks import finite


def read_terms(name: str, terms: Any, graph: Structure) -> Mapping[str, tuple[float, ...]]:
    """The terms of a coupling, for dofs that exist and are true coordinates. O(number of terms)."""
    if not isinstance(terms, Mapping) or not terms:
        raise ModelError(f"coupling {name!r} needs {{dof: ratio, ...}}, got {terms!r:.60}.")
    read: dict[str, tuple[float, ...]] = {}
    for dof, ratio in terms.items():
        dof = one_dof(graph, dof, f"coupling {name!r}", coordinate=True)
        if dof in read:
            raise ModelError(f"coupling {name!r} names dof {dof!r} twice; name it once.")
        c = read_numbers(ratio, f"the ratio of {dof!r} in coupling {name!r}")
        if not c.any():
            raise ModelError(f"coupling {name!r}: the ratio of {dof!r} is zero; leave the dof out.")
        read[dof] = tuple(float(x) for x in np.trim_zeros(c, "b"))
    return MappingProxyType(read)


def make_tendon(
    graph: Structure, name: str, terms: Any, stiffness: Any, damping: Any, rest: Any, attributes: Any
) -> Tendon:
    """A tendon on coordinates of a model, checked."""
    what = f"tendon {name!r}"
    k, d, range_ = make_law(what, stiffness, damping, rest, "rest length")
    return Tendon(name, _read_terms(name, terms, graph), k, d, range_, make_attributes(attributes, what))


def _read_terms(name: str, terms: Any, graph: Structure) -> Mapping[str, float]:
    if not isinstance(terms, Mapping) or not terms:
        raise ModelError(f"tendon {name!r} needs {{dof: coefficient, ...}}, got {terms!r:.60}.")
    read: dict[str, float] = {}
    for given, coefficient in terms.items():
        dof = one_dof(graph, given, f"tendon {name!r}", coordinate=True)
        if dof in read:
            raise ModelError(f"tendon {name!r} names dof {dof!r} twice; name it once.")
        read[dof] = float(finite(coefficient, (), f"the coefficient of {dof!r} in tendon {name!r}"))
    return MappingProxyType(read)
