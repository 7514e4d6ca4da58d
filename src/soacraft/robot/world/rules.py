"""Settings of a world's user for bodies, shapes and objects: hidden, padded, allowed to touch. They survive edits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from soacraft.contact.geometry.filters import collision_shapes
from soacraft.errors import ModelError, StateError, near
from soacraft.model.tree.frames.frame import Body
from soacraft.robot.robot import Robot
from soacraft.robot.world.objects import Objects
from soacraft.robot.world.placing import robot_shapes
from soacraft.spatial.checks import finite


class Rules(Objects):
    """Rules that select the parts of the surroundings, and of the robot, that count."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._hidden: set[str] = set()
        self._pads: dict[tuple[str, ...], float] = {}
        self._allowed: dict[tuple[str, str], str] = {}

    def remove(self, name: str) -> None:
        """Remove an object, with its settings and those of its shapes."""
        super().remove(name)
        names = {x for x in self._said() if x == name or x.startswith((f"{name}/", f"{name}."))}
        self._hidden -= names
        self._pads = {who: value for who, value in self._pads.items() if not names.intersection(who)}
        self._allowed = {pair: why for pair, why in self._allowed.items() if not names.intersection(pair)}

    def hide(self, name: str) -> None:
        """Let an object, a body or a shape be passed through, until `show`."""
        self._require(name)
        self._hidden.add(name)
        self._change()

    def show(self, name: str) -> None:
        """Undo `hide`."""
        if not isinstance(name, str) or name not in self._hidden:
            raise ModelError(f"{name!r:.60} is not hidden{near(str(name), sorted(self._hidden), 'hidden are')}")
        self._hidden.discard(name)
        self._change()

    @property
    def hidden(self) -> tuple[str, ...]:
        """Names of the hidden parts, sorted."""
        return tuple(sorted(self._hidden))

    def pad(self, a: str, metres: float, b: str | None = None) -> None:
        """Keep a body, shape or object clear of all others, or of one, by a distance. Paddings of both and of the pair
        add up. That of a shape counts instead of that of its body. `w.check()` finds paddings that leave no room."""
        for x in (a,) if b is None else (a, b):
            self._require(x)
        value = float(finite(metres, (), "a padding", StateError))
        if value < 0.0:
            raise StateError(f"a padding must not be negative, got {value:g} m.")
        self._pads[(a,) if b is None else (min(a, b), max(a, b))] = value
        self._change()

    @property
    def paddings(self) -> dict[tuple[str, ...], float]:
        """Paddings in metres, of one name or of a pair."""
        return dict(self._pads)

    def allow(self, a: str, b: str, why: str = "") -> None:
        """Let two bodies, shapes or objects touch. `allowed` lists it with the reason."""
        for x in (a, b):
            self._require(x)
        self._allowed.pop((b, a), None)
        self._allowed[(a, b)] = str(why)
        self._change()

    def disallow(self, a: str, b: str) -> None:
        """Undo `allow`."""
        for pair in ((a, b), (b, a)) if isinstance(a, str) and isinstance(b, str) else ():
            if pair in self._allowed:
                del self._allowed[pair]
                self._change()
                return
        partners = sorted({y if x == a else x for x, y in self._allowed if a in (x, y)})
        hint = near(str(b), partners, f"{a!r:.60} may touch")
        raise ModelError(f"{a!r:.60} and {b!r:.60} were not allowed to touch{hint}")

    @property
    def allowed(self) -> dict[tuple[str, str], str]:
        """Pairs that may touch, with the reasons."""
        return dict(self._allowed)

    # -- inside --------------------------------------------------------------------------------------------------

    def _take(self, other: Self) -> None:
        super()._take(other)
        self._hidden, self._pads, self._allowed = set(other._hidden), dict(other._pads), dict(other._allowed)

    def _said(self) -> set[str]:
        """All names that something was said of."""
        return {*self._hidden, *(x for who in self._pads for x in who), *(x for who in self._allowed for x in who)}

    def _names(self) -> Iterator[str]:
        """All names of shapes, of bodies that have some, and of objects; hidden ones too."""
        mb = self._robot.mb
        for _, names in robot_shapes(mb):
            yield from names
        for name, item in self._items.items():
            yield name
            for part, _, _ in item.shapes:
                yield f"{name}/{part}"
            source = item.source
            for x in () if source is None else collision_shapes(source):
                owner = f"{name}.{x.carrier.name}" if isinstance(x.carrier, Body) else name
                yield from (owner, f"{owner}/{x.geometry.name}")
        yield from (name for name in self.given)

    def _require(self, name: str) -> None:
        names = set(self._names())
        if not isinstance(name, str) or name not in names:
            raise ModelError(f"there is no body, shape or object {name!r:.60}{near(str(name), sorted(names))}")
