"""`Graph`: what a model and a sub-graph of it have in common, everything operators and algorithms ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from soacraft.algebra.tree import Branch, Tree
from soacraft.arguments import Seed, read_seed
from soacraft.attributes import Strict
from soacraft.errors import ModelError, StateError
from soacraft.markup import Text
from soacraft.model.flat import armature
from soacraft.model.flat.axes import check_axes, node_map
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.steady import steady
from soacraft.model.hinges.base import qdot_of
from soacraft.model.states import kinematics, sampling, tangent
from soacraft.model.states.coordinates import common_batch, read_forces, read_q, read_v
from soacraft.model.states.state import State
from soacraft.model.tree import drawing, names
from soacraft.model.tree.catalogue import Catalogue
from soacraft.model.tree.closures import Closure, Coupling
from soacraft.model.tree.frame import Body, Frame, Node, Root
from soacraft.model.tree.tendons import Tendon
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.measured import Measured, RelativePose
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.tree.subgraph import SubGraph

Moves = Callable[[Any, Any], Array]
Varies = Callable[[Any, Any], tuple[Array, Array]]


class Graph(Strict, ABC):
    """Bodies that hang together, with a state: a `Multibody` or a `SubGraph`."""

    _cures: ClassVar = {  # how to do what is wished for by another name
        "a": "accelerations are mb.vdot",
        "actuators": "add one with mb.add_actuator(...)",
        "bodies": "add one with mb.add_body(...), take one out with mb.remove(...)",
        "couplings": "add one with mb.couple(...), take one away with mb.remove_coupling(...)",
        "current": "set the state with mb.set_state(q, v)",
        "f_ext": "let a force act with mb.set_force(node, wrench)",
        "forces": "let a force act with mb.set_force(node, wrench)",
        "g": "the acceleration of gravity is mb.gravity, such as (0, 0, -9.81)",
        "joints": "add a body with its hinge with mb.add_body(...)",
        "keyframes": "add one with mb.add_keyframe(...)",
        "limits": "each body has its own: body.limits = sc.Limits(lower=..., upper=...)",
        "links": "add a body with mb.add_body(...)",
        "loops": "add one with mb.close_loop(...), take one away with mb.remove_loop(...)",
        "materials": "add one with mb.add_material(...)",
        "name": "a copy may have another: mb.copy(name)",
        "passive": "each body has its own: body.passive = sc.Passive(damping=...)",
        "positions": "coordinates are mb.q",
        "qddot": "accelerations are mb.vdot",
        "qdot": "velocities are mb.v",
        "records": "add one with mb.add_record(...)",
        "state": "set the state with mb.set_state(q, v)",
        "velocities": "velocities are mb.v",
        "x": "the state is mb.q and mb.v",
    }

    def _called(self) -> str:
        return f"{type(self).__name__} {self.name!r}"

    # -- what each kind provides -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def name(self) -> str:
        """The name used in messages."""

    @property
    @abstractmethod
    def root(self) -> Root:
        """The inertial frame."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The constant flat form of the graph."""

    @property
    @abstractmethod
    def current(self) -> State:
        """The current state; a new object after each change."""

    @property
    @abstractmethod
    def version(self) -> int:
        """The version of the structure: handles, states and expressions are stale when it grows."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """The version of the parameters: handles, states and expressions stay valid when it grows."""

    @property
    @abstractmethod
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3), read-only."""

    @property
    @abstractmethod
    def counters(self) -> Counter[str]:
        """How many configuration, velocity and acceleration quantities were computed."""

    @abstractmethod
    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change the current state, all or nothing."""

    @abstractmethod
    def frame(self, frame: Any) -> Frame:
        """A frame of this graph from the frame itself or its name."""

    @abstractmethod
    def subgraph(self, bodies: Any, anchor: Any = "rest") -> SubGraph:
        """Connected bodies as a graph of their own."""

    # -- bodies and dofs -------------------------------------------------------------------------------------

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, parents first, otherwise in insertion order."""
        return self.layout.bodies

    @property
    def topology(self) -> Tree:
        """The tree of the bodies, numbered as in `bodies`.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).topology.parents
        (-1, 0, 1)
        """
        return self.layout.tree

    @property
    @abstractmethod
    def loops(self) -> Catalogue[Closure]:
        """The loop closures, by name or number (of a sub-graph: those between its own frames)."""

    @property
    @abstractmethod
    def couplings(self) -> Catalogue[Coupling]:
        """The couplings of coordinates, by name or number (of a sub-graph: those of its own dofs)."""

    @property
    def tendons(self) -> Catalogue[Tendon]:
        """The fixed tendons, by name or number (of a sub-graph: those of its own dofs)."""
        return Catalogue(self.layout.tendons, "tendon")

    @property
    def is_closed(self) -> bool:
        """Whether a loop closure or a coupling is active."""
        return any(x.active for x in self.loops) or any(x.active for x in self.couplings)

    def tree(self) -> Text:
        """The topology as text: bodies under what they hang from, with their hinges; then loops and couplings.

        What hangs deeper than 24 bodies is continued in a part of its own, so that the text grows with n.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).tree()
        chain: 2 bodies, 2 dofs
        inertial
        └─ link1  Pin(axis=(0, 1, 0))
           └─ link2  Pin(axis=(0, 1, 0))  [tip]
        """
        return drawing.tree(self)

    def _repr_html_(self) -> str:
        return drawing.html(self)

    def to_mermaid(self) -> Text:
        """The topology as a Mermaid flowchart; closures are dotted.

        >>> from soacraft.model import serial_chain
        >>> print(serial_chain(1).to_mermaid())
        flowchart TD
            n0["inertial"]
            n1["link1"]
            n0 -->|"link1: Pin"| n1
        """
        return drawing.mermaid(self)

    def to_dot(self) -> Text:
        """The topology in Graphviz's language; closures are dashed.

        >>> from soacraft.model import serial_chain
        >>> print(serial_chain(1).to_dot())
        digraph "chain" {
            n0 [label="inertial", shape=box];
            n1 [label="link1"];
            n0 -> n1 [label="link1: Pin"];
        }
        """
        return drawing.dot(self)

    def branches(self) -> tuple[Branch, ...]:
        """The tree of serial segments, base segments first (004 section 7).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).branches()
        (Branch 0 on the root: link1 -> link2 -> link3,)
        """
        return self.layout.tree.branches

    @property
    def nq(self) -> int:
        """The number of coordinates."""
        return self.layout.nq

    @property
    def nv(self) -> int:
        """The number of velocities (degrees of freedom)."""
        return self.layout.nv

    @property
    def dof_names(self) -> tuple[str, ...]:
        """The hinge's name for one dof, `name.0`, `name.1`, ... for several."""
        return self.layout.dof_names

    def __getitem__(self, name: str) -> Body:
        """`mb["upper"]` is a body, `mb["elbow"]` the body of that hinge.

        `mb["upper/tool"]` is a node, and `mb["inertial"]` the inertial frame; type checkers, which cannot read names,
        see them as such by `mb.node("upper/tool")` and `mb.root`.
        """
        return cast(Body, names.find_keyed(self, name))

    def _ipython_key_completions_(self) -> list[str]:
        return names.key_names(self)

    def body(self, body: Body | str) -> Body:
        """A body from itself, its name or the name of its hinge.

        >>> import soacraft as sc
        >>> sc.load("panda").body("joint4").name
        'link4'
        """
        return names.find_body(self, body)

    def node(self, node: Node | str) -> Node:
        """A node from itself or its name `body/node`.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).node("link2/tip").pose
        Pose(translation=(1, 0, 0))
        """
        found = self.frame(node)
        if not isinstance(found, Node):
            raise ModelError(f"{found.full_name!r} is {_a(found)} of {self.name!r}, not a node; give 'body/node'.")
        return found

    def index(self, body: Body | str) -> int:
        """The number of a body in `bodies`, from the body, its name or the name of its hinge.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).index("link2")
        1
        """
        return self.layout.index[names.find_body(self, body)]

    def q_slice(self, of: Body | str) -> slice:
        """Where the coordinates of a hinge are in q: of a hinge, its body, or a dof that is one coordinate.

        >>> import soacraft as sc
        >>> sc.load("panda").q_slice("joint4"), sc.load("anymal_b").q_slice("base")
        (slice(3, 4, None), slice(0, 7, None))
        """
        return names.q_place(self, of)

    def v_slice(self, of: Body | str) -> slice:
        """Where the velocities of a hinge are in v: of a hinge, its body, or a dof.

        >>> import soacraft as sc
        >>> sc.load("anymal_b").v_slice("base"), sc.load("anymal_b").v_slice("base.5")
        (slice(0, 6, None), slice(5, 6, None))
        """
        return names.v_place(self, of)

    def __len__(self) -> int:
        return self.layout.n

    def __iter__(self) -> Iterator[Body]:
        return iter(self.bodies)

    # -- states ----------------------------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """The current coordinates, read-only; setting them changes the state (of a sub-graph: its part)."""
        return self.current.q

    @q.setter
    def q(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(q=self._given("q", value))

    @property
    def v(self) -> Array:
        """The current velocities, read-only; setting them changes the state (of a sub-graph: its part)."""
        return self.current.v

    @v.setter
    def v(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(v=self._given("v", value))

    @property
    def vdot(self) -> Array:
        """The current accelerations (zero unless set), read-only; setting them changes the state."""
        return self.current.vdot

    @vdot.setter
    def vdot(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(vdot=self._given("vdot", value))

    def _given(self, what: str, value: Any) -> Any:
        """What is to be set; None, which elsewhere stands for what there is, would set nothing."""
        if value is None:
            rest = "mb.neutral()" if what == "q" else "np.zeros(mb.nv)"
            raise StateError(f"{what} of {self.name!r} cannot be None; give its numbers, such as {rest}.")
        return value

    def q_of(self, of: Body | str) -> Array:
        """The current coordinates of a hinge, given by its name or its body.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_state({"link2": 0.3})
        >>> mb.q_of("link2")
        array([0.3])
        """
        return self.current.q_of(of)

    def v_of(self, of: Body | str) -> Array:
        """The current velocities of a hinge, given by its name or its body, or of one dof."""
        return self.current.v_of(of)

    @steady
    def state(self, q: Any = None, v: Any = None, vdot: Any = None, forces: Any = None) -> State:
        """An immutable snapshot; what is not given is that of the current state. Leading batch axes allowed.

        `q`, `v` and `vdot` may be given by names of hinges, bodies or dofs; what is not named is as it is now.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.state() is mb.current, mb.state(q=[0.1, 0.2]).q, mb.state({"link2": 0.3}).q
        (True, array([0.1, 0.2]), array([0. , 0.3]))
        """
        current = self.current
        if q is None and v is None and vdot is None and forces is None:
            return current
        return current.replace(q, v, vdot, forces)

    @steady
    def neutral(self) -> Array:
        """The coordinates at which every hinge is neutral.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> serial_chain(1, Spherical()).neutral()
        array([0., 0., 0., 1.])
        """
        parts = [np.asarray(body.hinge.neutral(), dtype=np.float64) for body in self.layout.bodies]
        return np.concatenate([np.zeros(0), *parts])

    def random_state(self, seed: Seed = 0, limits: bool = False) -> tuple[Array, Array]:
        """A random (q, v); the model's own state is left alone.

        Uniform rotations, angles within a turn, travels of about a metre, normally distributed velocities. With
        `limits` within the limits of coordinates and velocities, and on the active couplings. Loop closures stay open
        in either case: `sc.loops` closes them with `s.assemble(q, limits=True)` and `s.project_velocity(q, v)`.

        >>> import soacraft as sc
        >>> mb = sc.load("robotiq_2f85")                              # whose fingers are coupled
        >>> mb.set_state(*mb.random_state(seed=0, limits=True))
        >>> bool(abs(mb.q_of("left_driver_joint") - mb.q_of("right_driver_joint"))[0] < 1e-12)
        True
        """
        rng = read_seed(seed, f"the seed of random_state of {self.name!r}")
        if not isinstance(limits, bool | np.bool_):
            raise StateError(f"limits of random_state must be True or False, got {limits!r:.60}.")
        return sampling.draw_within(self, rng) if limits else sampling.draw(self, rng)

    def integrate(self, q: Any, dv: Any) -> Array:
        """Move from q by the tangent vector dv (nv): exact for constant hinge velocities over unit time.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).integrate([0.1, 0.2], [1.0, 0.0])
        array([1.1, 0.2])
        """
        call: Moves = self.layout.calls.get("integrate") or tangent.quick(self, tangent.integrate, "q", "dv")
        return call(q, dv)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The tangent vector dv (nv) with `integrate(q0, dv) = q1`.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).difference([0.5, 0.0], [2.0, 0.0])
        array([1.5, 0. ])
        """
        call: Moves = self.layout.calls.get("difference") or tangent.quick(self, tangent.difference, "q0", "q1")
        return call(q0, q1)

    def integrate_jacobians(self, q: Any, dv: Any) -> tuple[Array, Array]:
        """How `integrate` varies: its derivatives along q and in dv, (nv, nv) each, in tangent spaces. O(nv^2).

            integrate(integrate(q, d), dv) = integrate(integrate(q, dv), first d + ...)
            integrate(q, dv + d)           = integrate(integrate(q, dv), second d + ...)

        The identity for true coordinates; Ad^-1 and the right Jacobian of a spherical or free hinge. A rolling ball is
        refused: its dofs do not span its places.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).integrate_jacobians([0.1, 0.2], [1.0, 0.0])[0]
        array([[1., 0.],
               [0., 1.]])
        """
        name, work = "integrate_jacobians", tangent.integrate_jacobians
        call: Varies = self.layout.calls.get(name) or tangent.quick(self, work, "q", "dv")
        return call(q, dv)

    def difference_jacobians(self, q0: Any, q1: Any) -> tuple[Array, Array]:
        """How `difference` varies: its derivatives along q0 and along q1, (nv, nv) each, in tangent spaces. O(nv^2).

            difference(integrate(q0, d), q1) = difference(q0, q1) + first d + ...
            difference(q0, integrate(q1, d)) = difference(q0, q1) + second d + ...

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).difference_jacobians([0.5, 0.0], [2.0, 0.0])[0] + 0.0
        array([[-1.,  0.],
               [ 0., -1.]])
        """
        name, work = "difference_jacobians", tangent.difference_jacobians
        call: Varies = self.layout.calls.get(name) or tangent.quick(self, work, "q0", "q1")
        return call(q0, q1)

    @steady
    def qdot(self, q: Any = None, v: Any = None) -> Array:
        """The rates of the coordinates at velocity v; they differ from v where a hinge has a quaternion.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> serial_chain(1, Spherical()).qdot(v=[0.0, 0.0, 2.0])
        array([0., 0., 1., 0.])
        """
        q = self.current.q if q is None else read_q(self, q)
        v = self.current.v if v is None else read_v(self, v)
        batch = common_batch(q=q, v=v)
        q, v = np.broadcast_to(q, (*batch, self.nq)), np.broadcast_to(v, (*batch, self.nv))
        rates = np.empty((*batch, self.nq))
        with np.errstate(all="ignore"):
            for group in self.layout.groups:
                rates[..., group.q_index] = qdot_of(group.hinge, q[..., group.q_index], v[..., group.v_index])
        return finite_or_refused(rates, f"qdot(q, v) of {self.name!r}")

    def _state(self, state: State | None) -> State:
        """The state asked for, fresh and of this graph."""
        if state is None:
            return self.current
        if not isinstance(state, State):
            raise StateError(f"a state is made by mb.state(q, v); got {state!r}.")
        if state.graph is not self:
            raise StateError(f"the state belongs to {state.graph.name!r}, not to {self.name!r}.")
        state.require_fresh()
        return state

    # -- the SKO model and its companions --------------------------------------------------------------------

    @steady
    def sko(self, state: State | None = None, axes: str = "body", f_ext: Any = None) -> SKOModel:
        """The SKO model at a state, in `body`, `inertial` or `origin` axes. O(n).

        Gravity, the state's external forces and `f_ext` (`{node: wrench}`, besides the state's own) enter b.
        Requests for the same state and axes give the same model.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).sko(axes="inertial").A(0, 1)[:3, 3:]       # l~ for l = (1, 0, 0)
        array([[ 0.,  0.,  0.],
               [ 0.,  0., -1.],
               [ 0.,  1.,  0.]])
        """
        return self._state(state).sko(check_axes(axes), read_forces(self, f_ext))

    @steady
    def body_velocities(self, state: State | None = None, axes: str = "body") -> list[Array]:
        """V(k) of every body, a moving anchor's velocity included (000 Eq. 3); [V; v] with armature. O(n).

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)                # rods of 1 m along x, pins about y
        >>> mb.v = [1.0, 0.0]
        >>> mb.body_velocities()[1]
        array([ 0.,  1.,  0.,  0.,  0., -1.])
        """
        motion = self._state(state).motion
        return armature.vectors(self.layout, motion.velocities(check_axes(axes)), motion.v)

    @steady
    def node_block(self, node: Frame | str, state: State | None = None, axes: str = "body") -> tuple[int, Array]:
        """The number of the body a node is on, and phi(k, O) from forces at the node to forces on the body.

        Node space has the node's axes in body axes, otherwise the inertial axes (000 Eq. 11-13). O(1).

        >>> from soacraft.model import serial_chain
        >>> k, block = serial_chain(2).node_block("link2/tip")
        >>> k, block[:3, 3:] @ [0.0, 0.0, 5.0]                         # the moment of a force at x = 1 m
        (1, array([ 0., -5.,  0.]))
        """
        found, known = self.frame(node), check_axes(axes)
        s = self._state(state)
        if not isinstance(found.carrier, Body):
            raise ModelError(
                f"{found.full_name!r} is on the inertial frame, which does not move; give a node on a body."
            )
        k = self.layout.index[found.carrier]
        offset = found.offset.rotation, found.offset.translation
        world = offset
        if known != "body":
            R, p = s.configuration.world
            world = R[..., k, :, :], p[..., k, :]
        with np.errstate(all="ignore"):
            block = finite_or_refused(node_map(known, world, offset), f"phi(k, O) of node {found.full_name!r}")
        return k, armature.padded(frozen(block), self.layout.dims[k], 6)

    # -- motion of frames ------------------------------------------------------------------------------------

    @steady
    def pose(self, of: Frame | str, relative_to: Frame | str | None = None, state: State | None = None) -> RelativePose:
        """The pose of a frame seen from another (default: the inertial frame).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).pose("link3/tip", relative_to="link2")
        pose of 'link3/tip' relative to 'link2': Pose(translation=(2, 0, 0))
        """
        frame, to, s = self.frame(of), self._or_root(relative_to), self._state(state)
        with np.errstate(all="ignore"):
            R, p = kinematics.relative_pose(s, frame, to)
        finite_or_refused(p, f"the position of {frame.full_name!r} relative to {to.full_name!r}")
        R, p = np.broadcast_to(R, (*s.batch, 3, 3)), np.broadcast_to(p, (*s.batch, 3))
        return RelativePose(Pose.unchecked(R, p), of=frame.full_name, relative_to=to.full_name)

    @steady
    def velocity(
        self,
        of: Frame | str,
        relative_to: Frame | str | None = None,
        expressed_in: Frame | str | None = None,
        state: State | None = None,
    ) -> Measured:
        """[angular; linear] velocity of a frame as seen from another, expressed in the axes of a third.

        Defaults: seen from the inertial frame, in the axes of `relative_to`. With r from `relative_to` to the frame:
        `w - w_to`, `v - v_to - w_to x r`.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(1)
        >>> mb.v = [2.0]
        >>> mb.velocity("link1/tip")
        velocity of 'link1/tip' relative to 'inertial', expressed in 'inertial': angular (0, 2, 0), linear (0, 0, -2)
        """
        return self._measured("velocity", of, relative_to, expressed_in, state)

    @steady
    def acceleration(
        self,
        of: Frame | str,
        relative_to: Frame | str | None = None,
        expressed_in: Frame | str | None = None,
        state: State | None = None,
    ) -> Measured:
        """[d omega/dt; d^2 p/dt^2] of a frame, differentiated in `relative_to`, in the axes of a third.

        It takes the state's vdot. Defaults: seen from the inertial frame, in the axes of `relative_to`.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(1)
        >>> mb.v = [2.0]
        >>> mb.acceleration("link1/tip").linear                        # towards the hinge
        array([-4.,  0.,  0.])
        """
        return self._measured("acceleration", of, relative_to, expressed_in, state)

    def _measured(self, kind: str, of: Any, relative_to: Any, expressed_in: Any, state: State | None) -> Measured:
        frame, to, s = self.frame(of), self._or_root(relative_to), self._state(state)
        axes = to if expressed_in is None else self.frame(expressed_in)
        relative = kinematics.relative_velocity if kind == "velocity" else kinematics.relative_acceleration
        with np.errstate(all="ignore"):
            vector = np.broadcast_to(kinematics.expressed(s, axes, relative(s, frame, to)), (*s.batch, 6))
        finite_or_refused(vector, f"the {kind} of {frame.full_name!r} relative to {to.full_name!r}")
        names = {"of": frame.full_name, "relative_to": to.full_name, "expressed_in": axes.full_name}
        return Measured(vector, kind, **names)

    def _or_root(self, frame: Frame | str | None) -> Frame:
        return self.root if frame is None else self.frame(frame)


def _a(frame: Frame) -> str:
    return "the inertial frame" if isinstance(frame, Root) else f"a {frame.kind}"


def size_text(n: int, nv: int) -> str:
    """Numbers of bodies and dofs, in words.

    >>> size_text(1, 6)
    '1 body, 6 dofs'
    """
    return f"{n} {'body' if n == 1 else 'bodies'}, {nv} {'dof' if nv == 1 else 'dofs'}"
