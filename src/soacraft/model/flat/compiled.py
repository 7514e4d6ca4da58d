"""The compiled form of a graph: built once per structural change, used by the named algorithms.

Every body becomes one element for each dof of a product of screws, one element for a spherical, free or rolling hinge,
and no element for a weld, whose inertia is merged into what carries it (`rigid/model/assembly.hpp` of the core). An
element's frame is on the hinge axis, z along it. Elements are numbered depth first. A flexible body has one element;
its nodes that deform, the spots, are numbered behind the elements. This file alone builds `_core.RigidModel`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.errors import SoacraftError
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.passive import rest_of
from soacraft.model.hinges import HINGES, Free, Hinge, RollingBall, Spherical, Weld
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.modal.bodies import LARGE_TURN
from soacraft.model.modal.data import ModalData, ModalNode
from soacraft.model.states.read_only import StateArray
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.springs import Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.wrench import Wrench

REVOLUTE, PRISMATIC, HELICAL, SPHERICAL, FREE, ROLLING = range(6)
WELD, PRODUCT = -1, -2
#: Velocities of each kind of element, FIXED behind those named.
_DOFS = (1, 1, 1, 3, 6, 3, 0)
OnAxis = tuple[Pose, int, float, float]
_KINDS: dict[type[Hinge], int] = {Weld: WELD, Spherical: SPHERICAL, Free: FREE, RollingBall: ROLLING}


class CompiledModel:
    """A graph for the compiled kernels: `kernels` runs them.

    Body k is fixed on the element `element_of[k]` (-1: welded to the base), at `place(k)`; its hinge became the
    elements `hinge_elements(k)`, of the kinds `kinds`, whose velocities begin at `v_starts`. What a tree is made of
    stays for a structure; `update` brings the parameters.
    """

    def __init__(self, layout: Layout) -> None:
        self.parameters = -1
        """The version of the parameters that the kernels have."""
        self.frames: dict[Any, bytes] = {}
        """Frames that quick calls were asked for, by what they were called: as `frame` gives them."""
        self.orders = layout.q_order, layout.v_order
        """The orders of the state arrays that quick calls read."""
        modal = Modal(layout)
        self.flexible = bool(layout.flexible)
        """True if it has flexible bodies: then the kernels are those of `kernel_table(flexible=True)`."""
        self.kernels = _core.rigid_model(
            **_tree(layout), **_hinges(layout), nq=layout.nq, nv=layout.nv, **modal.arguments()
        )
        self.element_of, self._first, self._last = self.kernels.elements_of_bodies()
        self.kinds, _, self.v_starts = self.kernels.elements()
        self.flexible_bodies = sorted(layout.flexible, key=lambda k: int(self.element_of[k]))
        """The numbers of its flexible bodies in the order of their elements."""
        self._spots = modal.spots(self.flexible_bodies, self.count)
        self._nv = layout.nv
        self._modes = {k: slice(layout.hinge_v[k].stop, layout.v_slices[k].stop) for k in layout.flexible}
        self.update(layout)

    def update(self, layout: Layout) -> None:
        """Bring all parameters to the kernels. O(n)."""
        armature = np.zeros(layout.nv)
        for J, where in zip(layout.armature, layout.hinge_v, strict=True):
            if J is not None:
                armature[where] = J
        n, (R_in, p_in), (R_out, p_out) = layout.n, layout.inboard, layout.outboard
        mass, com, moment = layout.inertias
        self.kernels.set_passive(**_passive(layout), in_python=passive_in_python(layout))
        self.kernels.set_gravity(layout.gravity)
        self.frames.clear()
        R_in, R_out = R_in.reshape(n, 9), R_out.reshape(n, 9)
        self.kernels.set_parameters(R_in, p_in, R_out, p_out, mass, com, moment, armature)
        self.parameters = layout.parameters

    @cached_property
    def element_of_dof(self) -> list[int]:
        """Element that each dof moves, of hinges and of modes."""
        elements = [0] * self._nv
        for e, (kind, v) in enumerate(zip(self.kinds.tolist(), self.v_starts.tolist(), strict=True)):
            elements[v : v + _DOFS[kind]] = [e] * _DOFS[kind]
        for k, modes in self._modes.items():
            elements[modes] = [int(self.element_of[k])] * (modes.stop - modes.start)
        return elements

    @property
    def count(self) -> int:
        """The number of elements."""
        return len(self.kinds)

    def hinge_elements(self, k: int) -> range:
        """The elements that the hinge of body k became."""
        return range(int(self._first[k]), int(self._last[k]))

    def place(self, k: int) -> Pose:
        """The frame of body k on its element."""
        x = self.kernels.place(k)
        return Pose.unchecked(x[:9].reshape(3, 3), x[9:])

    @classmethod
    def of(cls, layout: Layout) -> CompiledModel | None:
        """The compiled form of a layout of rigid bodies, made once for its structure; None when a hinge is not a
        built-in one, or a body is flexible.
        """
        return cls.any_of(layout) if layout.rigid else None

    @classmethod
    def any_of(cls, layout: Layout) -> CompiledModel | None:
        """The compiled form of a layout whose bodies may be flexible; None when a hinge is not a built-in one. A tree
        with flexible bodies has the kernels of `kernel_table(flexible=True)` alone.
        """
        if not layout.compiled:
            known = all(cls.knows(group.hinge) for group in layout.groups)
            known = known and all(body._modal is not None for body in layout.bodies if body._own)
            layout.compiled[:] = [cls(layout) if known else None]
        model: CompiledModel | None = layout.compiled[0]
        if model is not None and model.parameters < layout.parameters:
            model.update(layout)
        return model

    @staticmethod
    def knows(hinge: Hinge) -> bool:
        """True for a hinge that the kernels know: a built-in one, not a subclass of it, of a kind they have."""
        return type(hinge) in HINGES and (isinstance(hinge, ScrewProduct) or type(hinge) in _KINDS)

    def frame(self, layout: Layout, frame: Frame) -> Array:
        """A frame as the kernels read it: the number of its element, then rotation and translation. One that is not on
        a body has -2 for a number: it has axes, but nothing acts there. On a node that deforms it is on that spot."""
        if not isinstance(frame.carrier, Body):
            return np.array([-2, *frame.offset.rotation.ravel(), *frame.offset.translation])
        k, node = layout.index[frame.carrier], frame.modal_node
        spot = None if node is None else self._spots.get((k, id(node)))
        if node is not None and spot is not None:
            place = node.pose.inv @ frame.offset
            return np.array([spot, *place.rotation.ravel(), *place.translation])
        place = self.place(k) @ frame.offset
        return np.array([self.element_of[k], *place.rotation.ravel(), *place.translation])


def _tree(layout: Layout) -> dict[str, Any]:
    """Parent, number of the hinge's group, and first coordinate and velocity, by body."""
    hinge = np.empty(layout.n, dtype=np.int64)
    for number, group in enumerate(layout.groups):
        hinge[group.bodies] = number
    q, v = (np.array([x.start for x in some], dtype=np.int64) for some in (layout.q_slices, layout.v_slices))
    return {"parent": np.array(layout.parents, dtype=np.int64), "hinge": hinge, "q": q, "v": v}


class Modal:
    """The flexible bodies of a layout as the core reads them: modal data once each, with the nodes that deform."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._data = list({id(layout.modal(k)): layout.modal(k) for k in layout.flexible}.values())
        self._nodes: dict[int, list[ModalNode]] = {}
        for k in layout.flexible:
            own = layout.bodies[k]
            self._add(k, *layout.modal(k).nodes.values(), own._held, *(node.modal_node for node in own.nodes))
        for k, node in layout.riding.items():
            self._add(layout.parents[k], node)

    def arguments(self) -> dict[str, Any]:
        """Modal data; then by body the number of its data, of its node that the hinge holds and of the parent's node
        that the hinge is on, -1 for none; and the turn of a node beyond which calls go to Python, which warns."""
        layout = self._layout
        if layout.rigid:
            none = np.full(layout.n, -1, dtype=np.int64)
            return {"modal": [], "modal_of": none, "held": none, "rides": none, "large_turn": LARGE_TURN}
        number = {id(x): i for i, x in enumerate(self._data)}
        modal_of, held, rides = (np.full(layout.n, -1, dtype=np.int64) for _ in range(3))
        for k in layout.flexible:
            modal_of[k] = number[id(layout.modal(k))]
        for k, node in layout.held.items():
            held[k] = self._number(k, node)
        for k, node in layout.riding.items():
            rides[k] = self._number(layout.parents[k], node)
        data = [self._numbers(x) for x in self._data]
        return {"modal": data, "modal_of": modal_of, "held": held, "rides": rides, "large_turn": LARGE_TURN}

    def spots(self, bodies: list[int], count: int) -> dict[tuple[int, int], int]:
        """Number of the spot by body and node, after `count` elements."""
        found: dict[tuple[int, int], int] = {}
        for k in bodies:
            for node in self._nodes[id(self._layout.modal(k))]:
                found[k, id(node)] = count + len(found)
        return found

    def _add(self, k: int, *nodes: ModalNode | None) -> None:
        """Note the nodes of body k that deform; bodies with the same data share them."""
        known = self._nodes.setdefault(id(self._layout.modal(k)), [])
        for node in nodes:
            if node is not None and node.deforms and all(node is not x for x in known):
                known.append(node)

    def _number(self, k: int, node: ModalNode) -> int:
        if not node.deforms:
            return -1
        return [id(x) for x in self._nodes[id(self._layout.modal(k))]].index(id(node))

    def _numbers(self, x: ModalData) -> tuple[Any, ...]:
        nodes = [
            (*map(_row, (node.pose.rotation, node.pose.translation, node.lam, node.gam, node.lam2, node.gam2)),)
            for node in self._nodes[id(x)]
        ]
        arrays = (x.first, x.second, x.p, x.N, x.Q, x.M, x.K, x.D, x.S, x.T)
        return (x.mass, *map(_row, arrays), nodes)


def _row(x: Array | None) -> Array:
    return np.zeros(0) if x is None else np.ascontiguousarray(x, dtype=np.float64).ravel()


def passive_in_python(layout: Layout) -> bool:
    """True if the kernels of a layout do not know some of its passive forces: springs and bushings between nodes are
    known for rigid bodies alone.
    """
    return layout.passive_in_python or bool(layout.flexible and layout.has_links)


def _hinges(layout: Layout) -> dict[str, Any]:
    """Arrays by group of hinges: the kind, one past the last of its screws, the numbers of a rolling ball. Then by
    screw: its kind; the frame on its axis, its scale and pitch.
    """
    hinges = [group.hinge for group in layout.groups]
    kind = [PRODUCT if isinstance(x, ScrewProduct) else _KINDS[type(x)] for x in hinges]
    screws = [[_known(v.tobytes()) for v in x.vectors] if isinstance(x, ScrewProduct) else [] for x in hinges]
    ball = np.zeros((len(hinges), 10))
    for row, x in zip(ball, hinges, strict=True):
        if isinstance(x, RollingBall):
            row[:] = [x.radius, *x.normal, *x.tangents[0], *x.tangents[1]]
    return {
        "hinge_kind": np.array(kind, dtype=np.int64),
        "hinge_end": np.array([*accumulate(len(some) for some in screws)], dtype=np.int64),
        "hinge_ball": ball,
        "screw_kind": np.array([one for some in screws for one, _ in some], dtype=np.int64),
        "screw": np.array([x for some in screws for _, x in some], dtype=np.float64).reshape(-1, 14),
    }


@lru_cache(4096)
def _known(screw: bytes) -> tuple[int, list[float]]:
    """The kind and the numbers of a screw, once for each: models are made again whenever something is taken or put
    down."""
    axis, kind, scale, pitch = on_axis(np.frombuffer(screw))
    return kind, [*axis.rotation.ravel().tolist(), *axis.translation.tolist(), scale, pitch]


def on_axis(screw: Array) -> OnAxis:
    """A frame on the axis of a screw with z along it, the kind of the screw, its scale and pitch."""
    w, v = screw[:3], screw[3:]
    turn = float(np.linalg.norm(w))
    if turn == 0.0:
        travel = float(np.linalg.norm(v))
        return Pose.unchecked(_to_axis(v / travel), np.zeros(3)), PRISMATIC, travel, 0.0
    pitch = float(w @ v) / turn**2
    axis = Pose.unchecked(_to_axis(w / turn), np.cross(w, v) / turn**2)
    return axis, REVOLUTE if abs(pitch) == 0.0 else HELICAL, turn, pitch


def _to_axis(a: Array) -> Array:
    """A rotation that takes z to the unit vector a; exact for the coordinate axes."""
    i = int(np.argmin(np.abs(a)))
    x = np.zeros(3)
    x[i] = 1.0
    x = x - a * a[i]
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(a, x), a], axis=-1)


def _passive(layout: Layout) -> dict[str, Any]:
    """Springs, dampers and tendons as the core reads them (`set_passive.hpp`)."""
    strands = [(t, i, j, c) for t, x in enumerate(layout.pulls) for i, j, c in zip(x.q, x.v, x.c, strict=True)]
    laws = _Laws()
    tendons = [laws.read(x.tendon) for x in layout.pulls]
    between = _between_nodes(layout, laws) if layout.has_links and not layout.flexible else _NOTHING_BETWEEN
    return {
        "tendon_whole": _integers([x for x, _ in tendons], 2), "tendon_real": _floats([x for _, x in tendons], 4),
        "strand_whole": _integers([x[:3] for x in strands], 3), "strand_real": _floats([x[3] for x in strands], 1),
        "curve_pieces": np.array([len(x) for x in laws.curves], dtype=np.int64),
        "piece_real": _floats([row for x in laws.curves for row in x], 6),
        **_in_hinges(layout), **between,
    }  # fmt: skip


def _in_hinges(layout: Layout) -> dict[str, Any]:
    """Springs and dampers of hinges, a row for each dof; those of spherical and free ones together."""
    bodies, at_q, at_v = layout.bodies, layout.hinge_q, layout.hinge_v
    turning = [k for k in layout.sprung if type(bodies[k]._hinge) in (Spherical, Free)]
    lines = [k for k in layout.sprung if k not in turning] if turning else layout.sprung
    # of a nonholonomic hinge dampers alone: no coordinate of its counts
    rows = [bodies[k].passive.lines for k in lines]
    whole = [x + i for k in lines for i in range(bodies[k]._hinge.nv) for x in (at_q[k].start, at_v[k].start)]
    balls = []
    for k in turning:
        x, pad = bodies[k].passive, [0.0] * (0 if type(bodies[k]._hinge) is Free else 3)
        balls.append([*x.stiffness, *pad, *x.damping, *pad, *rest_of(bodies[k]), *pad])
    where = [(at_q[k].start, at_v[k].start, type(bodies[k]._hinge) is Free) for k in turning]
    return {
        "spring_whole": _integers(whole, 2),
        "spring_real": np.frombuffer(b"".join(rows)).reshape(-1, 3),
        "ball_whole": _integers(where, 3), "ball_real": _floats(balls, 19),
    }  # fmt: skip


def _between_nodes(layout: Layout, laws: _Laws) -> dict[str, Any]:
    """Springs and bushings between nodes, and these nodes on their bodies."""
    lines = [laws.read(x) for x in layout.springs]
    ends, count = layout.link_ends, len(layout.bushings)
    order = np.arange(len(ends.bodies))
    order[layout.spring_nodes :] = layout.spring_nodes + np.arange(2 * count).reshape(2, count).T.ravel()
    poses = np.concatenate([ends.R.reshape(-1, 9), ends.at], axis=1)
    bushings = [
        np.concatenate([x.stiffness.ravel(), x.damping.ravel(), x.rest.rotation.ravel(), x.rest.translation])
        for x in layout.bushings
    ]
    return {
        "line_whole": _integers([(len(s.nodes), *x) for s, (x, _) in zip(layout.springs, lines, strict=True)], 3),
        "line_real": _floats([x for _, x in lines], 4), "bushing_real": _floats(bushings, 84),
        "node_body": _integers(ends.bodies[order], 1), "node_pose": _floats(poses[order], 12),
    }  # fmt: skip


class _Laws:
    """Laws as the core reads them, and the pieces of the curves that they name by number."""

    def __init__(self) -> None:
        self.curves: list[Array] = []

    def read(self, x: Spring | Tendon) -> tuple[tuple[int, int], tuple[float, float, float, float]]:
        """The numbers of the curves of its spring and damper, -1 for none; k, d and where it is slack."""
        (spring, k), (damper, d) = self._one(x.stiffness), self._one(x.damping)
        return (spring, damper), (k, d, *x.rest)

    def _one(self, given: float | Curve) -> tuple[int, float]:
        if not isinstance(given, Curve):
            return -1, given
        self.curves.append(given.pieces)
        return len(self.curves) - 1, 0.0


def _integers(rows: Any, width: int) -> npt.NDArray[np.int64]:
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _floats(rows: Any, width: int) -> Array:
    return np.array(rows, dtype=np.float64).reshape(-1, width)


_NOTHING_BETWEEN = {
    "line_whole": _integers((), 3), "line_real": _floats((), 4), "bushing_real": _floats((), 84),
    "node_body": _integers((), 1), "node_pose": _floats((), 12),
}  # fmt: skip


def choose_instruction_set(name: str | None) -> str:
    """Use the kernels built for an instruction set (None: the best this machine has), and say which are in use.

    The environment variable SOACRAFT_KERNELS gives the name at import: "portable", "x86_64_v3" (AVX2) or "x86_64_v4"
    (AVX-512).

    >>> choose_instruction_set(None) in _core.instruction_sets()
    True
    """
    has = _core.instruction_sets()
    if name and name not in has:
        raise SoacraftError(
            f"SOACRAFT_KERNELS={name!r}: there are no kernels of that name that this machine can run; it has "
            f"{', '.join(has)}. Unset the variable for the best of them."
        )
    if name:
        _core.use_instruction_set(name)
    return _core.instruction_set()


@cache
def kernel_table(flexible: bool = False) -> dict[str, dict[str, tuple[str, ...]]]:
    """The algorithms that have a kernel, for rigid bodies or for trees with flexible ones: the axes of their inputs and
    outputs (q coordinates, v dofs, 0 zeros that they are given, n bodies, k nodes), and what else takes part.

    >>> kernel_table()["bias_force"]["inputs"]
    ('q', 'v', '0')
    """
    return _core.algorithms(flexible)


def kernel_names() -> list[str]:
    """The algorithms that have a kernel."""
    return list(kernel_table())


def fast_call(
    model: CompiledModel,
    kernel: str,
    arguments: tuple[str, ...],
    fallback: Callable[..., Any],
    forces: dict[Any, Any] | None = None,
    frames: dict[Any, bytes] | None = None,
    wrap: type | tuple[Any, ...] | None = None,
    tied: bool = False,
    ignores: bool = False,
) -> Callable[..., Any]:
    """Call of one kernel on single states and batches, with arguments of these names; inputs that it is not sure of go
    to `fallback`. `forces` act in addition to those of the call. `frames` gives nodes as the kernels read them. `tied`:
    loops tie the model that the kernel does not know; it then answers only calls that ignore them, by
    `ignore_loops=True` or, where the call does not say, by `ignores`.
    """
    forces, frames = {} if forces is None else forces, {} if frames is None else frames
    call = _core.call(model.kernels, kernel, arguments, forces, fallback, frames, wrap, tied, ignores)
    _core.set_orders(call, model.orders)
    return call


_core.set_state_array(StateArray)
_core.set_wrench_type(Wrench)
choose_instruction_set(os.environ.get("SOACRAFT_KERNELS"))
