"""Calls that cost little more than their kernel, for the methods of a `Dynamics` handle.

Such a call takes single states as contiguous float64 arrays and looks at nothing else; whatever it is not sure of goes
to the method it stands for, which checks, explains and takes care of batches. A structural change retires it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from soacraft.dynamics.arguments import RIGHT_WITH_LOOPS
from soacraft.dynamics.compiled import USES
from soacraft.dynamics.per_body import Poses
from soacraft.model.compiled import CompiledModel, fast_call, kernel_names
from soacraft.model.frame import Body, Frame
from soacraft.model.graph import Multibody

#: Functions whose arguments are exactly the inputs of their kernel.
_DIRECT = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "mass_matrix_inverse",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def fast_calls(
    mb: Multibody, methods: dict[str, Callable[..., Any]], ignore_loops: bool
) -> dict[str, Callable[..., Any]]:
    """Quick forms of some methods; empty when the model has a hinge of the user's own, or no dofs.

    A method that refuses the model for its loops has none: the refusal is Python's.
    """
    model = CompiledModel.of(mb.layout)
    if model is None or not mb.nv:
        return {}
    known = set(kernel_names())
    refused = mb.is_closed and not ignore_loops
    holonomic = all(group.hinge.holonomic for group in mb.layout.groups)
    calls = {
        name: fast_call(model, USES[name].kernel, mb.acting_forces, methods[name])
        for name in _DIRECT
        if USES[name].kernel in known
        and (holonomic or not name.endswith("derivatives"))
        and not (refused and name not in RIGHT_WITH_LOOPS)
    }
    calls["poses"] = fast_call(model, "poses", {}, methods["poses"], wrap=Poses.maker(mb))
    calls["jacobian"] = fast_call(
        model, "jacobian", {}, _noting(mb, model, methods["jacobian"]), frames=model.frames
    )
    return calls


def _noting(mb: Multibody, model: CompiledModel, jacobian: Callable[..., Any]) -> Callable[..., Any]:
    """The method, and from then on the quick call knows the node it was asked for."""

    @wraps(jacobian)
    def noting(*args: Any, **kwargs: Any) -> Any:
        found = jacobian(*args, **kwargs)
        if len(args) == 2 and isinstance(args[1], str | Frame):
            with mb._lock:  # a pose that changes meanwhile would be noted as it was
                frame = mb.frame(args[1])
                if isinstance(frame.carrier, Body) and model.parameters == mb.parameters:
                    model.frames[args[1]] = model.frame(mb.layout, frame).tobytes()
        return found

    return noting
