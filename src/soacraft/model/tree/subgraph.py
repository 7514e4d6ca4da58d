"""`SubGraph`: connected bodies of a model as a graph of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StaleError
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import Poses
from soacraft.model.states.configuration import Configuration
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.states.current import single
from soacraft.model.states.frame_motion import FrameMotion
from soacraft.model.states.kinematics import acceleration_of_frame, expressed, pose_of_frame, velocity_of_frame
from soacraft.model.states.motion import Motion
from soacraft.model.states.state import State
from soacraft.model.states.stated import Stated
from soacraft.model.tree.drawing import Drawn
from soacraft.model.tree.frames.frame import Body, Frame, Node, Root
from soacraft.model.tree.graph import size_text
from soacraft.model.tree.lookup import Lookup
from soacraft.model.tree.names import find_keyed
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import cross
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody


class SubGraph(Lookup, Drawn, Stated, FrameMotion):
    """Connected bodies of a model, with their own q and v; made by `mb.subgraph([...])`.

    The parent of its root, the anchor, is at its pose in the model's current state: at rest, or with `anchor="moving"`
    with its velocity and acceleration. Gravity acts in the true inertial direction.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(4)
    >>> g = mb.subgraph(["link3", "link2"])
    >>> g, g.anchor.name, g.dof_names
    (SubGraph 'chain[link2, link3]': 2 bodies, 2 dofs, 'link1', ('link2', 'link3'))
    """

    def __init__(self, multibody: Multibody, bodies: Iterable[Body | str], anchor: Any = "rest") -> None:
        if anchor not in ("rest", "moving"):
            raise ModelError(f"anchor must be 'rest' or 'moving', got {anchor!r}.")
        chosen = _chosen(multibody, bodies)
        self._mb, self._moving = multibody, bool(anchor == "moving")
        wide = multibody.layout
        own = [x for x in multibody.bodies if x in chosen]
        self._layout = Layout(multibody, own, wide.tendons, wide.springs, wide.bushings)
        self._made_at = multibody.version
        names = [body.name for body in self._layout.bodies]
        shown = ", ".join(names if len(names) <= 4 else [*names[:2], "...", names[-1]])
        self._name = f"{multibody.name}[{shown}]"
        self._anchor = _anchor(multibody, self._layout)
        self._q_index = _positions(wide.q_slices, [wide.index[body] for body in self._layout.bodies])
        self._v_index = _positions(wide.v_slices, [wide.index[body] for body in self._layout.bodies])
        self._bound: tuple[State, State] | None = None
        self._closed: bool | None = None

    # -- identity --------------------------------------------------------------------------------------------

    def _require_fresh(self) -> None:
        if self._made_at != self._mb.version:
            names = ", ".join(repr(body.name) for body in self._layout.bodies)
            raise StaleError(
                f"sub-graph of {self._mb.name!r} was made before a structural change of the model; "
                f"make it again with mb.subgraph([{names}])."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_fresh()
        names = [body.name for body in self._layout.bodies]
        return SubGraph, (self._mb, names, "moving" if self._moving else "rest")

    @property
    def name(self) -> str:
        """The model's name with the bodies in brackets."""
        return self._name

    @property
    def multibody(self) -> Multibody:
        """The model it is part of."""
        return self._mb

    @property
    def root(self) -> Root:
        """The inertial frame."""
        return self._mb.root

    @property
    def anchor(self) -> Body | Root:
        """Parent of its root body."""
        return self._anchor

    @property
    def anchor_moves(self) -> bool:
        """True if the root gets the anchor's velocity and acceleration."""
        return self._moving

    @property
    def version(self) -> int:
        """The version of the model's structure."""
        return self._mb.version

    @property
    def parameters(self) -> int:
        """The version of the model's parameters."""
        return self._mb.parameters

    @property
    def counters(self) -> Counter[str]:
        """The model's counters."""
        return self._mb.counters

    @property
    def gravity(self) -> Array:
        """The model's gravity."""
        return self._mb.gravity

    @property
    def loops(self) -> Catalogue[Closure]:
        """The model's loop closures between frames of its bodies or of the inertial frame."""
        inside = {*self.layout.index, self.root}
        ends = [x for x in self._mb.loops if {x.a.carrier, x.b.carrier} <= inside]
        return Catalogue(ends, "loop")

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """The model's couplings between its own dofs."""
        own = set(self.layout.dof_names)
        return Catalogue([x for x in self._mb.couplings if set(x.terms) <= own], "coupling")

    @property
    def is_closed(self) -> bool:
        """True if a loop closure or a coupling is active; computed once."""
        self._require_fresh()
        if self._closed is None:
            self._closed = super().is_closed
        return self._closed

    @property
    def layout(self) -> Layout:
        """The constant flat form of its bodies."""
        self._require_fresh()
        layout = self._layout
        if layout.parameters != self._mb.parameters:
            with self._mb._edits.lock:
                layout = self._layout = self._layout.renewed()
        return layout

    def frame(self, frame: Any) -> Frame:
        """A frame on one of its bodies, or on the inertial frame, from itself or its name."""
        self._require_fresh()
        found = self._mb.frame(frame)
        if isinstance(found.carrier, Body) and found.carrier not in self._layout.index:
            raise ModelError(f"{found.full_name!r} is not on a body of {self._name!r}; ask the model itself.")
        return found

    def __contains__(self, frame: object) -> bool:
        carrier = find_keyed(self._mb, frame).carrier if frame in self._mb else None
        return bool(carrier is self.root or carrier in self._layout.index)

    def __repr__(self) -> str:
        return f"SubGraph {self._name!r}: {size_text(self._layout.n, self._layout.nv)}"

    def subgraph(self, bodies: Iterable[Body | str], anchor: str = "rest") -> SubGraph:
        """A smaller sub-graph of the same model."""
        self._require_fresh()
        bodies = [bodies] if isinstance(bodies, str | Body) else list(bodies)
        for body in bodies:
            self.index(body)
        return SubGraph(self._mb, bodies, anchor)

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def current(self) -> State:
        """Part of the model's current state; a new object after each change of that."""
        layout, model_state = self.layout, self._mb.current
        if self._bound is None or self._bound[0] is not model_state:
            self._bound = (model_state, self._bind(layout, model_state))
        return self._bound[1]

    def _in_own_axes(self, layout: Layout, model_state: State, wrench: Wrench) -> Wrench:
        """A wrench in the axes of a frame outside, which is as in the model's state, is turned to inertial axes."""
        axes = wrench.expressed_in
        if axes is None or not isinstance(axes.carrier, Body) or axes.carrier in layout.index:
            return wrench
        R = pose_of_frame(model_state, axes)[0]
        return Wrench(R @ wrench.moment, R @ wrench.force, expressed_in=self.root)

    def _bind(self, layout: Layout, model_state: State) -> State:
        """The part of the model's state, keeping what the last one shares with it."""
        before = self._bound
        if before is not None and before[0].configuration is model_state.configuration:
            configuration = before[1].configuration
        else:
            q = frozen(np.asarray(model_state.q)[..., self._q_index])
            configuration = Configuration(layout, q, self.counters, self._base_pose(model_state))
        if before is not None and before[0].motion is model_state.motion and not self._moving:
            motion = before[1].motion
        else:
            v = frozen(np.asarray(model_state.v)[..., self._v_index])
            motion = Motion(configuration, v, self.counters, self._base_motion(model_state))
        forces = tuple(
            (frame, self._in_own_axes(layout, model_state, wrench))
            for frame, wrench in model_state.forces
            if frame.carrier in layout.index
        )
        return State(self, motion, frozen(np.asarray(model_state.vdot)[..., self._v_index]), forces)

    def _base_pose(self, model_state: State) -> AnchorPose | None:
        """Function that gives the anchor's pose; None on the inertial frame."""
        return AnchorPose(self._seen_anchor, model_state) if isinstance(self._anchor, Body) else None

    def _base_motion(self, model_state: State) -> AnchorMotion | None:
        """Function that gives the anchor's velocity and acceleration in its body axes; None at rest."""
        moves = isinstance(self._anchor, Body) and self._moving
        return AnchorMotion(self._seen_anchor, model_state) if moves else None

    @property
    def _seen_anchor(self) -> Frame:
        """The anchor as its root body's hinge sees it."""
        rides = self._layout.bodies[self._layout.tree.children(-1)[0]]._rides
        return self._anchor if rides is None else Node(self._anchor, "anchor", Pose(), rides)

    def set_state(self, q: Any = None, v: Any = None, vdot: Any = None) -> None:
        """Change its part of the model's state, all or nothing."""
        self._require_fresh()
        model_state, own = self._mb.current, self.current
        self._mb.set_state(
            None if q is None else self._with("q", model_state.q, self._q_index, read_q(self, q, rest=own.q)),
            None if v is None else self._with("v", model_state.v, self._v_index, read_v(self, v, rest=own.v)),
            None
            if vdot is None
            else self._with("vdot", model_state.vdot, self._v_index, read_v(self, vdot, "vdot", rest=own.vdot)),
        )

    def _with(self, what: str, all_parts: Array, index: npt.NDArray[np.intp], part: Array) -> Array:
        """The numbers of the model, with those of the sub-graph new."""
        changed = np.array(all_parts)
        changed[index] = single(self._name, what, part, "g")
        return changed


@dataclass(frozen=True)
class AnchorPose:
    """Pose of an anchor in a state of its model, with the present parameters of the model at the call.

    A hinge may ride on a deforming node of the anchor: then `frame` is the body frame as if fixed on that node, so that
    the constant inboard pose holds.
    """

    frame: Frame
    model_state: State

    def __call__(self) -> Poses:
        return pose_of_frame(self.model_state, self.frame)


@dataclass(frozen=True)
class AnchorMotion:
    """Motion of an anchor in a state of its model: velocity and acceleration in its body axes."""

    frame: Frame
    model_state: State

    def __call__(self) -> tuple[Array, Array]:
        state = self.model_state
        if isinstance(self.frame, Body):
            k = state.layout.index[self.frame]
            return state.motion.V[..., k, :], state.alpha[..., k, :]
        V = expressed(state, self.frame, velocity_of_frame(state, self.frame))
        alpha = expressed(state, self.frame, acceleration_of_frame(state, self.frame))
        alpha[..., 3:] -= cross(V[..., :3], V[..., 3:])  # the rate of components, not that of the point
        return V, alpha


def _chosen(multibody: Multibody, bodies: Iterable[Body | str]) -> set[Body]:
    """The bodies asked for, once each."""
    listed = [bodies] if isinstance(bodies, str | Body) else list(bodies)
    chosen: set[Body] = set()
    for item in listed:
        body = multibody.body(item)
        if body in chosen:
            raise ModelError(f"body {body.name!r} is listed twice for a sub-graph of {multibody.name!r}.")
        chosen.add(body)
    if not chosen:
        raise ModelError(f"a sub-graph of {multibody.name!r} needs at least one body.")
    return chosen


def _anchor(multibody: Multibody, layout: Layout) -> Body | Root:
    """Parent of the root bodies; there must be one, or all are on the inertial frame."""
    roots = [layout.bodies[k] for k in layout.tree.children(-1)]
    if len(roots) == 1 or all(isinstance(body.parent, Root) for body in roots):
        return roots[0].parent
    second = next(body for body in roots[1:] if not isinstance(body.parent, Root) or body is roots[-1])
    first = roots[0]
    tree, index = multibody.topology, multibody.layout.index
    common = tree.closest_common_ancestor(index[first], index[second])
    gap = [k for end in (first, second) for k in _until(tree.ancestors(index[end]), common)]
    missing = [multibody.bodies[k].name for k in dict.fromkeys(gap) if multibody.bodies[k] not in layout.index]
    raise ModelError(
        f"the bodies are not connected: {first.name!r} and {second.name!r} are connected only through "
        f"{', '.join(map(repr, missing))}{'' if common is not None else ' and the inertial frame'}; "
        "list what is missing too, or make two sub-graphs."
    )


def _until(path: list[int], end: int | None) -> list[int]:
    return path if end is None else path[: path.index(end) + 1]


def _positions(slices: Sequence[slice], bodies: Sequence[int]) -> npt.NDArray[np.intp]:
    parts = [np.arange(slices[k].start, slices[k].stop, dtype=np.intp) for k in bodies]
    return np.concatenate([np.zeros(0, dtype=np.intp), *parts])
