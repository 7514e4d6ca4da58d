"""`Switchboard`: the present build of a system, and the switch to another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from soacraft.errors import SimulationError, WiringError
from soacraft.sim.components.component import Component
from soacraft.sim.propagator import Propagator
from soacraft.sim.systems.changes import switchover
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.changes.edits import Moving, moving
from soacraft.sim.systems.compilation import Build, Compilation, compile_diagram
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.plants.joined import Joined, joined_solver
from soacraft.sim.systems.wiring import Part

T = TypeVar("T")


class Switchboard:
    """The present build of a system: diagram, compiled form, propagator, changes. It is one frozen value, and a change
    of the system is one assignment of another, after that was compiled and checked.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=0.1)
    >>> _ = s.add("wave", sim.Sine(frequency=1.0))
    >>> run = s.run(0.5)
    >>> s.board.build.diagram is s.diagram, s.board.ns
    (True, 500000000)
    """

    def __init__(self, name: str, how: Mapping[str, Any], start: int, seed: int) -> None:
        self.name, self.how, self.start, self.seed = name, how, start, seed
        self.build = Build(Diagram())
        """The present form of the system."""
        self._draft: Diagram | None = None  # of a system that has begun, not switched to yet
        self._editing = False
        self._settled: dict[str, Moving] = {}
        self._grown: list[Callable[[], None]] = []  # what takes out what assemblies added to models

    # -- the present ---------------------------------------------------------------------------------------------

    @property
    def diagram(self) -> Diagram:
        """The present description, with changes that are not complete yet."""
        return self.build.diagram if self._draft is None else self._draft

    @property
    def is_begun(self) -> bool:
        """True after the first run has begun."""
        return self.build.propagator is not None

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self.start / 1e9 if self.build.propagator is None else self.build.propagator.t

    @property
    def ns(self) -> int:
        """The present nanosecond."""
        return self.start if self.build.propagator is None else self.build.propagator.ns

    def compiled(self) -> Compilation:
        """The diagram in its compiled form; it is compiled when that is needed, with all faults as one
        `WiringError`."""
        if not self._editing:
            switchover.follow_models(self)
            if self._draft is not None:
                self.switch(self._draft)
        build = self.build
        if build.compilation is None or not (self.is_begun or build.compilation.is_current):
            self.take(build._replace(compilation=self.compile(build.diagram)))
        assert self.build.compilation is not None
        return self.build.compilation

    def compile(self, diagram: Diagram, joined: Joined | None = None, names: bool = True) -> Compilation:
        """Compile another diagram of the system, or raise `WiringError` with all its faults; the system is not
        changed."""
        return compile_diagram(self.name, diagram, self.seed, self.build, joined, names)

    def propagating(self, x: Compilation, loads: bool = True) -> Propagator:
        """A propagator of a compiled diagram."""
        solver = joined_solver(x.diagram.plants)
        propagator = Propagator(x.joined.mb, solver, t=self.start / 1e9, **self.how)
        if loads:
            propagator.add(*x.joined.loads)
        propagator.carry(x.flow)
        for dof, give in x.flow.motions().items():
            propagator.prescribe(dof, give)
        return propagator

    def moved(self) -> Propagator:
        """The propagator of the system, made for the first run."""
        x = self.compiled()
        if self.build.propagator is None:
            x.flow.ticks.origin = self.start
            self.take(self.build._replace(propagator=self.propagating(x)))
            self.settle()
        assert self.build.propagator is not None
        return self.build.propagator

    def settle(self) -> None:
        """Remember momentum and kinetic energy of each plant, for changes that edits of its model make."""
        self._settled = {path: moving(x.mb) for path, x in self.build.diagram.plants.items()}

    def settled(self, path: str) -> Moving:
        """Momentum and kinetic energy of a plant at the end of the last run, or after the last change."""
        return self._settled[path]

    # -- changes -------------------------------------------------------------------------------------------------

    def take(self, build: Build) -> None:
        """Be what a build says: the one assignment by which a system changes."""
        x = build.compilation
        if x is not None:
            build = build._replace(diagram=x.diagram)
            x.joined.varying = tuple(x.schedule.masses)
        self.build, self._draft = build, None

    def switch(self, diagram: Diagram, changes: Sequence[Change] = ()) -> None:
        """Go on with another diagram, or raise and stay unchanged."""
        self.take(switchover.switched(self, diagram, changes))
        self.settle()

    def set_diagram(self, diagram: Diagram, what: str = "the system cannot be changed") -> None:
        """Take another diagram: before the first run unchecked, later if it has no fault. Inputs that nothing fills yet
        of components that are new are looked at where the next run begins."""
        if not self.is_begun:
            self.build = Build(diagram, changes=self.build.changes)
            return
        self.require_pause(what)
        if self._editing:
            self._draft = diagram
            return
        try:
            self.switch(diagram)
        except WiringError as wrong:
            parts = self.build.diagram.parts
            waiting = {x for key, x in wrong.unfilled.items() if key.rpartition(".")[0] not in parts}
            if not waiting or not waiting.issuperset(wrong.faults):
                raise
            self._draft = diagram

    @contextmanager
    def edit(self) -> Iterator[None]:
        """Calls that are one change: checked at the end, all of them or none."""
        if self._editing:  # one change, with that around it
            yield
            return
        build, draft, count = self.build, self._draft, len(self._grown)
        self._editing = True
        try:
            yield
            edited, self._editing = self._draft, False
            if self.is_begun and edited is not None and edited is not draft:
                self.set_diagram(edited)
        except BaseException:
            self._shrink(count)
            added, self._draft = self.diagram.plants, draft
            if not self.is_begun:
                self.build = build
            for path, plant in added.items():
                if path not in self.diagram.plants:
                    plant.leave()
            raise
        finally:
            self._editing = False
            del self._grown[count:]

    def put_component(self, path: str, component: Component) -> None:
        """Put one with other parameters in the place of a component, whose ports and states stay."""
        part = self.diagram.require_part(path)
        part = Part(part.path, component, part.clock, part.mount, part.convert, part.active)
        if not self.is_begun:
            self.set_diagram(self.diagram.with_part(part))
            return
        x = self.build.compilation
        assert x is not None
        if path in self.build.diagram.parts:
            x.flow.values[x.schedule.slots[f"{path}:p"]] = component.p
            diagram = self.build.diagram.with_part(part)
            self.build = self.build._replace(diagram=diagram, compilation=x._replace(diagram=diagram))
        if self._draft is not None:
            self._draft = self._draft.with_part(part)

    def set_state(self, key: str, value: Any) -> None:
        """Set a state by its name: that of the start before the first run, later that of now."""
        x = self.build.compilation
        waiting = self._draft is not None and key.rpartition(".")[0] not in self.build.diagram.parts
        if waiting or not self.is_begun:
            diagram = self.diagram.changed(starts={**self.diagram.starts, key: value})
            if waiting:
                self._draft = diagram
                return
            x = None if x is None else x._replace(diagram=diagram)
            self.build = self.build._replace(diagram=diagram, compilation=x)
        if x is not None:
            x.flow.set_state(key, value)

    def become(self, other: Switchboard, diagram: Diagram) -> None:
        """Be as that of another system that has not begun either, with a diagram of it."""
        self.name, self.how, self.start, self.seed = other.name, other.how, other.start, other.seed
        self.build, self._draft = Build(diagram), None

    def reseed(self, seed: int) -> None:
        """Let the noise be that of another seed, before the first run."""
        self.refuse_begun("the seed cannot be set")
        self.seed = seed
        self.set_diagram(self.diagram)

    # -- what assemblies add to models ---------------------------------------------------------------------------

    def grow(self, what: str, add: Callable[[], T], remove: Callable[[T], None]) -> T:
        """Add a part of an assembly to the model of a plant, and keep what removes it again."""
        self.require_pause(f"{what} cannot be added")
        added = add()
        self._grown.append(lambda: remove(added))
        self.set_diagram(self.diagram)
        return added

    @contextmanager
    def growing(self) -> Iterator[None]:
        """Take additions to models out again if the block fails."""
        count = len(self._grown)
        try:
            yield
        except BaseException:
            self._shrink(count)
            raise

    def _shrink(self, count: int) -> None:
        """Take out what was added to models last, but for the first of it."""
        while len(self._grown) > count:
            self._grown.pop()()

    # -- refusals ------------------------------------------------------------------------------------------------

    def require_pause(self, what: str) -> None:
        """Raise in the middle of a step."""
        propagator = self.build.propagator
        if propagator is not None and propagator.is_running:
            raise SimulationError(
                f"{what}: the system {self.name!r} is in a step. Change it between runs, or by a sim.Sequence."
            )

    def refuse_in_edit(self, what: str) -> None:
        """Raise within `edit`."""
        if self._editing:
            raise WiringError(
                f"{what}: the system {self.name!r} is within s.edit(), which is not done yet. End it first."
            )

    def refuse_begun(self, what: str) -> None:
        """Raise after the first run has begun."""
        if self.is_begun:
            raise WiringError(f"{what}: the system {self.name!r} is at t = {self.t:.9g} s already. Make another one.")
