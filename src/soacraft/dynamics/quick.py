"""Calls that cost little more than their kernel: of the public functions, and of the methods of a `Dynamics` handle.

Such a call takes plain float64 arrays, a single state or a batch with one leading axis, nodes and wrenches at them;
other arguments go to the full function, which checks them and explains errors. Calls are kept with the layout of a
model, so that a structural change ends them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper, wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.coupled import with_couplings
from soacraft.dynamics.engine import answers
from soacraft.dynamics.node_twists import node_twist
from soacraft.dynamics.per_body import BodyArray, NodeMotion, Poses
from soacraft.dynamics.table import TABLE
from soacraft.hints import add_hint
from soacraft.model.flat.compiled import CompiledModel, fast_call
from soacraft.model.flat.sko import SKOModel
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[..., Any]


def quick(function: Callable[P, R]) -> Callable[P, R]:
    """The function of the table, answered by a quick call of the graph where there is one."""
    function = with_couplings(function)
    name, model_type, make = function.__name__, Multibody, _call_of
    blocks_type, blocks, explain = SKOModel, _of_sko, add_hint

    def quickly(g: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if type(g) is model_type:
                return ((g._edits.layout or g.layout).calls.get(name) or make(g, function))(*args, **kwargs)
            if isinstance(g, blocks_type):
                return blocks(name, g, args, kwargs)
            return function(g, *args, **kwargs)
        except TypeError as error:
            explain(error, function)
            raise

    # in the function's own module, where doctest and pickle look for it
    function_of = FunctionType(quickly.__code__, function.__globals__, name, quickly.__defaults__, quickly.__closure__)
    return cast(Callable[P, R], update_wrapper(function_of, function))


def _of_sko(name: str, m: SKOModel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of an SKO model; operators are imported when they are first asked for."""
    # operators take long to load
    from soacraft.dynamics.sko import of_sko

    return of_sko(name, m, args, kwargs)


def also_of_sko(function: Callable[P, R]) -> Callable[P, R]:
    """A function that has no quick call, and for SKO models what `dynamics.sko` has for it."""

    @wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        if args and isinstance(args[0], SKOModel):
            result: R = _of_sko(function.__name__, args[0], args[1:], kwargs)
            return result
        return function(*args, **kwargs)

    return answered


def _call_of(mb: Multibody, function: Function) -> Function:
    """The quick call of a function for a model, made once for its layout; where there is none, the function itself."""
    plain = partial(function, mb)
    call = quick_call(mb, function.__name__, plain) or plain
    mb.layout.calls[function.__name__] = call
    return call


def quick_calls(mb: Multibody, methods: dict[str, Function], ignore_loops: bool) -> dict[str, Function]:
    """Quick forms of the methods of a handle, where there are."""
    calls = {name: quick_call(mb, name, method, ignore_loops) for name, method in methods.items()}
    return {name: call for name, call in calls.items() if call is not None}


def quick_call(mb: Multibody, name: str, fallback: Function, ignore_loops: bool = False) -> Function | None:
    """A quick call of one row of the table; None where there is no kernel, or the model has a hinge of the user's own,
    no dofs, or a hinge that the function refuses. One that Python refuses for the model's loops answers only with
    `ignore_loops=True`.
    """
    row = TABLE.get(name)
    model = CompiledModel.any_of(mb.layout)
    if row is None or model is None or not mb.nv:
        return None
    kernel = row.flexible_kernel if model.flexible else row.kernel
    if kernel is None:
        return None
    if row.holonomic and not mb.layout.holonomic:
        return None
    return fast_call(
        model,
        kernel,
        row.given,
        fallback,
        mb.acting_forces if row.stored else None,
        frames_of(mb, model),
        _WRAPS[name](mb) if name in _WRAPS else None,
        mb.is_closed and not row.right_with_loops,
        ignore_loops,
    )


def frames_of(mb: Multibody, model: CompiledModel) -> dict[Any, bytes]:
    """The frames of a model, which quick calls share."""
    if not isinstance(model.frames, Frames):
        model.frames = Frames(mb, model)
    return model.frames


class Frames(dict[Any, bytes]):
    """Nodes and bodies, by themselves or by name, as the kernels read them; one is made when it is first asked for.
    A change of a constant pose clears them.
    """

    def __init__(self, mb: Multibody, model: CompiledModel) -> None:
        super().__init__()
        self._mb, self._model = mb, model

    def __missing__(self, named: Any) -> bytes:
        mb, model = self._mb, self._model
        with mb._edits.lock:  # a pose that changes meanwhile would be noted as it was
            encoded = model.frame(mb.layout, mb.frame(named)).tobytes()
            if model.parameters == mb.parameters:
                self[named] = encoded
        return encoded


def _twists(kind: str, mb: Multibody) -> tuple[Any, ...]:
    return BodyArray.wrap(mb, kind, "'inertial'", partial(_of_node, mb, kind))


def _of_node(mb: Multibody, kind: str, stored: bytes | tuple[Array, ...], frame: Frame) -> Array:
    """The velocity or acceleration of a node, at the state its result was computed for."""
    state = stored if isinstance(stored, tuple) else np.split(np.frombuffer(stored), [mb.nq, mb.nq + mb.nv])
    vectors: dict[str, Any] = {"vdot": np.zeros(mb.nv)} | dict(zip(TABLE[kind].vectors, state, strict=False))
    if not isinstance(frame.carrier, Body):  # it rests
        return node_twist(kind, read_problem(kind, mb, **vectors), frame)

    def plain(**vectors: Any) -> NodeMotion:
        return NodeMotion(*answers(read_problem("node_motion", mb, **vectors), None))

    motion: NodeMotion = (quick_call(mb, "node_motion", plain) or plain)(**vectors, nodes=(frame,))
    return (motion.velocity if kind == "velocities" else motion.acceleration)[..., 0, :]


#: Results as the core makes them: a class of named tuples, or the result of `wrap` of a class with slots.
_WRAPS: dict[str, Callable[[Multibody], type | tuple[Any, ...]]] = {
    "poses": Poses.wrap,
    "velocities": partial(_twists, "velocities"),
    "accelerations": partial(_twists, "accelerations"),
    "node_motion": lambda mb: NodeMotion,  # a class is filled without being called
}
