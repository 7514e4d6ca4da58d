"""Which engine computes a call: the compiled one where the model offers it, the Python reference elsewhere."""

from __future__ import annotations

from typing import Any, Protocol

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


def _with_links(p: Problem, results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The derivatives with how springs and bushings between nodes vary: engines hold their force in body axes."""
    unit = 1.0 / measure_of(p.graph, p.given["q"].reshape(-1, p.layout.nq)[0]).dofs
    parts = links.derivatives(p.state, unit)
    for to, more in zip(results, parts, strict=False):
        to += _RATES[p.function] * (results[2] @ more if p.function.startswith("forward") else more)
    return results


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
        results = engine_of(p.graph).run(p)
        if p.passive and p.layout.has_links and p.function in _RATES:
            results = _with_links(p, results)
    except Exception as error:
        p.require_steady(error)
        raise
    if not p.layout.is_current:  # an engine may have written into `out`
        for to, kept in zip(p.out, before, strict=True):
            if to is not None:
                to[...] = kept
        p.require_steady()
    return deliver(p, results, tails)
