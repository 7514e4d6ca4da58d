"""Components without a state: gains, sums, limits, changes of axes. Their inputs act on their outputs at once."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from soacraft.sim.components.compiled import ours
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import In, output
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.library.pure import clip

Size = Annotated[int, Meta(ge=1)] | None


def sized(p: Any) -> tuple[int, ...]:
    """The shape by the parameter `size`: None is a number."""
    return () if p.size is None else (p.size,)


class Gain(Component):
    """y = gain u.

    >>> Gain.y(Gain(gain=3.0).p, 2.0)
    6.0
    """

    class Params(Base):
        gain: float
        size: Size = None

    u = In(shape=sized)

    @output(shape=sized, twin=ours("Gain.y"))
    def y(p, u):
        return p.gain * u


class Sum(Component):
    """y = sign_a a + sign_b b.

    >>> Sum.y(Sum(sign_b=-1.0).p, 3.0, 1.0)
    2.0
    """

    class Params(Base):
        sign_a: float = 1.0
        sign_b: float = 1.0
        size: Size = None

    a = In(shape=sized)
    b = In(shape=sized)

    @output(shape=sized, twin=ours("Sum.y"))
    def y(p, a, b):
        return p.sign_a * a + p.sign_b * b


class Product(Component):
    """y = a b.

    >>> Product.y(3.0, 2.0)
    6.0
    """

    class Params(Base):
        size: Size = None

    a = In(shape=sized)
    b = In(shape=sized)

    @output(shape=sized, twin=ours("Product.y"))
    def y(a, b):
        return a * b


class Saturation(Component):
    """y = u, within lower and upper.

    >>> Saturation.y(Saturation(lower=-1.0, upper=1.0).p, 3.0)
    1.0
    """

    class Params(Base):
        lower: float
        upper: float
        size: Size = None

    u = In(shape=sized)

    @output(shape=sized, twin=ours("Saturation.y"))
    def y(p, u):
        return clip(u, p.lower, p.upper)


class Join(Component):
    """Two signals as one vector:  y = [a; b].

    >>> Join.y(Join(size_a=1, size_b=2).p, np.array([1.0]), np.array([2.0, 3.0]))
    array([1., 2., 3.])
    """

    class Params(Base):
        size_a: Size = None
        size_b: Size = None

    a = In(shape=lambda p: () if p.size_a is None else (p.size_a,))
    b = In(shape=lambda p: () if p.size_b is None else (p.size_b,))

    @output(shape=lambda p: ((p.size_a or 1) + (p.size_b or 1),), twin=ours("Join.y"))
    def y(p, a, b):
        a = np.asarray(a)[..., None] if p.size_a is None else a
        b = np.asarray(b)[..., None] if p.size_b is None else b
        return np.concatenate([a, b], axis=-1)


class Express(Component):
    """A vector in other axes:  y = R u, or R.T u with `inverse`; R turns `source` axes into `target` ones.

    >>> turned = Express(source="arm:hand", target="inertial")
    >>> Express.y(turned.p, np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.array([1.0, 0.0, 0.0]))
    array([0., 1., 0.])
    """

    class Params(Base):
        source: str
        target: str
        inverse: bool = False

    rotation = In("", shape=(3, 3))
    u = In(shape=(3,), frame=lambda p: p.source)

    @output(shape=(3,), frame=lambda p: p.target, twin=ours("Express.y"))
    def y(p, rotation, u):
        R = np.swapaxes(rotation, -1, -2) if p.inverse else rotation
        return (R @ u[..., None])[..., 0]
