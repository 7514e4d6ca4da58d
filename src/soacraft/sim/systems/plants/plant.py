"""`Plant`: a model as a part of a system. Its outputs are motions, its inputs forces, which add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.attributes import Strict
from soacraft.errors import ModelError, WiringError, near
from soacraft.loops import Solver
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.sim.choice import check_name
from soacraft.sim.components.declarations import Signal
from soacraft.sim.forces.loads import Load
from soacraft.sim.forces.prescribed import find_dof
from soacraft.sim.identity import of_load
from soacraft.sim.runs.labels import labels_of
from soacraft.sim.systems.changes import edits
from soacraft.sim.systems.changes.edits import away
from soacraft.sim.systems.frames import OF_FRAME, of_frame
from soacraft.sim.systems.plants.inertias import OF_INERTIA, require_inertia
from soacraft.sim.systems.plants.joined import Seat
from soacraft.sim.systems.plants.reactions import REACTIONS, closure_of, touch_of
from soacraft.sim.systems.running.calls import OF_NODE
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.systems.builder import Builder
    from soacraft.sim.systems.changes.change import Change

_UNITS = {"rad": ("rad", "rad/s", "rad/s^2", "N m"), "m": ("m", "m/s", "m/s^2", "N"), "": (None,) * 4}
_OF_DOF = {"position": "q", "velocity": "v", "acceleration": "vdot"}
#: Quantities of all dofs of a plant, for a component that is mounted on it: three inputs and an output.
WHOLE = ("q", "v", "vdot", "generalized_force")
_ON_NODE: dict[str, tuple[tuple[int, ...], str | None]] = {
    "force": ((3,), "N"),
    "moment": ((3,), "N m"),
    "wrench": ((6,), None),
}


class Mount(NamedTuple):
    """Mount of a component: a dof or a node of a plant."""

    plant: Plant
    kind: str
    name: str

    def source(self, of: str) -> str:
        """The port of the plant that fills an input."""
        if of in ("q", "v", "vdot"):
            return f"{self.plant.path}.{of}"
        if self.kind == "dof":
            if of not in _OF_DOF:
                raise WiringError(f"of={of!r:.40} is nothing that a dof has{near(of, [*_OF_DOF, *WHOLE[:3]])}")
            return f"{self.plant.path}.{_OF_DOF[of]}[{self.name}]"
        quantities = [*OF_FRAME, *OF_INERTIA, *WHOLE[:3]]
        if of not in quantities:
            raise WiringError(f"of={of!r:.40} is nothing that a node has{near(of, quantities)}")
        return f"{self.plant.path}.{of}[{self.name}]"

    def target(self, to: str) -> str:
        """The port of the plant that an output pushes."""
        if to == "generalized_force":
            return f"{self.plant.path}.force"
        targets = (*(("force", "motion") if self.kind == "dof" else _ON_NODE), "generalized_force")
        if to not in targets:
            raise WiringError(f"to={to!r:.40} is nothing that a {self.kind} takes{near(to, targets)}")
        return f"{self.plant.path}.{'' if self.kind == 'dof' else 'node_'}{to}[{self.name}]"

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r} of {self.plant.path!r}"


class Kinematics(NamedTuple):
    """Nodes at once, a row for each, in inertial axes."""

    names: tuple[str, ...]
    position: Array
    """(n, 3)"""
    rotation: Array
    """(n, 3, 3)"""
    linear_velocity: Array
    """(n, 3)"""
    angular_velocity: Array
    """(n, 3)"""
    linear_acceleration: Array
    """(n, 3)"""
    angular_acceleration: Array
    """(n, 3)"""


class Push(NamedTuple):
    """An input of a plant: what it takes, and how that becomes a generalized force of the model that is moved: of one
    dof (`number`), of all of the plant (`number` None, no `spread`), or by a function of q and the value."""

    signal: Signal
    number: int | None
    spread: Callable[[Array, Any], Array] | None
    node: tuple[Frame, str, bool] | None = None
    """Push at a node: its frame in that model, "force", "moment" or "wrench", and whether that is in its own axes."""


class Plant(Strict):
    """A model in a system. Solver as in `sc.sim.Propagator`; `forces` are force elements that act in addition to the
    components.

    Outputs: `q`, `v`, `vdot`, also of one dof as `q[elbow]`; of a node, in inertial axes, `position[hand]`,
    `rotation[hand]`, `velocity[hand]`, `angular_velocity[hand]`, `linear_acceleration[hand]` and
    `angular_acceleration[hand]`; accelerations depend on all forces. So do those of closures, `closure_force[loop]`;
    `contact_force[foot]` and `touching[foot]` are of the last step with a `sim.Contact` (see
    `soacraft.sim.systems.plants.reactions`). Of the body that carries a node, in axes of the node: `mass[hand]`,
    `center_of_mass[hand]` and `moment[hand]` about it. Inputs, which add up: `force` (nv) and
    `force[elbow]`; of a node `node_force[hand]`, `node_moment[hand]` and `node_wrench[hand]` ([moment; force]).
    `motion[elbow]` takes three numbers, coordinate, rate and acceleration: the dof moves so, by whatever force it takes
    (`run.forces["prescribed"]`). `mass[tank]` takes the mass of a body, read at every stage of a step; the energy that
    it brings or takes is `run.work["mass"]`.

    >>> import soacraft as sc
    >>> s = sc.sim.System("swing", integrator="rk4", step=1e-2)
    >>> bob = s.add("bob", sc.sim.Plant(sc.load("pendulum")))
    >>> bob.q, bob.dof("bob").source("velocity")
    ('bob.q', 'bob.v[bob]')
    """

    def __init__(self, mb: Multibody, solver: str | Solver = "auto", forces: Sequence[Load] = ()) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Plant takes a Multibody, got {mb!r:.80}.")
        if isinstance(solver, str):
            check_name(solver)
        self._mb, self._solver, self._forces, self._path = mb, solver, tuple(forces), ""
        for x in self._forces:
            of_load(x)  # before it acts
        self._source = "", ""
        self._seat: Seat | None = None
        self._owner: Any = None

    def join(self, system: Builder, path: str) -> None:
        """Be a plant of a system, under a name. `System.add` calls this."""
        self._path, self._owner = path, system

    def leave(self) -> None:
        """Be in no system, after one refused it."""
        self._path, self._owner, self._seat = "", None, None

    @property
    def owner(self) -> Any:
        """The system, if it is in one."""
        return self._owner

    @property
    def source(self) -> tuple[str, str]:
        """Place where a system file had its model from: "model" and a name, "file" and a path."""
        return self._source

    @property
    def is_joined(self) -> bool:
        """True if it is in a system."""
        return bool(self._path)

    def with_model(self, mb: Multibody) -> Plant:
        """A copy of the plant with another model, to try a change on."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _mb=mb, _seat=None)
        return other

    @property
    def mb(self) -> Multibody:
        """The model."""
        return self._mb

    @property
    def solver(self) -> str | Solver:
        """Solver, as in the argument."""
        return self._solver

    @property
    def forces(self) -> tuple[Load, ...]:
        """Force elements that act in addition to the components."""
        return self._forces

    @property
    def path(self) -> str:
        """Name of the plant in the system."""
        if not self._path:
            raise WiringError("this Plant is in no system yet: s.add('arm', plant).")
        return self._path

    @property
    def q(self) -> str:
        """The port of the coordinates."""
        return f"{self.path}.q"

    @property
    def v(self) -> str:
        """The port of the velocities."""
        return f"{self.path}.v"

    @property
    def vdot(self) -> str:
        """The port of the accelerations: they depend on all forces at once."""
        return f"{self.path}.vdot"

    def dof(self, name: str) -> Mount:
        """A dof to mount a component at."""
        return Mount(self, "dof", str(name))

    def node(self, name: Any) -> Mount:
        """A node or a body to mount a component at."""
        return Mount(self, "node", str(getattr(name, "full_name", name)))

    @property
    def seat(self) -> Seat:
        """Place of the plant in the model that is moved, which has all plants of the system."""
        return self._seat or Seat(self.mb, "", slice(0, self.mb.nq), slice(0, self.mb.nv))

    def frame(self, name: Any) -> Frame:
        """A frame of the model, there where it is moved; `sim` asks."""
        return self.seat.frame(self._frame("frame", str(getattr(name, "full_name", name))))

    def kinematics(self, kind: str | None = None) -> Kinematics:
        """Pose, velocity and acceleration of all nodes whose role is `kind`, such as "sensor" or "actuator" (None: of
        all nodes), as they are now, in inertial axes. O(bodies + nodes). Roles are given by
        `body.add_node(name, pose, role="sensor")` or by the model's file.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb["bob/tip"].role = "sensor"
        >>> mb.set_state([0.0], [2.0])
        >>> s = sc.sim.System("swing")
        >>> seen = s.add("bob", sc.sim.Plant(mb)).kinematics("sensor")
        >>> seen.names, seen.position.round(9) + 0.0, seen.linear_velocity.round(9) + 0.0
        (('bob/tip',), array([[ 0.,  0., -1.]]), array([[2., 0., 0.]]))
        """
        nodes = [x for carrier in (self.mb.root, *self.mb.bodies) for x in carrier.nodes]
        roles = sorted({x.role for x in nodes} - {""})
        if kind is not None and kind not in roles:
            raise WiringError(f"no node of {self.mb.name!r} has the role {kind!r:.60}{near(str(kind), roles)}")
        chosen = sorted((x for x in nodes if kind is None or x.role == kind), key=lambda x: x.full_name)
        assert self.path and self._owner is not None
        state = self._owner.state_now()
        mb, frames = self.seat.mb, [self.seat.frame(x) for x in chosen]
        rows = [
            np.array([of_frame(mb, port, x)(state) for x in frames]).reshape(-1, *shape)
            for port, (shape, _) in OF_FRAME.items()
        ]
        return Kinematics(tuple(x.full_name for x in chosen), *rows)

    # -- structure -----------------------------------------------------------------------------------------------

    def detach(self, body: str, mounted: str | None = None) -> Change:
        """Let a body, with all bodies outboard of it, part from what holds it and float on: every velocity, and so the
        momentum, is kept.

        `mounted` says what becomes of components on it: "follow" (go with it), "stop" (hold outputs, push nothing, and
        hold what was measured there), or "remove"; without it they are an error that lists them. Between runs, or by a
        `Sequence`.
        """
        return self._change("detach", body, partial(edits.detach, name=body), away(body), mounted)

    def attach(
        self,
        body: str,
        parent: str,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        mounted: str | None = None,
    ) -> Change:
        """Hang a body on another one as both move now, by a hinge (default: welded). A relative motion that the hinge
        does not allow is an impact, and refused: `capture` takes it. Without `inboard` the hinge is neutral there."""
        edit = partial(edits.attach, name=body, parent=parent, hinge=hinge, inboard=inboard, outboard=outboard)
        return self._change("attach", body, edit, away(body, hinge_only=True), mounted)

    def capture(
        self,
        body: str,
        parent: str,
        hinge: Hinge | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        mounted: str | None = None,
    ) -> Change:
        """Join a body to another one by a plastic impact (`sc.contact.plastic_impact`): what the hinge (default: a
        weld) does not allow of their relative motion ends, the momentum is kept; impulse and energy lost are told. One
        that floats becomes a child of `parent`; one that something holds, as a second hand does, is joined by a loop,
        "capture of body by parent", which `release` opens. The same hand twice is refused.

        >>> import soacraft as sc
        >>> mb = sc.Multibody("hands", gravity=(0, 0, 0))
        >>> for name in ("left", "right"):
        ...     _ = mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        >>> _ = mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3)))
        >>> mb.set_state(v=[3.0, 0, 0, 0, 0, 0, 0, 0])
        >>> s = sc.sim.System("lift", integrator="rk4", step=1e-2)
        >>> world = s.add("world", sc.sim.Plant(mb))
        >>> round(world.capture("box", "left").energy_lost, 9)                   # 3 kg go on at 1 m/s
        3.0
        >>> done = world.capture("box", "right")
        >>> mb.v.round(9), done.impulse[3:].round(9) + 0.0, [x.name for x in mb.loops]
        (array([0.75, 0.75]), array([-0.75,  0.  ,  0.  ]), ['capture of box by right'])
        >>> _ = world.release("box", "left")
        >>> mb.loops, mb["box"].parent
        ((), body 'right' on 'inertial' by Prismatic(axis=(1, 0, 0)))
        """
        edit = partial(edits.capture, name=body, parent=parent, hinge=hinge, inboard=inboard, outboard=outboard)
        return self._change("capture", body, edit, away(body, hinge_only=True), mounted, parent)

    def release(self, body: str, parent: str, mounted: str | None = None) -> Change:
        """Let one of the bodies that hold a body go, such as one hand of two. The loop that `capture` closed is opened,
        and its two nodes are taken out; a child of `parent` becomes a child of the next body that holds it, or floats.
        Every velocity, and so the momentum, is kept. `mounted` as in `detach`."""
        edit = partial(edits.release, name=body, parent=parent)
        return self._change("release", body, edit, edits.going(body, parent), mounted, parent)

    def remove(self, body: str, mounted: str | None = None) -> Change:
        """Take a body out, with all bodies outboard of it and its momentum. `mounted` as in `detach`; nothing
        follows."""
        if mounted == "follow":
            raise WiringError(f"remove of {body!r}: what is mounted on it cannot follow; mounted='stop' or 'remove'.")
        return self._change("remove", body, partial(edits.remove, name=body), away(body), mounted)

    def _change(
        self,
        kind: str,
        body: str,
        edit: Callable[[Multibody], Any],
        goes: Callable[[Multibody], Any],
        mounted: str | None,
        other: str = "",
    ) -> Change:
        from soacraft.sim.systems.changes.change import change

        assert self.path and self._owner is not None
        return change(self._owner, self, kind, body, edit, goes, mounted, other)

    # -- what wiring asks ----------------------------------------------------------------------------------------

    def output(self, port: str, at: str | None) -> tuple[Signal, str, int | None]:
        """Signal of an output; "q", "v" or "vdot" with the number of its element, or the name of a node's quantity."""
        if port in ("q", "v", "vdot"):
            if at is None:
                size = self.mb.nq if port == "q" else self.mb.nv
                return Signal((size,), None, None, float), port, None
            number = self._number(at)
            units = _UNITS[labels_of(self.mb).v_units[number]]
            if port == "q":
                places = coordinate_names(self.mb)
                if at not in places:
                    raise WiringError(f"dof {at!r:.60} of {self.path!r} has no single coordinate; take {self.path}.q.")
                return Signal((), units[0], None, float), "q", int(places[at])
            return Signal((), units[1 if port == "v" else 2], None, float), port, number
        if port in OF_FRAME:
            self._frame(port, at)
            shape, unit = OF_FRAME[port]
            return Signal(shape, unit, None if port == "rotation" else "inertial", float), port, None
        if port in OF_INERTIA:
            require_inertia(f"{self.path}.{port}[{at}]", self._frame(port, at))
            shape, unit = OF_INERTIA[port]
            return Signal(shape, unit, None, float), port, None
        if port in REACTIONS:
            closure_of(self, at) if port == "closure_force" else touch_of(self, port, at)
            return REACTIONS[port], port, None
        ports = ["q", "v", "vdot", *OF_FRAME, *OF_INERTIA, *REACTIONS]
        raise WiringError(f"the plant {self.path!r} has no output {port!r:.60}{near(port, ports, 'it has')}")

    def measure(self, port: str, at: str) -> Callable[[Any], Array]:
        """A quantity of a node, as a function of a state; accelerations take its vdot. It is computed by the kernel
        that compiled steps use, with the same bits."""
        mb, frame = self.seat.mb, self.node_frame(port, at)
        if port not in OF_NODE or not isinstance(frame.carrier, Body):
            return of_frame(mb, port, frame)
        still, number = np.zeros(mb.nv), (0, 1, 2, 2)[OF_NODE.index(port)]
        part = {"angular_velocity": slice(0, 3), "velocity": slice(3, 6)}.get(port, slice(None))

        def measured(state: Any) -> Array:
            motion = dyn.node_motion(mb, state.q, state.v, still, (frame,), ignore_loops=True)
            return np.array(motion[number][0][part])

        return measured

    def node_frame(self, port: str, at: str) -> Frame:
        """The frame of a node in the model that is moved."""
        return self.seat.frame(self._frame(port, at))

    def push(self, port: str, at: str | None, frame: str | None = None) -> Push:
        """Signal and effect of an input; that of a node in inertial axes or, if `frame` says so, in its own."""
        if port == "force":
            if at is None:
                return Push(Signal((self.mb.nv,), None, None, float), None, self._whole())
            number = self._number(at)
            unit = _UNITS[labels_of(self.mb).v_units[number]][3]
            return Push(Signal((), unit, None, float), self.seat.v.start + number, None)
        kind = port.removeprefix("node_")
        if port.startswith("node_") and kind in _ON_NODE:
            node, axes_of_node = self._frame(port, at), f"{self.path}:{at}"
            shape, unit = _ON_NODE[kind]
            axes = axes_of_node if frame == axes_of_node else "inertial"
            spread = self._spread(node, kind, axes == axes_of_node)
            return Push(
                Signal(shape, unit, axes, float), None, spread, (self.seat.frame(node), kind, axes == axes_of_node)
            )
        if port in ("center_of_mass", "moment", "inertia"):
            raise WiringError(
                f"{self.path}.{port} is no input: of inertias the mass alone is one, {self.path}.mass[body], with "
                "which the moment grows. Change the others between runs, mb[body].inertia = sc.Inertia(...)."
            )
        ports = ["force", "motion", "mass", *(f"node_{x}" for x in _ON_NODE)]
        raise WiringError(f"the plant {self.path!r} has no input {port!r:.60}{near(port, ports, 'it has')}")

    def motion(self, at: str | None) -> str:
        """The name of a dof whose motion is given, in the model that is moved."""
        if at is None:
            raise WiringError(f"{self.path}.motion is of a dof: write {self.path}.motion[elbow].")
        self._number(at)
        try:
            find_dof(self.mb, at)
        except ModelError as wrong:
            raise WiringError(str(wrong)) from None
        return f"{self.seat.prefix}{at}"

    def _whole(self) -> Callable[[Array, Any], Array] | None:
        """A force on all dofs of the plant, among those of all plants."""
        dofs, size = self.seat.v, self.seat.mb.nv
        if size == self.mb.nv:
            return None

        def spread(q: Array, value: Array) -> Array:
            force = np.zeros(size)
            force[dofs] = value
            return force

        return spread

    def _spread(self, frame: Any, kind: str, own: bool) -> Callable[[Array, Any], Array]:
        mb, frame, none = self.seat.mb, self.seat.frame(frame), np.zeros(3)
        axes = frame if own else mb.root

        def spread(q: Array, value: Array) -> Array:
            parts = {"force": (none, value), "moment": (value, none)}.get(kind) or (value[:3], value[3:])
            wrench = Wrench(*parts, expressed_in=axes)
            return np.asarray(dyn.compensating_force(mb, q, {frame: wrench}, ignore_loops=True))

        return spread

    def _number(self, dof: str) -> int:
        names = self.mb.dof_names
        if dof not in names:
            raise WiringError(f"the plant {self.path!r} has no dof {dof!r:.60}{near(dof, names, 'it has')}")
        return names.index(dof)

    def _frame(self, port: str, at: str | None) -> Any:
        if at is None:
            raise WiringError(f"{self.path}.{port} is of a node: write {self.path}.{port}[hand].")
        try:
            return self.mb.frame(at)
        except (ModelError, KeyError) as wrong:
            raise WiringError(f"the plant {self.path!r} has no node {at!r:.60}: {wrong}") from None

    def __repr__(self) -> str:
        return f"Plant({self.mb.name!r})"
