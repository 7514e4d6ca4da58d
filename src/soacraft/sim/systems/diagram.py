"""`Diagram`: the description of a system as one frozen value. A change of a system is another diagram."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from soacraft.errors import WiringError, near
from soacraft.sim.systems.plants.plant import Mount, Plant
from soacraft.sim.systems.wiring import Part, Wire, split

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody
    from soacraft.sim.systems.assembly import Built
    from soacraft.sim.systems.changes.sequence import Sequence
    from soacraft.sim.systems.frames import UserFrame


@dataclass(frozen=True)
class Diagram:
    """Components, plants and connections of a system, with all that belongs to them. Its tables are never changed:
    `changed` gives another diagram.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=0.1)
    >>> _ = s.add("wave", sim.Sine(frequency=1.0))
    >>> before = s.diagram
    >>> _ = s.add("twice", sim.Gain(gain=2.0))
    >>> s.connect("wave.y", "twice.u")
    >>> [*before.parts], [*s.diagram.parts], s.diagram.wires
    (['wave'], ['wave', 'twice'], (Wire(source='wave.y', target='twice.u', convert=False),))
    """

    parts: Mapping[str, Part] = field(default_factory=dict)
    """Components by path,"""
    plants: Mapping[str, Plant] = field(default_factory=dict)
    """plants,"""
    wires: tuple[Wire, ...] = ()
    """connections as they were asked for,"""
    exports: Mapping[str, str] = field(default_factory=dict)
    """ports of assemblies, {name: pattern of the ports},"""
    groups: Mapping[str, str] = field(default_factory=dict)
    """assemblies, by the names of their classes,"""
    built: Mapping[str, Built] = field(default_factory=dict)
    """and the assemblies themselves,"""
    frames: Mapping[str, UserFrame] = field(default_factory=dict)
    """frames of the user,"""
    sequences: Mapping[str, Sequence] = field(default_factory=dict)
    """sequences of phases,"""
    tears: tuple[str, ...] = ()
    """outputs of cycles that are solved by Newton's method,"""
    holds: Mapping[str, Any] = field(default_factory=dict)
    """inputs that hold a value, since what filled them is gone,"""
    starts: Mapping[str, Any] = field(default_factory=dict)
    """states that were set before the first run,"""
    phases: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """the present phase of sequences that left their first one, and the nanosecond at which it began,"""
    stopped: tuple[str, ...] = ()
    """and components that a change of structure has stopped."""

    def changed(self, **fields: Any) -> Diagram:
        """The diagram with other fields."""
        return replace(self, **fields)

    def with_part(self, part: Part) -> Diagram:
        """The diagram with a component, in the place of that of the same path."""
        return replace(self, parts={**self.parts, part.path: part})

    def staying(self, other: Diagram) -> set[str]:
        """Paths whose components are the same in another diagram: they go on with their states."""
        was = self.parts
        return {path for path, x in other.parts.items() if path in was and was[path].component is x.component}

    def phase(self, path: str) -> str:
        """The present phase of a sequence."""
        if path not in self.sequences:
            raise WiringError(f"there is no sequence {path!r:.60}{near(str(path), self.sequences)}")
        return self.phases[path][0] if path in self.phases else self.sequences[path].first

    def require_part(self, path: str) -> Part:
        """The component of a path; refused where there is none."""
        if path not in self.parts:
            raise WiringError(f"there is no component {path!r:.60}{near(str(path), self.parts)}")
        return self.parts[path]

    def without(self, paths: Collection[str]) -> Diagram:
        """The diagram without components, sequences and frames of these paths, and what was set of them."""

        def other(table: Mapping[str, Any]) -> dict[str, Any]:
            return {key: x for key, x in table.items() if key not in paths}

        def other_ports(table: Mapping[str, Any]) -> dict[str, Any]:
            return {key: x for key, x in table.items() if key.rpartition(".")[0] not in paths}

        return replace(
            self,
            parts=other(self.parts),
            frames=other(self.frames),
            sequences=other(self.sequences),
            groups=other(self.groups),
            built=other(self.built),
            phases=other(self.phases),
            stopped=tuple(x for x in self.stopped if x not in paths),
            starts=other_ports(self.starts),
            holds=other_ports(self.holds),
            exports={
                name: x
                for name, x in self.exports.items()
                if split(x)[0] not in paths and name.partition(".")[0] not in paths
            },
        )

    def rehearsal(self, models: Mapping[str, Multibody]) -> Diagram:
        """The diagram with copies of its plants, some of other models, so that compiling it leaves the plants alone."""
        plants = {path: x.with_model(models.get(path, x.mb)) for path, x in self.plants.items()}

        def moved(mount: Mount | None) -> Mount | None:
            return None if mount is None else Mount(plants[mount.plant.path], mount.kind, mount.name)

        parts = {
            path: Part(x.path, x.component, x.clock, moved(x.mount), x.convert, x.active)
            for path, x in self.parts.items()
        }
        return replace(self, plants=plants, parts=parts)
