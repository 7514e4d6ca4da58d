"""Derivatives of dynamics along parameters: exact, from one sweep; of anything else by differences, on a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.parametric.quantities import QUANTITIES, WITH_FORCES
from soacraft.analysis.parametric.vocabulary import Found, Parameter, read_parameters, values_of, write
from soacraft.dynamics.arguments import read_graph
from soacraft.errors import StateError, near
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL

_STEP = 2e-3  # of the size of a parameter


@refusing_overflow()
def parameter_derivatives(
    g: Graph,
    quantity: str | Callable[[Any], Any],
    parameters: Any,
    *args: Any,
    f_ext: Any = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> Any:
    """The derivatives of a quantity along parameters, as the last axis. Exact for every hinge, O(n) a parameter.

    `quantity` is the name of a function, `args` what that function takes after the model:

        inverse_dynamics q v vdot    forward_dynamics q v force    bias_force q v    gravity_force q
        mass_matrix q                mass_matrix_inverse q         log_det_mass_matrix q
        jacobian q nodes             operational_space_compliance q nodes
        kinetic_energy q v           potential_energy q            center_of_mass q
        node_motion q v vdot nodes   (the displacement [turn; travel], then of velocity and acceleration; inertial axes)

    q, v, vdot and forces are held, with f_ext in the axes it is given in. Or `quantity` is a function of the model, any
    analysis: then the derivatives are central differences of order six, on copies of the model.

    `parameters` are names (`soacraft.analysis.parametric.vocabulary`): `link3.mass`, `link3.com`, `link3.inertia`,
    `link3.inboard`, `elbow.axis`, `elbow.armature`, `link7/tool.pose`, or one number of them, `link3.inboard_x`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import parameter_derivatives
    >>> mb = sc.load("pendulum")                           # T = m g l sin q + m l^2 vdot, l = -com_z
    >>> T = parameter_derivatives(mb, "inverse_dynamics", ["bob.mass", "bob.com_z"], [np.pi / 2], [0.0], [2.0])
    >>> T                                                  # g l + l^2 vdot, -(m g + 2 m l vdot)
    array([[ 11.81, -13.81]])
    """
    graph = read_graph("parameter_derivatives", g)
    chosen = read_parameters("parameter_derivatives", graph, parameters)
    if callable(quantity):
        if args:
            raise StateError("parameter_derivatives of a function of the model takes no further arguments.")
        return differences(graph, quantity, chosen)
    if not isinstance(quantity, str) or quantity not in QUANTITIES:
        hint = near(quantity, QUANTITIES) if isinstance(quantity, str) else "."
        raise StateError(
            f"parameter_derivatives knows no derivative of {quantity!r:.60}{hint} Of anything else give a function of "
            "the model: its derivatives are taken by differences."
        )
    names, work = QUANTITIES[quantity]
    if len(args) != len(names):
        raise StateError(f"parameter_derivatives of {quantity!r} takes {', '.join(names)}, got {len(args)} arguments.")
    options = {"f_ext": f_ext, "passive": passive, "ignore_loops": ignore_loops}
    if f_ext is not None and quantity not in WITH_FORCES:
        raise StateError(f"parameter_derivatives of {quantity!r} takes no f_ext: no force enters it.")
    return work(graph, chosen, options, **dict(zip(names, args, strict=True)))


def differences(graph: Graph, function: Callable[[Any], Any], parameters: Found) -> Array:
    """The derivatives of a function of the model, by central differences of order six on a copy."""
    other, copied = copy_of(graph, parameters)
    x0, steps = values_of(copied), _STEP * sizes_of(graph, parameters)
    columns = []
    for i, step in enumerate(steps):
        total: Any = 0.0
        for k, weight in STENCIL:
            sides = []
            for sign in (k, -k):
                x = x0.copy()
                x[i] += sign * step
                write("parameter_derivatives", copied, x)
                sides.append(np.asarray(function(other), dtype=np.float64))
            total = total + weight * (sides[0] - sides[1])
        columns.append(total / step)
    return np.stack(columns, axis=-1)


def copy_of(graph: Graph, parameters: Found) -> tuple[Multibody, Found]:
    """A copy of the model, and the parameters in it."""
    if not isinstance(graph, Multibody):
        raise StateError(
            f"a function of the model is given copies of it, and {graph.name!r} is a sub-graph; give its model."
        )
    other = graph.copy()
    return other, tuple(x._replace(owner=other.frame(x.owner.full_name)) for x in parameters)


def sizes_of(graph: Graph, parameters: Found) -> Array:
    """Units of the parameters: the model's mass, length and time, so that those of the user do not matter."""
    L, t = scale_of(graph)
    m = sum(body.inertia.mass for body in graph.bodies) / max(len(graph), 1) or 1.0
    pose = 3 * [1.0] + 3 * [L]
    sizes: dict[str, list[float]] = {
        "mass": [m], "com": 3 * [L], "moment": 6 * [m * L * L], "inertia": [m] + 3 * [m * L] + 6 * [m * L * L],
        "inboard": pose, "outboard": pose, "pose": pose, "axis": 3 * [1.0],
    }  # fmt: skip
    return np.array([
        sizes[x.kind][x.number] if x.kind in sizes else _of_dof(x, m, L, t) for x in parameters
    ])  # fmt: skip


def _of_dof(x: Parameter, m: float, L: float, t: float) -> float:
    turns = x.owner.hinge.dof_units[x.number] == "r"
    inertia = m * L * L if turns else m
    return inertia / {"armature": 1.0, "damping": t, "stiffness": t * t}[x.kind]
