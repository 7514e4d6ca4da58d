"""`Robot`: a model as software of a robot uses it. Each module has a copy of its own."""

from __future__ import annotations

from typing import Any

from soacraft.attributes import Strict
from soacraft.errors import ModelError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.limb import Limb


class Robot(Strict):
    """A model with names for its limbs.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("h1"))
    >>> rb.limb("right arm", base="torso_link", tip="right_elbow_link")
    Limb 'right arm' from 'torso_link' to 'right_elbow_link': 4 dofs (right_shoulder_pitch, right_shoulder_roll, \
right_shoulder_yaw, right_elbow)
    >>> rb["right arm"].nv, rb.copy().limbs
    (4, ('right arm',))
    """

    def __init__(self, mb: Multibody) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Robot takes a Multibody, got {mb!r:.80}.")
        self._mb = mb
        self._limbs: dict[str, Limb] = {}

    @property
    def mb(self) -> Multibody:
        """The model."""
        return self._mb

    @property
    def limbs(self) -> tuple[str, ...]:
        """Names of the limbs."""
        return tuple(self._limbs)

    def limb(self, name: str, base: Any, tip: Any) -> Limb:
        """A limb from a base to a tip that is outboard of it, bodies or nodes; a name that is known is given anew."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"a limb has a name, got {name!r:.60}.")
        mb = self._mb
        made = Limb(self, name, *(mb.root if x == "inertial" else mb.frame(x) for x in (base, tip)))
        self._limbs[name] = made
        return made

    def __getitem__(self, name: str) -> Limb:
        if name not in self._limbs:
            raise ModelError(f"the robot {self._mb.name!r} has no limb {name!r:.60}{near(str(name), self._limbs)}")
        return self._limbs[name]

    def copy(self) -> Robot:
        """An independent robot for another module: model, state and limbs."""
        other = Robot(self._mb.copy())
        for name, x in self._limbs.items():
            other.limb(name, *("inertial" if f is self._mb.root else f.full_name for f in (x.base, x.tip)))
        return other

    def __repr__(self) -> str:
        return f"Robot {self._mb.name!r}: {self._mb.nv} dofs, limbs: {', '.join(self._limbs) or 'none'}"
