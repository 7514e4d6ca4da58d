"""Couplings that others imply, and couplings that no coordinates can meet together.

A coupling is a polynomial without mixed terms, sum c_jp q_j^p = b: a row c over the monomials q_j^p, and b. A row that
is a sum of others, c = w1 c1 + w2 c2 + ..., is redundant where b = w1 b1 + w2 b2 + ..., and contradicts them elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.health.report import Finding
from soacraft.model import Coupling, Graph
from soacraft.model.sizes.measure import CLOSED, measure_of
from soacraft.spatial.checks import Array

#: Part of a row that is independent of others, relative to the row, below which it is rounding.
_ROUNDING = 1e-10


def check_couplings(graph: Graph) -> Iterator[Finding]:
    """Active couplings that depend on those before them. O(c^2 terms) for c couplings."""
    couplings = [x for x in graph.couplings if x.active]
    if len(couplings) < 2:
        return
    sizes = measure_of(graph, np.asarray(graph.current.q)).couplings
    for k, weights in _dependent(_rows(couplings)):
        coupling = couplings[k]
        others = [(w, couplings[i]) for i, w in weights.items()]
        gap = coupling.offset - sum(w * x.offset for w, x in others)
        size = max([sizes[coupling.name], *(abs(w) * sizes[x.name] for w, x in others)])
        names = _listed([repr(x.name) for _, x in others])
        subject = f"coupling {coupling.name!r}"
        if abs(gap) <= CLOSED * size:
            text = f"says what {names} {'says' if len(others) == 1 else 'say together'}: its force is not determined"
            yield Finding("warning", subject, 0.0, text, "leave one of them out")
        else:
            text = f"contradicts {names}: its offset would have to be {coupling.offset - gap:.6g}"
            cure = "correct an offset or a ratio, or leave one of them out"
            yield Finding("error", subject, coupling.offset, text, cure)


def _rows(couplings: list[Coupling]) -> Array:
    """Coefficients (couplings, monomials), each monomial by its largest one: in any unit of its coordinate."""
    monomials: dict[tuple[str, int], int] = {}
    for x in couplings:
        for dof, coefficients in x.terms.items():
            for power in range(len(coefficients)):
                monomials.setdefault((dof, power), len(monomials))
    C = np.zeros((len(couplings), len(monomials)))
    for row, x in zip(C, couplings, strict=True):
        for dof, coefficients in x.terms.items():
            for power, c in enumerate(coefficients):
                row[monomials[dof, power]] = c
    largest = np.abs(C).max(axis=0)
    return np.asarray(C / np.where(largest > 0.0, largest, 1.0))


def _dependent(C: Array) -> Iterator[tuple[int, dict[int, float]]]:
    """Rows that are sums of rows before them, with the weights of these, by Gram and Schmidt (twice)."""
    basis, origin = np.zeros((0, C.shape[1])), np.zeros((0, len(C)))  # basis = origin @ C, orthonormal
    for k, row in enumerate(C):
        rest, weights = row.copy(), np.zeros(len(C))
        for _ in range(2):
            along = basis @ rest
            rest, weights = rest - along @ basis, weights + along @ origin
        remaining, size = float(np.linalg.norm(rest)), float(np.linalg.norm(row))
        if remaining <= _ROUNDING * size:
            # a weight counts by its part of the row
            parts = np.abs(weights) * np.linalg.norm(C, axis=1)
            yield k, {int(i): float(weights[i]) for i in np.flatnonzero(parts > 1e3 * _ROUNDING * size)}
            continue
        weights, basis = -weights, np.vstack([basis, rest / remaining])
        weights[k] = 1.0
        origin = np.vstack([origin, weights / remaining])


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
