"""The named algorithms: dynamics of a `Multibody` or a sub-graph at given states, one or many.

    from soacraft import dynamics as dyn

Every function takes the graph first, then arrays whose leading (batch) axes broadcast; a result has those axes. All
take `threads=` (for batches) and `out=`, an array for the result: float64, C-contiguous, of the right shape. It may be
one of the arguments; after an error it is as it was. The model's own state plays no part, except for forces stored with
`mb.set_force` and for the anchor of a sub-graph. Wrong shapes, NaN, a quaternion further than 1e-6 from unit, results
that overflow and those of more than half of the free memory are errors; of a batch they name the state.

Loops: on a graph with active loop closures or couplings a function that answers for its tree alone raises `LoopError`;
`ignore_loops=True` asks for that answer. Right with loops too, for any q and v that agree with them, and never refused:
`poses`, `velocities`, `accelerations`, `node_motion`, `jacobian`, `jacobian_dot_v`, `center_of_mass`, `momentum`,
`centroidal_momentum_matrix`, `kinetic_energy`, `potential_energy`, `passive_energy`, `passive_force`. A sub-graph has
the loops, couplings and tendons that lie wholly inside it.

Armature J on dofs is part of the mechanics: T gains J vdot, the mass matrix J on its diagonal, the kinetic energy
v* J v / 2; momentum and composite inertias are those of the bodies.

Passive forces: springs and dampers of hinges (`body.passive`) and tendons (`mb.add_tendon`) and gravity compensation
(`body.gravity_compensation`) act in forward, inverse and mixed dynamics, `bias_force` and derivatives:
M vdot + C + g = force + passive. `passive=False` leaves them out; `passive_force` gives them.

SKO models (`sc.SKOModel`), of constant blocks or of functions of a state, are taken by those that need no frames:
`forward_dynamics(model, q, v, force)`. Their accelerations, velocities and forces are stacked vectors of the nodes.

`Dynamics(g)` is a handle bound to one graph, with the same names as methods.
"""

from typing import TYPE_CHECKING

from soacraft.dynamics.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from soacraft.dynamics.forces import (
    bias_force,
    compensating_force,
    forward_dynamics,
    gravity_force,
    interbody_forces,
    inverse_dynamics,
    mixed_dynamics,
    passive_force,
)
from soacraft.dynamics.handle import Dynamics
from soacraft.dynamics.inertias import (
    composite_inertia,
    log_det_mass_matrix,
    mass_matrix,
    mass_matrix_inverse,
    mass_matrix_multiply,
    mass_matrix_solve,
)
from soacraft.dynamics.motion import accelerations, node_motion, poses, velocities
from soacraft.dynamics.nodes import (
    jacobian,
    jacobian_dot_v,
    operational_space_compliance,
    operational_space_inertia,
)
from soacraft.dynamics.per_body import BodyArray, NodeMotion, Poses
from soacraft.dynamics.system import (
    center_of_mass,
    centroidal_momentum_matrix,
    kinetic_energy,
    momentum,
    passive_energy,
    potential_energy,
)
from soacraft.hints import lookup

__all__ = [
    "BodyArray",
    "Dynamics",
    "NodeMotion",
    "Poses",
    "accelerations",
    "bias_force",
    "center_of_mass",
    "centroidal_momentum_matrix",
    "compensating_force",
    "composite_inertia",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gravity_force",
    "interbody_forces",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "jacobian_dot_v",
    "kinetic_energy",
    "log_det_mass_matrix",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_matrix_multiply",
    "mass_matrix_solve",
    "mixed_dynamics",
    "momentum",
    "node_motion",
    "operational_space_compliance",
    "operational_space_inertia",
    "passive_energy",
    "passive_force",
    "poses",
    "potential_energy",
    "velocities",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__
