"""The models of all plants of a system as one, in which they are moved together; each plant has its place in it.

One plant alone is its own model. Several are copied into one, every name behind that of the plant ("arm:elbow"); their
q and v come one after the other, in the order of the names of the plants. The models of the user keep their states:
what they have is taken when a run begins, and given back at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.errors import SoacraftError, WiringError
from soacraft.loops import Solver
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.loads import Load
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.states.state import State
    from soacraft.sim.systems.plants.plant import Plant


class Seat(NamedTuple):
    """The place of a plant in the model that is moved."""

    mb: Multibody
    """The model that is moved,"""
    prefix: str
    """what is before the names of the plant there,"""
    q: slice
    """its coordinates,"""
    v: slice
    """and its dofs."""

    def frame(self, frame: Frame) -> Frame:
        """A frame of the plant's own model, there."""
        if not self.prefix:
            return frame
        if frame is frame.graph.root:
            return self.mb.root
        if frame.carrier is frame.graph.root:
            return self.mb.frame(f"{self.mb.root.name}/{self.prefix}{frame.name}")
        return self.mb.frame(f"{self.prefix}{frame.full_name}")


class Joined:
    """The model that is moved, and the seats of the plants in it."""

    def __init__(self, name: str, plants: Mapping[str, Plant]) -> None:
        self._plants = {path: plants[path] for path in sorted(plants)}
        self._versions = {path: (x.mb.version, x.mb.parameters) for path, x in self._plants.items()}
        self._seen: dict[str, tuple[Array, Array]] = {}
        self.varying: tuple[str, ...] = ()
        """Names of bodies, in the model that is moved, whose masses are given."""
        self.seats: dict[str, Seat] = {}
        models = [x.mb for x in self._plants.values()]
        if len(models) < 2:
            self.mb = models[0] if models else Multibody(name)
            for path in self._plants:
                self.seats[path] = Seat(self.mb, "", slice(0, self.mb.nq), slice(0, self.mb.nv))
        else:
            self._refuse_forces()
            self.mb = self._join(name)
        for path, plant in self._plants.items():
            plant._seat = self.seats[path]

    def _join(self, name: str) -> Multibody:
        (first, one), *others = self._plants.items()
        for path, plant in others:
            if plant.mb is one.mb or any(plant.mb is x.mb for y, x in others if y < path):
                raise WiringError(f"the model of {path!r} is that of another plant, too: give it mb.copy().")
            if (plant.mb.gravity != one.mb.gravity).any():
                raise WiringError(
                    f"gravity is {one.mb.gravity.tolist()} in {first!r} and {plant.mb.gravity.tolist()} in {path!r}, "
                    "and plants of one system are in one world: set mb.gravity to the same, or to (0, 0, 0) in all and "
                    "give each plant its own, sim.Plant(mb, forces=[sim.GravityField(...)])."
                )
        joined = Multibody(name, one.mb.gravity)
        q = v = 0
        for path, plant in self._plants.items():
            try:
                joined.add_model(plant.mb, prefix=f"{path}:")
            except SoacraftError as wrong:
                raise WiringError(f"the plant {path!r} cannot be joined with {first!r}: {wrong}") from wrong
            nq, nv = plant.mb.nq, plant.mb.nv
            self.seats[path] = Seat(joined, f"{path}:", slice(q, q + nq), slice(v, v + nv))
            q, v = q + nq, v + nv
            self._seen[path] = np.array(plant.mb.q), np.array(plant.mb.v)
        return joined

    @property
    def is_copy(self) -> bool:
        """True if the model that is moved is not that of a user."""
        return len(self._plants) > 1

    @property
    def edited(self) -> list[str]:
        """The plants whose models have another structure now."""
        return [path for path, x in self._plants.items() if x.mb.version != self._versions[path][0]]

    @property
    def stale(self) -> bool:
        """True if a model that was copied has other parameters now."""
        return self.is_copy and any(x.mb.parameters != self._versions[path][1] for path, x in self._plants.items())

    def take(self) -> None:
        """Have the states and stored forces that the plants' models have now."""
        if not self.is_copy:
            return
        q, v = np.array(self.mb.q), np.array(self.mb.v)
        moved = False
        for path, plant in self._plants.items():
            now, seat = (np.array(plant.mb.q), np.array(plant.mb.v)), self.seats[path]
            before = self._seen.get(path)
            if before is None or not all(map(np.array_equal, now, before)):
                q[seat.q], v[seat.v] = now
                self._seen[path], moved = now, True
        if moved:
            self.mb.set_state(q, v)
        self._take_forces()

    def _take_forces(self) -> None:
        wrenches = [
            (
                seat.frame(node),
                Wrench(w.moment, w.force, None if w.expressed_in is None else seat.frame(w.expressed_in)),
            )
            for path, seat in self.seats.items()
            for node, w in self._plants[path].mb.acting_forces.items()
        ]
        if wrenches or self.mb.acting_forces:
            self.mb.clear_forces()
            for node, wrench in wrenches:
                self.mb.set_force(node, wrench)

    def give(self) -> None:
        """Let the plants' models have the states that they came to."""
        if not self.is_copy:
            return
        self.weigh()
        q, v, vdot = (np.asarray(x) for x in (self.mb.q, self.mb.v, self.mb.vdot))
        for path, plant in self._plants.items():
            seat = self.seats[path]
            if plant.mb.version != self._versions[path][0]:
                continue
            plant.mb.set_state(q[seat.q], v[seat.v], vdot[seat.v])
            self._seen[path] = np.array(plant.mb.q), np.array(plant.mb.v)

    def weigh(self) -> None:
        """Let the plants' models have the masses that are given."""
        if not self.is_copy or not self.varying:
            return
        for path, plant in self._plants.items():
            (version, parameters), before = self._versions[path], plant.mb.parameters
            if plant.mb.version != version:
                continue
            prefix = self.seats[path].prefix
            for name in self.varying:
                if name.startswith(prefix):
                    body, inertia = plant.mb[name.removeprefix(prefix)], self.mb[name].inertia
                    if body.inertia != inertia:
                        body.inertia = inertia
            self._versions[path] = version, parameters + plant.mb.parameters - before

    def load_names(self, path: str) -> list[str]:
        """Names of the force elements of a plant, as they act on the model that is moved."""
        alone = not self.is_copy
        forces = self._plants[path].forces if path in self._plants else ()
        return [x.name if alone or isinstance(x, Contact) else f"{path}:{x.name}" for x in forces]

    @property
    def loads(self) -> list[Load]:
        """The force elements of all plants, as they act on the model that is moved."""
        if not self.is_copy:
            return [x for plant in self._plants.values() for x in plant.forces]
        return [
            x if isinstance(x, Contact) else Seated(x, path, plant.mb, self.seats[path], self.weigh)
            for path, plant in self._plants.items()
            for x in plant.forces
        ]

    def _refuse_forces(self) -> None:
        """Raise for what acts in the model of one plant alone."""
        touching = [path for path, plant in self._plants.items() for x in plant.forces if isinstance(x, Contact)]
        if len(touching) > 1:
            raise WiringError(
                f"{touching[0]!r} and {touching[1]!r} have a sim.Contact each, and one acts between the shapes of all "
                "plants: give it to one of them."
            )
        for path, plant in self._plants.items():
            for x in plant.forces:
                if getattr(x, "switches", False) or hasattr(x, "strike"):
                    raise WiringError(
                        f"{getattr(x, 'name', x)!r} of {path!r} sticks, leans or strikes, which is known in a system "
                        "of one plant. Put the models into one, mb.add_model(other), or use sim.Contact, or a "
                        "sim.JointLimit with stiffness."
                    )


class Seated:
    """A force element of one plant among several: it sees the state of its plant's model, and pushes the dofs of it."""

    def __init__(self, load: Load, path: str, own: Multibody, seat: Seat, weigh: Callable[[], None]) -> None:
        self.name, self._load, self._own, self._seat = f"{path}:{load.name}", load, own, seat
        self._weigh = weigh

    def bind(self, mb: Multibody) -> None:
        """Look up what the element acts on, in its own model."""
        self._load.bind(self._own)

    def force(self, t: float, state: State) -> Array:
        """Generalized force of the element, among those of all dofs."""
        self._weigh()
        force = np.zeros(self._seat.mb.nv)
        state_of_plant = self._own.state(np.array(state.q[self._seat.q]), np.array(state.v[self._seat.v]))
        force[self._seat.v] = self._load.force(t, state_of_plant)
        return force


def joined_solver(plants: Mapping[str, Plant]) -> str | Solver:
    """The solver of all plants at once: the one that any of them asks for."""
    asked = {path: x.solver for path, x in sorted(plants.items()) if x.solver != "auto"}
    if len(plants) > 1:
        for path, solver in asked.items():
            if not isinstance(solver, str):
                raise WiringError(
                    f"the plant {path!r} has a solver object for its model, and {len(plants)} plants are solved as "
                    "one: name it, such as solver='ta'."
                )
    if len(set(asked.values())) > 1:
        listed = ", ".join(f"{solver!r} of {path!r}" for path, solver in asked.items())
        raise WiringError(f"plants of one system are solved as one, and ask for different solvers: {listed}.")
    return next(iter(asked.values()), "auto")
