"""The table of the named algorithms: arguments, results, and kernels.

A public function, the method of a handle, the quick call, the batch, the tests and the page of the documentation read
it; `_core.algorithms()` is the kernels' own table. To add an algorithm: its reference, a function of a `Problem` in
`dynamics/reference/`, a row here, the public function; and a kernel when it is to be quick.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.model.flat.compiled import kernel_table

#: Arguments that hold one vector for each state.
VECTORS = ("q", "v", "vdot", "force", "x")


@dataclass(frozen=True)
class Algorithm:
    """One row. `arguments` are those after the graph that may be given by place, in order. `outputs` are the axes of
    each result behind the batch: v dofs, n bodies, k nodes, numbers, products of those (6k). `reference` is the
    chapter of the reference engine that has a function of this name. Right with loops: for any q and v that agree with
    loop closures and couplings. `stored`: the forces kept with the model's state act.
    `instead`: what to use where a dense result is too large.
    """

    name: str
    arguments: str
    outputs: tuple[str, ...]
    reference: str
    equation: str
    module: str = "dynamics"
    right_with_loops: bool = False
    stored: bool = False
    passive: bool = False
    holonomic: bool = False
    solves: bool = False
    instead: str = ""

    @cached_property
    def given(self) -> tuple[str, ...]:
        """All arguments that may be given by place."""
        return tuple(self.arguments.split())

    @cached_property
    def vectors(self) -> tuple[str, ...]:
        """Arguments with one vector for each state."""
        return tuple(name for name in self.given if name in VECTORS)

    @property
    def kernel(self) -> str | None:
        """The name of the compiled algorithm, if there is one."""
        return self.name if self.name in kernel_table() else None

    @property
    def flexible_kernel(self) -> str | None:
        """Name of the kernel for trees with flexible bodies; None where there is none."""
        return self.name if self.name in kernel_table(flexible=True) else None

    def tails(self, p: Problem) -> tuple[tuple[int, ...], ...]:
        """The axes of the results behind the batch, in numbers."""
        sizes = {"v": p.nv, "n": p.n, "k": len(p.nodes)}
        return tuple(tuple(_size(axis, sizes) for axis in output.split()) for output in self.outputs)


def _size(axis: str, sizes: dict[str, int]) -> int:
    """The product of the letters and digits of an axis.

    >>> _size("6k", {"k": 2})
    12
    """
    return int(np.prod([sizes[letter] if letter in sizes else int(letter) for letter in axis]))


_ROWS = (
    Algorithm(
        "inverse_dynamics", "q v vdot f_ext", ("v",), "inverse",
        "T = H phi (M phi* (H* vdot + a) + b) - passive", stored=True, passive=True,
    ),
    Algorithm(
        "forward_dynamics", "q v force f_ext", ("v",), "forward",
        "vdot = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a", stored=True, passive=True, solves=True,
    ),
    Algorithm(
        "mixed_dynamics", "q v force vdot prescribed f_ext", ("v", "v"), "forward",
        "forward dynamics with H_f and a + H_p* vdot_p; T_p = H_p f", stored=True, passive=True, solves=True,
    ),
    Algorithm("mass_matrix", "q", ("v v",), "inertia", "Mcal = H phi M phi* H*",
        instead="mass_matrix_multiply(g, q, x), or the operator H * phi * M * phi.T * H.T"),
    Algorithm("mass_matrix_inverse", "q", ("v v",), "forward", "Mcal^-1 = (I - H psi K)* D^-1 (I - H psi K)",
        solves=True, instead="mass_matrix_solve(g, q, x), or the operator (H * phi * M * phi.T * H.T).inv"),
    Algorithm("mass_matrix_multiply", "q x", ("v",), "inverse", "H phi M phi* H* x"),
    Algorithm("mass_matrix_solve", "q x", ("v",), "forward", "(I - H psi K)* D^-1 (I - H psi K) x", solves=True),
    Algorithm("log_det_mass_matrix", "q", ("",), "forward", "log det Mcal = sum log det D(k)", solves=True),
    Algorithm("bias_force", "q v f_ext", ("v",), "inverse", "C = H phi (b + M phi* a) - passive",
        stored=True, passive=True),
    Algorithm("gravity_force", "q", ("v",), "inverse", "-H phi M [0; g]"),
    Algorithm("interbody_forces", "q v vdot f_ext expressed_in", ("n 6",), "inverse", "f = phi (M alpha + b)",
        stored=True, passive=True),
    Algorithm("passive_force", "q v", ("v",), "inverse", "-stiffness (q - rest) - damping v", right_with_loops=True),
    Algorithm("passive_energy", "q", ("",), "energy", "stiffness (q - rest)^2 / 2", right_with_loops=True),
    Algorithm("compensating_force", "q node_forces", ("v",), "inverse", "H phi B f = J* f"),
    Algorithm("poses", "q", ("n 3 3", "n 3"), "kinematics", "R, p of every body", right_with_loops=True),
    Algorithm("velocities", "q v expressed_in", ("n 6",), "kinematics", "V = phi* H* v", right_with_loops=True),
    Algorithm("accelerations", "q v vdot expressed_in", ("n 6",), "kinematics", "alpha = phi* (H* vdot + a)",
        right_with_loops=True),
    Algorithm("node_motion", "q v vdot nodes expressed_in", ("k 3 3", "k 3", "k 6", "k 6"), "kinematics",
        "R, p, B* V, B* alpha of nodes", right_with_loops=True),
    Algorithm("jacobian", "q nodes expressed_in", ("6k v",), "kinematics", "J = B* phi* H*", right_with_loops=True),
    Algorithm("jacobian_dot_v", "q v nodes expressed_in", ("6k",), "kinematics", "(dJ/dt) v", right_with_loops=True),
    Algorithm("operational_space_compliance", "q nodes expressed_in", ("6k 6k",), "inertia",
        "J Mcal^-1 J* = B* Omega B", solves=True),
    Algorithm("operational_space_inertia", "q nodes expressed_in", ("6k 6k",), "inertia",
        "Lambda = (J Mcal^-1 J*)^-1", solves=True),
    Algorithm("center_of_mass", "q", ("3",), "energy", "c = sum m c / sum m", right_with_loops=True),
    Algorithm("kinetic_energy", "q v", ("",), "energy", "V* M V / 2 + v* J v / 2", right_with_loops=True),
    Algorithm("potential_energy", "q", ("",), "energy", "-sum m g.c", right_with_loops=True),
    Algorithm("momentum", "q v", ("6",), "energy", "h = sum phi(0,k) M V", right_with_loops=True),
    Algorithm("centroidal_momentum_matrix", "q", ("6 v",), "energy", "phi(c,k) R(k) H*(k)", right_with_loops=True),
    Algorithm("composite_inertia", "q", ("n 6 6",), "inertia", "R(k) = sum phi R phi* + M(k)"),
    Algorithm("inverse_dynamics_derivatives", "q v vdot f_ext", ("v v",) * 3, "derivatives", "dT/dq, dT/dv, Mcal",
        stored=True, passive=True, holonomic=True,
        instead="the operator derivatives expr.diff(body) and expr.dot()"),
    Algorithm("forward_dynamics_derivatives", "q v force f_ext", ("v v",) * 3, "derivatives",
        "-Mcal^-1 dT/dq, -Mcal^-1 dT/dv, Mcal^-1", stored=True, passive=True, holonomic=True, solves=True,
        instead="the operator derivatives expr.diff(body) and expr.dot()"),
    Algorithm("mass_matrix_gradient", "q", ("v v v",), "gradients", "d Mcal / dq", module="analysis",
        instead="the operator (H * phi * M * phi.T * H.T).diff(body)"),
    Algorithm("coriolis_matrix", "q v", ("v v",), "gradients", "d/dt Mcal - 2 C skew", module="analysis",
        instead="bias_force(g, q, v), or the operators of sc.operators(g)"),
    Algorithm("log_det_gradient", "q", ("v",), "gradients", "d log det Mcal / dq", module="analysis",
        solves=True),
)  # fmt: skip

TABLE: dict[str, Algorithm] = {row.name: row for row in _ROWS}
