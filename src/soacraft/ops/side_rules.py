"""What `prove` and `simplify` know of the leaves of derivatives: H X = 0 for hinges of one dof, and the like."""

from __future__ import annotations

from collections.abc import Iterator

from soacraft.algebra.operator import Leaf
from soacraft.ops import translate
from soacraft.ops.namespace import operators_of
from soacraft.ops.sensitivity_leaves import SensitivityLeaf
from soacraft.ops.sensitivity_rules import side_rules

#: The relations that a leaf brings along, by its kind.
KNOWN = {"X": ("H X", "E_phi X at the base", "X is skew"), "W": ("W is skew",)}


def of_derivatives(leaf: Leaf) -> Iterator[translate.SideRule]:
    """The relations of X and W along one dof, where the hinge and the axes allow them."""
    if not isinstance(leaf, SensitivityLeaf) or len(leaf.path) != 1:
        return
    s, (body, dof) = operators_of(leaf.binding), leaf.path[0]
    if body is None:
        return
    for rule in side_rules(s, body, dof):
        if rule.name in KNOWN.get(leaf.kind, ()):
            yield f"{rule.name} of {body!r}", rule.source, rule.left(s, body, dof), rule.right(s, body, dof)


def install() -> None:
    """Teach the translator."""
    translate.side_rules[:] = [of_derivatives]
