"""`Named`: the operators of a binding by name, as leaves, derivatives and proofs know them; `named_of` gives them.

Their class, `Operators`, is in `soacraft.ops.namespace`, above all of these.
"""

from __future__ import annotations

from typing import Any, Protocol

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.model.flat.sko import SKOModel
from soacraft.ops.binding import Bound


class Named(Protocol):
    """Operators of one binding: those of the papers, and directions that expressions are differentiated along."""

    H: Operator
    M: Operator
    E_phi: Operator
    R: Operator
    P: Operator
    P_plus: Operator
    D: Operator
    G: Operator
    K: Operator
    tau: Operator
    tau_bar: Operator
    E_psi: Operator
    Upsilon: Operator
    phi: Operator
    phi_tilde: Operator
    psi: Operator
    psi_tilde: Operator
    Omega: Operator
    v: StackedVector
    vdot: StackedVector
    directions: dict[tuple[str | None, int], Any]
    sensitivities: dict[tuple[Any, ...], Any]

    @property
    def I(self) -> Operator:  # noqa: E743
        """The identity."""

    @property
    def binding(self) -> Bound:
        """Binding that the numbers are taken from."""

    @property
    def hinge(self) -> Space:
        """The space of generalized velocities and forces."""

    @property
    def body(self) -> Space:
        """The space of stacked body velocities and forces."""

    @property
    def sko(self) -> SKOModel:
        """The SKO model at the bound state."""

    def X(self, body: Any, dof: Any = 0) -> Operator:
        """How the edges change along a dof."""

    def W(self, body: Any, dof: Any = 0) -> Operator:
        """How the axes turn along a dof."""

    def dH(self, body: Any, dof: Any = 0) -> Operator:
        """How the hinge maps change along a dof."""

    def direction(self, body: str | None, dof: int = 0) -> Any:
        """Direction of a derivative; always the same object."""


def named_of(binding: Bound) -> Named:
    """The operators of a binding, always the same ones."""
    if binding.operators is None:
        binding.operators = binding.namespace(binding)
    found: Named = binding.operators
    return found
