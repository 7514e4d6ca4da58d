"""Forces and accelerations: inverse, forward and mixed dynamics, and the parts of the equations of motion.

    Mcal vdot + C = T + passive,    C = H phi (b + M phi* a)                                       (000 Eq. 17)

Gravity, the forces stored with `mb.set_force` and those of `f_ext` are in b, so in C. `f_ext = {node: wrench}` adds to
the stored ones: six numbers [moment; force] in node axes, or `sc.Wrench(moment, force, expressed_in=frame)`. Armature J
(`body.armature`) is in Mcal, on its diagonal. `passive` are the forces that the model itself has: springs and dampers
of hinges and tendons, and gravity compensation (`passive_force`); `passive=False` leaves them out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_axes, read_problem
from soacraft.dynamics.engine import answer, answers
from soacraft.dynamics.per_body import BodyArray, axes_text
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.quick import quick
from soacraft.errors import StateError
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


@quick
def inverse_dynamics(
    g: Graph,
    q: Any,
    v: Any,
    vdot: Any,
    f_ext: Any = None,
    *,
    out: Array | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
    modes: str = "given",
) -> Array:
    """The generalized force T (..., nv) that gives the acceleration vdot at (q, v). O(n).

        alpha = phi* (H* vdot + a),   f = phi (M alpha + b),   T = H f - passive   (004 Eq. 10, Algorithm 3.1)

    What the model's own springs, dampers and gravity compensation do, T need not; `passive=False` leaves them out.
    For flexible bodies vdot holds the accelerations of the modes, and T the forces that it takes along them. With
    `modes="free"` nothing acts on the modes: T is that of the hinges, zero along the modes, which accelerate as they
    will (`mixed_dynamics`); what vdot has for them plays no part.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> pendulum = sc.load("pendulum")                  # 1 kg at 1 m, g = 9.81
    >>> dyn.inverse_dynamics(pendulum, [np.pi / 2], [0.0], [2.0])
    array([11.81])
    """
    if modes not in ("given", "free"):
        raise StateError(f"modes of inverse_dynamics must be 'given' or 'free', got {modes!r:.60}.")
    p = read_problem(
        "inverse_dynamics", g, q=q, v=v, vdot=vdot,
        f_ext=f_ext, stored=True, threads=threads, passive=passive, ignore_loops=ignore_loops,
    )  # fmt: skip
    if modes == "free" and p.layout.flexible:
        return _at_hinges(p, out)
    return answer(p, out)


def _at_hinges(p: Problem, out: Array | None) -> Array:
    """Inverse dynamics with nothing that acts along the modes."""
    hinges = np.ones(p.nv, dtype=np.bool_)
    hinges[p.layout.own.v] = False
    arguments = {**p.given, "force": np.zeros(p.nv)}
    of = replace(p, function="mixed_dynamics", given=arguments, prescribed=hinges)
    return answers(of, None if out is None else (np.empty((*p.batch, p.nv)), out))[1]


@quick
def forward_dynamics(
    g: Graph,
    q: Any,
    v: Any,
    force: Any,
    f_ext: Any = None,
    *,
    out: Array | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> Array:
    """The acceleration vdot (..., nv) under the generalized force, by articulated bodies. O(n).

        vdot = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a      (000 Eq. 31, 004 Algorithm 6.1)

    with T = force + `passive_force`: springs, dampers and gravity compensation of the model add to the force;
    `passive=False` leaves them out. A hinge with no inertia to move is a `SingularError` that names its body.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.forward_dynamics(sc.load("pendulum"), [np.pi / 2], [0.0], [11.81])
    array([2.])
    """
    p = read_problem(
        "forward_dynamics",
        g,
        q=q,
        v=v,
        force=force,
        f_ext=f_ext,
        stored=True,
        threads=threads,
        passive=passive,
        ignore_loops=ignore_loops,
    )
    return answer(p, out)


@quick
def mixed_dynamics(
    g: Graph,
    q: Any,
    v: Any,
    force: Any,
    vdot: Any,
    prescribed: Any,
    f_ext: Any = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> tuple[Array, Array]:
    """All of vdot and of the force when vdot is known at the `prescribed` dofs and the force at the others. O(n).

        H -> H_f,  a -> a + H_p* vdot_p  in the articulated-body dynamics;  then f = phi (M alpha + b),  T_p = H_p f

    `prescribed` is any subset of the dofs, also inside one hinge: a mask of nv True or False, or names (a hinge's name
    means all its dofs) or numbers of dofs. Entries of `force` at prescribed dofs, and of `vdot` at the others, are not
    used. Returns (vdot, force), complete. Passive forces add to `force`, unless `passive=False`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> mb = sc.load("cart_pole")
    >>> vdot, force = dyn.mixed_dynamics(mb, [0, 0.1], [0, 0], [0, 0], [1, 0], prescribed=["cart"])
    >>> float(vdot[0]), float(force[1])
    (1.0, 0.0)
    >>> bool(np.allclose(dyn.inverse_dynamics(mb, [0, 0.1], [0, 0], vdot), force))
    True
    """
    if prescribed is None:
        raise StateError("mixed_dynamics needs the prescribed dofs: a mask, names or numbers; got None.")
    p = read_problem(
        "mixed_dynamics", g, q=q, v=v, force=force, vdot=vdot,
        prescribed=prescribed, f_ext=f_ext, stored=True, threads=threads, passive=passive, ignore_loops=ignore_loops,
    )  # fmt: skip
    parts = answers(p, out)
    return parts[0], parts[1]


@quick
def bias_force(
    g: Graph,
    q: Any,
    v: Any,
    f_ext: Any = None,
    *,
    out: Array | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> Array:
    """The paper's C (..., nv): Coriolis, gyroscopic and gravity forces, less external ones. O(n).

        C = H phi (b + M phi* a) - passive,   Mcal vdot + C = T                                    (000 Eq. 17)

    It is the inverse dynamics at vdot = 0. Stored forces and `f_ext` are in b; without them and with `passive=False` it
    is what peers call nonlinear effects, and the stacked vector `C` of `sc.operators`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.bias_force(sc.load("pendulum"), [np.pi / 2], [3.0])
    array([9.81])
    """
    p = read_problem(
        "bias_force", g, q=q, v=v,
        f_ext=f_ext, stored=True, threads=threads, passive=passive, ignore_loops=ignore_loops,
    )  # fmt: skip
    return answer(p, out)


@quick
def gravity_force(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The part of C (..., nv) that is due to gravity: the force that holds the model against it at rest. O(n).

        -H phi M [0; g] = d(potential energy)/dq

    Gravity compensation of bodies is no part of it: that is a passive force.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.gravity_force(sc.load("double_pendulum"), [np.pi / 2, 0.0])
    array([29.43,  9.81])
    """
    p = read_problem("gravity_force", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def interbody_forces(
    g: Graph,
    q: Any,
    v: Any,
    vdot: Any,
    f_ext: Any = None,
    expressed_in: Frame | str = "body",
    *,
    out: Array | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> BodyArray:
    """f(k), the force through its hinge on each body, (..., n, 6) in the order of `g.bodies`. O(n).

        f(k) = sum over children j of phi(k,j) f(j)  +  M(k) alpha(k) + b(k)                        (004 Eq. 10)

    [moment; force] that the parent (the inertial frame for a base body) exerts on body k through the hinge, all six
    components, with the moment about the origin of body k's frame. Along the hinge's dofs it is all that acts there:
    H(k) f(k), plus J(k) vdot(k) where the hinge has armature, is the generalized force and what springs, dampers and
    tendons add to it, so f does not depend on how the two share it. Gravity compensation acts on the bodies and does
    change f; `passive=False` leaves it out. `expressed_in`: "body" (each body's own axes), "inertial", or a frame; only
    the axes change.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> mb = sc.load("double_pendulum")                 # hanging at rest: the hinges carry the weights
    >>> dyn.interbody_forces(mb, [0, 0], [0, 0], [0, 0])["upper"] + 0.0
    array([ 0.  ,  0.  ,  0.  ,  0.  ,  0.  , 19.62])
    """
    axes = read_axes("interbody_forces", g, expressed_in, "body")
    p = read_problem(
        "interbody_forces", g, q=q, v=v, vdot=vdot,
        f_ext=f_ext, stored=True, threads=threads, expressed_in=axes, passive=passive, ignore_loops=ignore_loops,
    )  # fmt: skip
    return BodyArray(g, answer(p, out), "interbody forces", axes_text(axes))


@quick
def passive_force(
    g: Graph, q: Any, v: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The generalized force (..., nv) that the model itself has: springs, dampers, gravity compensation. O(n).

        -stiffness (q - rest) - damping v                 from `body.passive` of every body
        -c (stiffness (L - rest) + damping Ldot)          from `mb.tendons`, L = sum of c q
        J* [0; -compensation m g]                         from `body.gravity_compensation`
        J* f                                              from `mb.springs` and `mb.bushings` between nodes

    The other functions of dynamics add it to `force`, unless `passive=False`. q - rest is in the tangent sense: the
    rotation vector of a spherical hinge (of length at most pi: at half a turn it changes sides); of a free one the
    rotation vector, and R* (p - p_rest), the travel in outboard axes. Where the three turns, and the three travels, are
    equally stiff, the force at rest is minus the gradient of `passive_energy`. A nonholonomic hinge with stiffness is
    refused; dry friction is no part of it.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> from soacraft.model import Passive
    >>> mb = sc.load("double_pendulum")
    >>> mb["lower"].passive = Passive(stiffness=10.0, damping=0.5, rest=[0.1])
    >>> dyn.passive_force(mb, [0.1, 0.2], [1.0, 2.0])
    array([ 0., -2.])
    """
    p = read_problem("passive_force", g, q=q, v=v, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def compensating_force(
    g: Graph,
    q: Any,
    node_forces: Any,
    *,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> Array:
    """The generalized force (..., nv) that forces at nodes amount to. O(n).

        H phi B f = J* f                                                              (000 Eq. 13; 003)

    A limb that exerts the wrenches f on its surroundings at rest, and has its weight balanced otherwise, needs this
    force. `node_forces = {node: wrench}` as for `f_ext`; stored forces play no part.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.compensating_force(sc.load("pendulum"), [0.0], {"bob/tip": [0, 0, 0, 5, 0, 0]})
    array([5.])
    """
    if node_forces is None:
        raise StateError("compensating_force needs the forces at nodes, {node: wrench}; got None.")
    p = read_problem("compensating_force", g, q=q, f_ext=node_forces, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)
