"""Reading the arguments of the dynamics functions: they become clean numbers, or errors that say why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from soacraft.dynamics.problem import Mask, Problem
from soacraft.dynamics.table import TABLE
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.passive import compensation, refuse_rolling
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.steady import disturbed
from soacraft.model.states.coordinates import common_batch, read_forces, read_q, read_v
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.names import find_dofs
from soacraft.model.tree.parts.closures import refuse_loops
from soacraft.spatial.checks import Array

#: More threads than this are taken for this many; no machine gains from more.
MOST_THREADS = 256

def read_problem(
    function: str,
    g: Any,
    *,
    f_ext: Any = None,
    stored: bool = False,
    threads: Any = None,
    ignore_loops: Any = False,
    nodes: tuple[Frame, ...] = (),
    expressed_in: Frame | str = "inertial",
    prescribed: Any = None,
    passive: Any = False,
    **values: Any,
) -> Problem:
    """Check the arguments of a call. `stored`: the forces kept with the model's state act in addition to `f_ext`;
    `passive`: so do the springs, dampers and gravity compensation of the model.
    """
    graph = read_graph(function, g)
    before = graph.layout
    try:
        act = read_passive(function, graph, passive)
        check_loops(function, graph, ignore_loops)
        with np.errstate(all="ignore"):
            arrays = {name: _read(graph, name, value) for name, value in values.items()}
            wrenches_given = read_forces(graph, f_ext)
        forces = (graph.current.forces if stored else ()) + wrenches_given + (compensation(graph) if act else ())
        wrenches = {f"the wrench at {frame.full_name!r}": np.asarray(wrench) for frame, wrench in wrenches_given}
        p = Problem(
            function,
            graph,
            arrays,
            forces,
            common_batch(**arrays, **wrenches),
            read_threads(function, threads),
            nodes,
            expressed_in,
            None if prescribed is None else read_prescribed(graph, prescribed),
            act,
        )
    except Exception as error:
        if not before.is_current:
            raise disturbed(graph.name, function) from error
        raise
    if p.layout is not before:
        raise disturbed(graph.name, function)
    return p


def _read(graph: Graph, name: str, value: Any) -> Array:
    return read_q(graph, value) if name == "q" else read_v(graph, value, name)


def read_graph(function: str, g: Any) -> Graph:
    """A model or a sub-graph, fresh."""
    if not isinstance(g, Graph):
        raise ModelError(f"{function} takes a Multibody or a sub-graph of one, got {g!r:.80}.{_cure(function, g)}")
    g.layout  # noqa: B018  (a stale sub-graph says so here)
    return g


def _cure(function: str, g: Any) -> str:
    """Cure for a system that has operators, a closed chain or one with compound bodies."""
    if isinstance(g, SKOModel):
        return (
            f" An SKO model has blocks only: {function} of it is written in operators, s = sc.operators(model); "
            "sc.dynamics.forward_dynamics and its relatives take it."
        )
    if not callable(getattr(g, "binding", None)):
        return ""
    if callable(getattr(g, function, None)):
        return f" It has its own: s.{function}(...)."
    return (
        " Of a closed chain write it in operators, s = sc.operators(sc.loops.ConstraintEmbedding(mb)): the mass matrix "
        "is s.H * s.phi * s.M * s.phi.T * s.H.T."
    )


def check_loops(function: str, graph: Graph, ignore_loops: Any) -> None:
    """Raise `LoopError` where a function would answer for the tree alone though loops or couplings tie it. (A handle
    leaves it to its methods.)"""
    boolean, row = isinstance(ignore_loops, bool | np.bool_), TABLE.get(function)
    right = function == "Dynamics" if row is None else row.right_with_loops
    refuse_loops(function, graph, (boolean and right) or ignore_loops)


def read_passive(function: str, graph: Graph, passive: Any) -> bool:
    """True if the model's springs, dampers and gravity compensation act; refused where a spring cannot."""
    if not isinstance(passive, bool | np.bool_):
        raise StateError(f"passive of {function} must be True or False, got {passive!r:.60}.")
    if passive:
        refuse_rolling(graph.layout)
    return bool(passive)


def read_threads(function: str, threads: Any) -> int | None:
    """The number of threads for a batch: a whole number of at least 1, or None for a choice of our own."""
    if threads is None:
        return None
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise StateError(f"threads of {function} must be a whole number of at least 1, or None; got {threads!r:.60}.")
    return min(int(threads), MOST_THREADS)


# -- frames -------------------------------------------------------------------------------------------------


def read_nodes(function: str, g: Any, nodes: Any) -> tuple[Frame, ...]:
    """The frames of one or several nodes (or bodies)."""
    graph = read_graph(function, g)
    frames = tuple(graph.frame(node) for node in (nodes if isinstance(nodes, list | tuple) else [nodes]))
    for frame in frames:
        if not isinstance(frame.carrier, Body):
            raise ModelError(
                f"{function}: {frame.full_name!r} is on the inertial frame, which does not move; give a node on a body."
            )
    return frames


def read_axes(function: str, g: Any, expressed_in: Any, local: str) -> Frame | str:
    """`local` ("body" or "node": each frame's own axes), "inertial", or a frame."""
    graph = read_graph(function, g)
    if isinstance(expressed_in, str) and expressed_in in (local, "inertial"):
        return expressed_in
    if not isinstance(expressed_in, str | Frame):
        raise ModelError(
            f"expressed_in of {function} must be 'inertial', {local!r} or a frame of {graph.name!r}, "
            f"got {expressed_in!r:.60}."
        )
    frame = graph.frame(expressed_in)
    return "inertial" if frame is graph.root else frame


# -- which dofs are prescribed ------------------------------------------------------------------------------


def read_prescribed(graph: Graph, prescribed: Any, what: str = "prescribed") -> Mask:
    """Mask over the dofs, from a mask, or from names or numbers of dofs; a hinge or body means all its dofs."""
    if isinstance(prescribed, str | Frame):
        prescribed = [prescribed]
    if not isinstance(prescribed, np.ndarray | Iterable) or isinstance(prescribed, dict | bytes):
        raise StateError(_dofs_text(graph, prescribed, what))
    items = prescribed.tolist() if isinstance(prescribed, np.ndarray) else list(prescribed)
    if not isinstance(items, list):
        raise StateError(_dofs_text(graph, prescribed, what))
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != graph.nv:
            raise StateError(
                f"the mask of {what} dofs of {graph.name!r} needs {graph.nv} entries, got {len(items)}."
            )
        return np.array(items, dtype=np.bool_)
    mask = np.zeros(graph.nv, dtype=np.bool_)
    for item in items:
        dofs = _dofs(graph, item, what)
        if mask[dofs].any():
            raise StateError(
                f"the {what} dofs of {graph.name!r} name {item!r} twice; a mask is made of True and False."
            )
        mask[dofs] = True
    return mask


def _dofs(graph: Graph, item: Any, what: str) -> list[int]:
    """Numbers of the dofs that an entry means."""
    if isinstance(item, str | Frame):
        body, part = find_dofs(graph, item, lambda text: StateError(f"{what} dofs: {text}"))
        return list(range(graph.nv))[graph.layout.v_slices[graph.layout.index[body]]][part]
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if 0 <= item < graph.nv:
            return [int(item)]
        to = {"prescribed": "prescribe", "fixed": "fix", "actuated": "actuate"}.get(what, f"be {what}")
        raise StateError(f"{graph.name!r} has dofs 0 to {graph.nv - 1}; there is no dof {item!r} to {to}.")
    raise StateError(_dofs_text(graph, item, what))


def _dofs_text(graph: Graph, value: Any, what: str) -> str:
    names = [repr(name) for name in graph.dof_names]
    shown = ", ".join(names if len(names) <= 6 else [*names[:3], "...", names[-1]])
    return (
        f"{what} dofs of {graph.name!r} are given by a mask of {graph.nv} entries True or False, or by names "
        f"({shown}) or numbers of dofs; got {value!r:.60}."
    )
