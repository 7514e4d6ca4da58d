"""`Graph`: the interface of a model, or of a sub-graph of it, for operators and algorithms.

Further methods for users are in `lookup`, `drawing`, `soacraft.model.states.stated` and `frame_motion`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from soacraft.algebra.spaces.tree import Tree
from soacraft.attributes import Strict
from soacraft.errors import ModelError, UnknownAttributeError
from soacraft.hints import GRAPH, hint
from soacraft.model.flat import armature
from soacraft.model.flat.axes import check_axes, modal_node_map, node_map
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.steady import steady
from soacraft.model.states import tangent
from soacraft.model.states.coordinates import read_forces
from soacraft.model.states.kinematics import modal_block, pose_in_body, pose_of_frame
from soacraft.model.states.state import State, asked_state
from soacraft.model.tree.cures import CURES_OF_GRAPHS
from soacraft.model.tree.frames.frame import Body, Frame, Root
from soacraft.model.tree.names import find_body
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array, frozen

Moves = Callable[[Any, Any], Array]


class Graph(Strict, ABC):
    """Connected bodies, with a state: a `Multibody` or a `SubGraph`."""

    _cures: ClassVar = CURES_OF_GRAPHS

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Refuse a name that a model does not have, with our word for it."""
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # with the error of its own
            names = [x for x in dir(type(self)) if not x.startswith("_")]
            raise UnknownAttributeError(f"{self._called()} has no attribute {name!r}{hint(name, GRAPH, names)}")

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
        """Numbers of configuration, velocity and acceleration quantities that were computed."""

    @property
    @abstractmethod
    def loops(self) -> Catalogue[Closure]:
        """The loop closures, by name or number (of a sub-graph: those between its own frames)."""

    @property
    @abstractmethod
    def couplings(self) -> Catalogue[Coupling]:
        """Couplings of coordinates, by name or number (of a sub-graph: those of its dofs)."""

    @abstractmethod
    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change the current state, all or nothing."""

    @abstractmethod
    def frame(self, frame: Any) -> Frame:
        """A frame of this graph from the frame itself or its name."""

    @abstractmethod
    def subgraph(self, bodies: Any, anchor: Any = "rest") -> Graph:
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

    @property
    def tendons(self) -> Catalogue[Tendon]:
        """Fixed tendons, by name or number (of a sub-graph: those of its dofs)."""
        return Catalogue(self.layout.tendons, "tendon")

    @property
    def springs(self) -> Catalogue[Spring]:
        """The springs between nodes, by name or number (of a sub-graph: those between its bodies)."""
        return Catalogue(self.layout.springs, "spring")

    @property
    def bushings(self) -> Catalogue[Bushing]:
        """The bushings between nodes, by name or number (of a sub-graph: those between its bodies)."""
        return Catalogue(self.layout.bushings, "bushing")

    @property
    def is_closed(self) -> bool:
        """True if a loop closure or a coupling is active."""
        return any(x.active for x in self.loops) or any(x.active for x in self.couplings)

    def index(self, body: Body | str) -> int:
        """The number of a body in `bodies`, from the body, its name or the name of its hinge.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).index("link2")
        1
        """
        return self.layout.index[find_body(self, body)]

    def __len__(self) -> int:
        return self.layout.n

    # -- states and the SKO model ----------------------------------------------------------------------------

    @steady
    def state(self, q: Any = None, v: Any = None, vdot: Any = None, forces: Any = None) -> State:
        """An immutable snapshot; parts left out are those of the current state. Leading batch axes allowed.

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

    @steady
    def sko(self, state: State | None = None, axes: str = "body", f_ext: Any = None) -> SKOModel:
        """The SKO model at a state, in `body`, `inertial` or `origin` axes. O(n).

        Gravity, the state's external forces and `f_ext` (`{node: wrench}`, in addition to the state's) enter b.
        Requests for the same state and axes give the same model.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).sko(axes="inertial").A(0, 1)[:3, 3:]       # l~ for l = (1, 0, 0)
        array([[ 0.,  0.,  0.],
               [ 0.,  0., -1.],
               [ 0.,  1.,  0.]])
        """
        return asked_state(self, state).sko(check_axes(axes), read_forces(self, f_ext))

    @steady
    def body_velocities(self, state: State | None = None, axes: str = "body") -> list[Array]:
        """V(k) of every body, a moving anchor's velocity included (000 Eq. 3); [V; v] with armature. O(n).

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)                # rods of 1 m along x, pins about y
        >>> mb.v = [1.0, 0.0]
        >>> mb.body_velocities()[1]
        array([ 0.,  1.,  0.,  0.,  0., -1.])
        """
        motion = asked_state(self, state).motion
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
        s = asked_state(self, state)
        if not isinstance(found.carrier, Body):
            raise ModelError(
                f"{found.full_name!r} is on the inertial frame, which does not move; give a node on a body."
            )
        k = self.layout.index[found.carrier]
        offset = pose_in_body(s, found)
        world = offset
        if known != "body":
            R, p = s.configuration.world
            world = R[..., k, :, :], p[..., k, :]
        with np.errstate(all="ignore"):
            block = node_map(known, world, offset)
            if k in self.layout.flexible:  # [phi(k,O); Pi*], Pi in the axes of node space
                block = modal_node_map(known, block, modal_block(s, found), pose_of_frame(s, found)[0])
            block = finite_or_refused(block, f"phi(k, O) of node {found.full_name!r}")
        return k, armature.padded(frozen(block), self.layout.dims[k], 6)


def graph_of(state: State) -> Graph:
    """The model or sub-graph of a state with all its methods: `state.graph`, whose type knows less."""
    return cast(Graph, state.graph)


def size_text(n: int, nv: int) -> str:
    """Numbers of bodies and dofs, in words.

    >>> size_text(1, 6)
    '1 body, 6 dofs'
    """
    return f"{n} {'body' if n == 1 else 'bodies'}, {nv} {'dof' if nv == 1 else 'dofs'}"


def ties_text(loops: int, couplings: int) -> str:
    """Numbers of loops and couplings, in words; nothing of what there is none.

    >>> ties_text(2, 1), ties_text(1, 0), ties_text(0, 0)
    ('2 loops, 1 coupling', '1 loop', '')
    """
    counts = ((loops, "loop"), (couplings, "coupling"))
    return ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n)
