"""Choice of the engine of a call: the compiled one where the model offers it, the Python reference elsewhere."""

from __future__ import annotations

from typing import Any, Protocol

from soacraft.dynamics.compiled import compiled_engine
from soacraft.dynamics.delivery import deliver, read_out, refuse_large_results
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import REFERENCE
from soacraft.dynamics.table import TABLE
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


class Engine(Protocol):
    """Computes the function named in a problem; a tuple of arrays whose leading axes broadcast to the batch."""

    def run(self, p: Problem) -> tuple[Any, ...]: ...


def engine_of(graph: Graph) -> Engine:
    """The engine for a graph."""
    return compiled_engine(graph) or REFERENCE


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
        p.require_steady()
        return deliver(p, results, tails)
    except Exception as error:  # an engine may have written into `out`
        for to, value in zip(p.out, before, strict=True):
            if to is not None:
                to[...] = value
        if not p.layout.is_current:
            p.require_steady(error)
        raise
