"""Which engine computes a call: the compiled one where the model offers it, the Python reference elsewhere."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from soacraft.dynamics.compiled import compiled_engine
from soacraft.dynamics.delivery import deliver, read_out, refuse_large_results
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.dynamics.table import TABLE
from soacraft.model.flat import links
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


class Engine(Protocol):
    """Computes the function named in a problem; a tuple of arrays whose leading axes broadcast to the batch."""

    def run(self, p: Problem) -> tuple[Any, ...]: ...


def engine_of(graph: Graph) -> Engine:
    """The engine for a graph."""
    return compiled_engine(graph) or REFERENCE


#: Functions whose results are derivatives, and the sign with which those of a force enter.
_RATES = {"inverse_dynamics_derivatives": -1.0, "forward_dynamics_derivatives": 1.0}


def _links_rates(p: Problem) -> tuple[Array, Array] | None:
    """How the forces of springs and bushings between nodes vary, which engines hold in body axes, (..., nv, nv)."""
    if not p.passive or not p.layout.has_links or p.function not in _RATES or 0 in p.batch:
        return None
    q, v = (p.full(name).reshape(-1, p.given[name].shape[-1]) for name in ("q", "v"))
    found = []
    for one in zip(q, v, strict=True):
        measure = measure_of(p.graph, one[0])
        state = p.graph.current.replace(q=one[0], v=one[1], forces=())
        found.append(links.derivatives(state, 1.0 / measure.dofs, measure.length))
    dq, dv = (np.array(x).reshape(*p.batch, p.nv, p.nv) for x in zip(*found, strict=True))
    return dq, dv


def answer(p: Problem, out: Any) -> Array:
    """Compute a problem whose result is one array."""
    return answers(p, out)[0]


def answers(p: Problem, out: Any) -> tuple[Array, ...]:
    """Compute a problem whose results are several arrays; their shapes are those of the table."""
    tails = TABLE[p.function].tails(p)
    read_out(p, out, tails)
    refuse_large_results(p, tails)
    before = tuple(None if x is None else x.copy() for x in p.out)
    try:
        more = _links_rates(p)
        results = engine_of(p.graph).run(p)
        for to, change in zip(results, more or (), strict=False):
            to += _RATES[p.function] * (results[2] @ change if p.function.startswith("forward") else change)
        p.require_steady()
        return deliver(p, results, tails)
    except Exception as error:  # an engine may have written into `out`
        for to, kept in zip(p.out, before, strict=True):
            if to is not None:
                to[...] = kept
        if not p.layout.is_current:
            p.require_steady(error)
        raise
