"""Dry friction in a hinge, with stiction: a dof slips, or sticks until the force on it is more than friction holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.compiled_holds import HoldLaw
from soacraft.sim.forces.elements import not_negative
from soacraft.sim.forces.prescribed import find_hinge_dof
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class HingeFriction:
    """Dry and viscous friction on a dof.

        slipping   -sign (coulomb + (static - coulomb) exp(-(v / stribeck)^2)) - viscous v       (Stribeck)
        sticking   v = 0, with the force that it takes, up to `static`

    A dof that comes to rest sticks if static friction can hold it; the instants are events of the run. `coulomb`,
    `static` and `stribeck` are by default those of the hinge, `friction`, `static` and `stribeck_speed` of
    `body.passive`; `static` is `coulomb` if that is an argument here, or the hinge has none. Where closures tie dofs
    that stick to each other, so that the force of each is not determined, they stick as long as forces within their
    bounds can hold them. With `smooth` (rad/s or m/s) the sign is tanh(v / smooth), nothing sticks, and there are no
    events.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")                                     # 1 kg at 1 m
    >>> mb.q = [0.1]
    >>> p = sc.sim.Propagator(mb)
    >>> p.add(sc.sim.HingeFriction("bob", coulomb=2.0))              # 9.81 sin 0.1 is less: it stays
    >>> p.advance_to(1.0).forces["friction of bob"][-1].round(6)
    array([0.979366])
    """

    def __init__(
        self,
        hinge: str,
        coulomb: float | None = None,
        static: float | None = None,
        viscous: float = 0.0,
        stribeck: float | None = None,
        smooth: float | None = None,
    ) -> None:
        self.hinge, self.name = hinge, f"friction of {hinge}"
        self._given = coulomb, static
        self._viscous = not_negative(viscous, f"viscous {self.name}")
        self._told = self._stribeck = _speed(stribeck, f"stribeck speed of the {self.name}")
        self.smooth = _speed(smooth, f"smooth speed of the {self.name}")
        self.sign = 0.0
        """The direction in which the dof slips; 0 where it sticks."""

    def bind(self, mb: Multibody) -> None:
        """Find the dof and its friction."""
        self.number, self.place, body, at = find_hinge_dof(mb, self.hinge, "dry friction")
        friction, held, speed = (float(getattr(body.passive, x)[at]) for x in ("friction", "static", "stribeck_speed"))
        coulomb, static = self._given
        if coulomb is None and static is None:
            static = held or None
        self.coulomb = not_negative(friction if coulomb is None else coulomb, f"coulomb {self.name}")
        self.static = not_negative(self.coulomb if static is None else static, f"static {self.name}")
        self._stribeck = self._told or speed or None
        if self.static < self.coulomb:
            raise StateError(
                f"the static {self.name}, {self.static:g}, must not be less than {self.coulomb:g}, coulomb."
            )

    @property
    def switches(self) -> bool:
        """True if it sticks and slips."""
        return self.smooth is None

    @property
    def mode(self) -> float:
        """The direction in which the dof slips."""
        return self.sign

    @mode.setter
    def mode(self, sign: float) -> None:
        self.sign = sign

    @property
    def sticks(self) -> bool:
        """True if the dof is held now."""
        return self.smooth is None and self.sign == 0.0

    @property
    def bounds(self) -> tuple[float, float]:
        """The forces with which it can hold."""
        return -self.static, self.static

    @property
    def law(self) -> HoldLaw:
        """Numbers of the friction for compiled steps."""
        numbers = self.coulomb, self.static, self._stribeck or 0.0, self._viscous
        return HoldLaw(False, 0.0, 0.0, *numbers)

    @property
    def guide(self) -> tuple[float, float, float] | None:
        """Coordinate, rate and acceleration of a dof that it holds; None where that rests at any place."""
        return None

    def impose(self, q: Array, v: Array) -> None:
        """Let a dof that sticks rest."""
        v[self.number] = 0.0

    def force(self, t: float, state: State) -> Array:
        """The generalized force while it slips; while it sticks, the mechanism finds it."""
        total = np.zeros(state.v.shape[-1])
        v = float(state.v[self.number])
        sign = self.sign if self.smooth is None else float(np.tanh(v / self.smooth))
        extra = self.static - self.coulomb
        dry = self.coulomb + (extra * float(np.exp(-((v / self._stribeck) ** 2))) if self._stribeck and extra else 0.0)
        total[self.number] = -sign * dry - self._viscous * v
        return total

    def wrenches(self, t: float, state: State) -> Mapping[Any, Wrench]:
        """None on nodes: it acts through the hinge."""
        return {}

    # -- sticking and slipping ---------------------------------------------------------------------------------------

    def margin(self, problem: Mechanism, t: float, state: State) -> float:
        """Function that falls through zero when it slips (how much more it could hold) or sticks (its speed)."""
        if self.sign:
            return self.sign * float(state.v[self.number])
        return self.static - abs(problem.held_by(self, t, state))

    def take(self, q: Array, v: Array) -> None:
        """Stick at rest, else slip as it moves."""
        self.sign = float(np.sign(v[self.number]))

    def excess(self, force: float) -> float:
        """Relative excess of a force over what it can hold: positive if it must slip."""
        return abs(force) / self.static - 1.0 if self.static > 0.0 else float(abs(force) > 0.0)

    def release(self, force: float) -> None:
        """Slip to where it is pushed, against the force that held it."""
        self.sign = -float(np.sign(force))

    def runs_back(self, v: Array, vdot: Array, small: float) -> bool:
        """True if it slips from rest to the other side than its friction is for."""
        return bool(v[self.number] == 0.0 and self.sign * vdot[self.number] < -small * self.static)


def _speed(value: Any, what: str) -> float | None:
    if value is None:
        return None
    speed = not_negative(value, what)
    if speed <= 0.0:
        raise StateError(f"the {what} must be positive, got {speed:g}.")
    return speed
