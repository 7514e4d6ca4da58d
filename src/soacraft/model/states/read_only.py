"""`mb.q`, `mb.v`, `mb.vdot` and those of states: arrays that say how they are changed when one tries to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import ref

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat.structure import Structure
from soacraft.order import Order, known_order
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.model.flat.layout import Layout


class StateArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A read-only array of a graph's state, which knows the order of its entries (`soacraft.order`).

    Its copies, and what is computed from it, can be written to. Copies and what is computed entry by entry know the
    order too; parts, rows of other shapes and `np.asarray(x)` are plain numbers.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(2)
    >>> mb.q[1] = 0.3
    Traceback (most recent call last):
        ...
    soacraft.errors.StateError: q of 'chain' is read-only, so q[1] = 0.3 is refused. Set it by name, \
mb.set_state(q={'link2': 0.3}), or the whole, mb.q = [...]; a snapshot with some of it new is s.replace(q=...).
    """

    _of: tuple[ref[Structure], str] | None = None  # a weak reference: numbers that are kept do not keep a model
    order: Order | None = None

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        if return_scalar:
            return plain[()]
        if self.order is None or context is None or plain.shape != self.shape or plain.dtype != np.float64:
            return plain
        ufunc, arguments = context[:2]
        if ufunc.signature is not None or any(known_order(x) not in (None, self.order) for x in arguments):
            return plain
        return _ordered(plain, self.order)

    def copy(self, order: Any = "C") -> Any:
        plain = np.array(self, order=order)
        return plain if self.order is None else _ordered(plain, self.order)

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            self._refuse(f"[{key!r:.40}] = {value!r:.40}", self._named(key, value))
        super().__setitem__(key, value)

    def _named(self, key: Any, value: Any) -> str:
        """The change as a dictionary by name, where it is one of one coordinate."""
        graph, what = self._source()
        single = isinstance(key, int | np.integer) and self.ndim == 1 and -self.size <= key < self.size
        if graph is not None and single:
            slices = graph.layout.hinge_q if what == "q" else graph.layout.hinge_v
            for body, at in zip(graph.bodies, slices, strict=True):
                if at.start <= key % self.size < at.stop:
                    shown = f"{value!r:.40}" if at.stop - at.start == 1 else "[...]"
                    return f"{{{body.hinge_name!r}: {shown}}}"
        return "{name: value}"

    def _source(self) -> tuple[Structure | None, str]:
        return (None, "q") if self._of is None else (self._of[0](), self._of[1])

    def _refuse(self, tried: str, change: str) -> NoReturn:
        graph, what = self._source()
        whose = "a state" if graph is None else repr(graph.name)
        raise StateError(
            f"{what} of {whose} is read-only, so {what}{tried} is refused. Set it by name, "
            f"mb.set_state({what}={change}), or the whole, mb.{what} = [...]; a snapshot with some of it new is "
            f"s.replace({what}=...)."
        )


def _in_place(name: str) -> Callable[[StateArray, Any], Any]:
    def method(self: StateArray, other: Any) -> Any:
        if not self.flags.writeable:
            self._refuse(" += ... and the like", "...")
        return getattr(np.ndarray, name)(self, other)

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(StateArray, f"__i{_name}__", _in_place(f"__i{_name}__"))


def _ordered(x: Array, order: Order) -> StateArray:
    array: StateArray = x.view(StateArray)
    array.order = order
    return array


def of_state(graph: Structure, what: str, x: Array, order: Order) -> Array:
    """A read-only array as q, v or vdot of a graph's state."""
    array = _ordered(x, order)
    array._of = (ref(graph), what)
    return array


def reads_state(layout: Layout, q: Any, v: Any, vdot: Any) -> bool:
    """True unless one of these is a state array in another order than the layout has."""
    for x, order in ((q, layout.q_order), (v, layout.v_order), (vdot, layout.v_order)):
        if type(x) is StateArray and x.order is not None and x.order is not order:
            return False
    return True
