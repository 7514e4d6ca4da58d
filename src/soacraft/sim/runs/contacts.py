"""`ContactHistory`: the contacts of a run, as forces by pair and by body, and as sensors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.scene import Scene
from soacraft.model.sizes.scale import scale_of
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactDiary, ContactStep, is_of, require_names
from soacraft.spatial.checks import Array

#: Shapes that pressed in a step are this near at its end, in lengths of the model, or have parted.
_NEAR = 0.01
#: Rows that are looked at for what is deepest, and rows whose velocities are computed together.
_WORST, _TOGETHER = 8, 4096


class ContactHistory:
    """The contacts of a run with `sc.sim.Contact`, row by row of the run: `run.contacts`.

    Names are those of shapes ("foot/sole") or of bodies ("foot"). Forces are means over the step that ends at a row, in
    inertial axes. `steps` has the steps with contacts: points, impulses, gaps, states, residuals.

    >>> import soacraft as sc
    >>> mb = sc.Multibody(gravity=(0, 0, -9.81))
    >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
    >>> box = mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3) * 0.01))
    >>> _ = box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    >>> mb.set_state([0, 0, 0, 1, 0, 0, 0.1], np.zeros(6))
    >>> p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    >>> p.add(sc.sim.Contact())
    >>> run = p.advance_to(0.05)
    >>> run.contacts.pairs, run.contacts.force("box")[-1].round(6) + 0.0, bool(run.contacts.touches("box")[-1])
    ((('box/skin', 'inertial/floor'),), array([ 0.  ,  0.  , 19.62]), True)
    """

    def __init__(self, t: Array, q: Array, diary: ContactDiary, touch: Contact) -> None:
        self._t, self._q, self._diary, self._touch = t, q, diary, touch
        self._scene_then, self._version = touch.scene, touch.scene.model.version
        self._names = touch.scene.names
        self._length, self._count = np.diff(t, prepend=t[:1]), len(t)

    @cached_property
    def _placed(self) -> tuple[list[ContactStep], list[int]]:
        """The steps of this run, and the row at which each ends."""
        row = {round(1e9 * float(x)): i for i, x in enumerate(self._t) if self._length[i] > 0.0}
        steps_of_run = [x for x in self._diary.steps if round(1e9 * x.t) in row]
        return steps_of_run, [row[round(1e9 * x.t)] for x in steps_of_run]

    @property
    def _scene(self) -> Scene:
        """The shapes as they were in the run, also where a system changed the structure since."""
        then, mb = self._scene_then, self._scene_then.model
        if mb.version == self._version:
            return then
        return self._touch.scene_at(mb, self._version) or then

    @property
    def steps(self) -> list[ContactStep]:
        """The steps with contacts."""
        return self._placed[0]

    @property
    def _rows(self) -> list[int]:
        return self._placed[1]

    def by_row(self) -> dict[int, int]:
        """Numbers {row of the run: step} of the steps with contacts, by the row at which each ends."""
        return {row: i for i, row in enumerate(self._rows)}

    @cached_property
    def _by_row(self) -> dict[int, ContactStep]:
        return dict(zip(self._rows, self.steps, strict=True))

    def at_row(self, row: int) -> tuple[ContactStep, float] | None:
        """The step with contacts that ends at a row, and its length in seconds; None where nothing touched."""
        step = self._by_row.get(row)
        return None if step is None else (step, float(self._length[row]))

    def cones(self, number: int) -> tuple[Array, Array]:
        """The cones of friction of a step, by its number: their axes (points, 3), which are the normals on the second
        shapes, in inertial axes, and the coefficients of sliding (points). Normals are those of the shapes at the end
        of the step, each of the nearest point of its pair; NaN where the shapes have parted. O(points).
        """
        step, scene = self.steps[number], self._scene
        q, surfaces = self._q[self._rows[number]], self._touch.made_surfaces(scene)
        margin = _NEAR * scale_of(scene.model).length
        near = scene.contacts(q, 2.0 * float(np.abs(step.gap).max(initial=0.0)) + margin)
        axes = np.full((len(step.pairs), 3), np.nan)
        friction = np.zeros(len(step.pairs))
        for i, (a, b) in enumerate(step.pairs):
            slide = surfaces.of(a, b)[0]
            friction[i] = slide[0] if slide else 0.0
            candidates = [j for j, pair in enumerate(near.pairs) if pair == (a, b)]
            if candidates:
                j = min(candidates, key=lambda j: float(np.linalg.norm(near.point_b[j] - step.points[i])))
                axes[i] = near.normal[j]
        return axes, friction

    def gain(self, work: Array) -> float:
        """The energy that contacts gave beyond restitution, in J: the largest rise of their work, (rows), over what it
        was before; 0 where surfaces or ropes move by themselves, which may give some."""
        if self._touch.drives or not len(work):
            return 0.0
        rise = float((work - np.minimum.accumulate(work)).max())
        return max(rise - sum(x.gain for x in self.steps), 0.0)

    def sunk(self, v: Array) -> float:
        """Depth of shapes in each other beyond what the steps so far and the start explain, in metres; `v` are
        the velocities (rows, nv). A step may end as deep as its points move in two steps. O(rows n)."""
        deep = [(-float(x.gap.min()), row) for x, row in zip(self.steps, self._rows, strict=True) if len(x.gap)]
        worst = [row for _, row in sorted(deep, reverse=True)[:_WORST]]
        if not worst:
            return 0.0
        scene, first = self._scene, self._rows[0] - 1
        start = -float(scene.contacts(self._q[first], 0.0).distance.min(initial=0.0))
        reach = np.maximum.accumulate(2.0 * self._length * _fastest(scene, self._q, v))
        beyond = [-float(scene.contacts(self._q[i], 0.0).distance.min(initial=0.0)) - reach[i] - start for i in worst]
        return float(max(*beyond, 0.0))

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[ContactStep]:
        return iter(self.steps)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The pairs of shapes that pressed, in the order of their names."""
        pressed = {pair for x in self.steps for pair, p in zip(x.pairs, x.impulses, strict=True) if p.any()}
        return tuple(sorted(pressed))

    def force(self, name: str, other: str | None = None) -> Array:
        """The force of contact on a shape or body, from another one or from all, (rows, 3), in N."""
        require_names(self._names, name, other)
        force = np.zeros((self._count, 3))
        for i, x in zip(self._rows, self.steps, strict=True):
            force[i] = x.impulse_on(name, other) / self._length[i]
        return force

    def forces_by_pair(self) -> dict[tuple[str, str], Array]:
        """The force of contact on the second shape of each pair that pressed, (rows, 3), in N."""
        forces = {pair: np.zeros((self._count, 3)) for pair in self.pairs}
        for i, x in zip(self._rows, self.steps, strict=True):
            for pair, p in zip(x.pairs, x.impulses, strict=True):
                if pair in forces:
                    forces[pair][i] += p / self._length[i]
        return forces

    def touches(self, name: str, other: str | None = None) -> npt.NDArray[np.bool_]:
        """A sensor of touch: whether a shape or body is pressed, by another one or by any, (rows)."""
        require_names(self._names, name, other)
        pressed = np.zeros(self._count, dtype=bool)
        for i, x in zip(self._rows, self.steps, strict=True):
            pressed[i] = any(
                p.any() and ((is_of(a, name) and is_of(b, other)) or (is_of(b, name) and is_of(a, other)))
                for (a, b), p in zip(x.pairs, x.impulses, strict=True)
            )
        return pressed

    def __repr__(self) -> str:
        return f"<contacts of {len(self.steps)} steps, {len(self.pairs)} pairs>"

    def _repr_html_(self) -> str:
        from soacraft.sim.runs.cards import history_card

        return history_card(self)


def _fastest(scene: Scene, q: Array, v: Array) -> Array:
    """A bound on the speed of all shapes in each row of a run."""
    parts = [slice(i, i + _TOGETHER) for i in range(0, len(q), _TOGETHER)]
    return np.concatenate([scene.fastest_of(q[x], v[x]) for x in parts])
