"""`Dynamics`: the dynamics functions bound to one graph, for hot loops."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

from soacraft.attributes import Strict
from soacraft.dynamics import derivatives, forces, inertias, motion, nodes, system
from soacraft.dynamics.arguments import check_loops, read_graph
from soacraft.dynamics.quick import quick_calls
from soacraft.errors import StaleError
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody

P = ParamSpec("P")
R = TypeVar("R")


def _bound(function: Callable[Concatenate[Graph, P], R]) -> Callable[Concatenate[Dynamics, P], R]:
    """The function as a method."""

    def method(self: Dynamics, /, *args: P.args, **kwargs: P.kwargs) -> R:
        kwargs.setdefault("ignore_loops", self._ignore_loops)
        return function(self.graph, *args, **kwargs)

    summary = (function.__doc__ or "").strip().partition("\n")[0]  # none under python -OO
    first, *others = signature(function).parameters.values()
    method.__name__, method.__qualname__ = function.__name__, f"Dynamics.{function.__name__}"
    method.__signature__ = Signature([first.replace(name="self"), *others])  # type: ignore[attr-defined]
    method.__doc__ = f"{summary}\n\nAs `soacraft.dynamics.{function.__name__}`, of the bound graph."
    return method


def _handle(kind: type[Dynamics], g: Graph, ignore_loops: bool) -> Dynamics:
    """A handle that was copied, of the graph copied with it."""
    return kind(g, ignore_loops=ignore_loops)


class Dynamics(Strict):
    """A handle bound to one `Multibody` or sub-graph: the functions of `soacraft.dynamics` as methods.

    After a structural change of the model it raises `StaleError`: make a new one. Its methods take `ignore_loops` as
    given here by default.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.dynamics import Dynamics
    >>> d = Dynamics(sc.load("pendulum"))
    >>> vdot = np.empty(1)
    >>> d.forward_dynamics([np.pi / 2], [0.0], [11.81], out=vdot) is vdot
    True
    >>> vdot
    array([2.])
    """

    _cures: ClassVar = {"*": "a handle stays as it was made: make another with sc.Dynamics(mb, ignore_loops=...)"}

    def __init__(self, g: Graph, *, ignore_loops: bool = False) -> None:
        self._graph = read_graph("Dynamics", g)
        check_loops("Dynamics", g, ignore_loops)
        self._version, self._ignore_loops = g.version, bool(ignore_loops)
        if isinstance(g, Multibody):
            names = [name for name in dir(type(self)) if not name.startswith("_") and name != "graph"]
            self.__dict__.update(quick_calls(g, {name: getattr(self, name) for name in names}, self._ignore_loops))

    @property
    def graph(self) -> Graph:
        """The graph, if its structure is still the one the handle was made for."""
        if self._graph.version != self._version:
            raise StaleError(
                f"this handle of {self._graph.name!r} was made before a structural change of the model; "
                "make a new one with sc.Dynamics(...)."
            )
        return self._graph

    def __reduce__(self) -> tuple[Any, ...]:
        return _handle, (type(self), self.graph, self._ignore_loops)

    def __repr__(self) -> str:
        return f"Dynamics of {self._graph!r}"

    inverse_dynamics = _bound(forces.inverse_dynamics)
    forward_dynamics = _bound(forces.forward_dynamics)
    mixed_dynamics = _bound(forces.mixed_dynamics)
    bias_force = _bound(forces.bias_force)
    gravity_force = _bound(forces.gravity_force)
    interbody_forces = _bound(forces.interbody_forces)
    passive_force = _bound(forces.passive_force)
    compensating_force = _bound(forces.compensating_force)
    mass_matrix = _bound(inertias.mass_matrix)
    mass_matrix_inverse = _bound(inertias.mass_matrix_inverse)
    mass_matrix_multiply = _bound(inertias.mass_matrix_multiply)
    mass_matrix_solve = _bound(inertias.mass_matrix_solve)
    log_det_mass_matrix = _bound(inertias.log_det_mass_matrix)
    composite_inertia = _bound(inertias.composite_inertia)
    poses = _bound(motion.poses)
    velocities = _bound(motion.velocities)
    accelerations = _bound(motion.accelerations)
    node_motion = _bound(motion.node_motion)
    jacobian = _bound(nodes.jacobian)
    jacobian_dot_v = _bound(nodes.jacobian_dot_v)
    operational_space_compliance = _bound(nodes.operational_space_compliance)
    operational_space_inertia = _bound(nodes.operational_space_inertia)
    center_of_mass = _bound(system.center_of_mass)
    kinetic_energy = _bound(system.kinetic_energy)
    potential_energy = _bound(system.potential_energy)
    passive_energy = _bound(system.passive_energy)
    momentum = _bound(system.momentum)
    centroidal_momentum_matrix = _bound(system.centroidal_momentum_matrix)
    inverse_dynamics_derivatives = _bound(derivatives.inverse_dynamics_derivatives)
    forward_dynamics_derivatives = _bound(derivatives.forward_dynamics_derivatives)
