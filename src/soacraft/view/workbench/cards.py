"""Card of a value for the page: data for each part. A part that cannot be made says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, cast

import numpy as np

from soacraft.algebra.answers.explanation import Explanation
from soacraft.algebra.answers.properties import Properties
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.block_colours import drawn_blocks, segment_borders
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.citations import cite
from soacraft.errors import SoacraftError
from soacraft.mathml import math
from soacraft.ops.proofs.proof import Proof
from soacraft.view.spy import cells
from soacraft.view.sweeps import sweep

#: Numbers of a table at most, and rows or columns; a larger one is asked for by block.
MOST_NUMBERS, MOST_SIDE = 3600, 200
#: Blocks on a side of a picture of structure, and characters of a formula.
MOST_BLOCKS, MOST_LATEX = 120, 20_000

Data = dict[str, Any]


def card(value: Any, bodies: Sequence[str]) -> Data:
    """The parts of a card, as data for the page; `bodies` are the names that pictures refer to by number."""
    data: Data = _card(value, {name: k for k, name in enumerate(bodies)})
    return data


@singledispatch
def _card(value: Any, bodies: dict[str, int]) -> Data:
    return {"kind": "text", "text": str(value)}


@_card.register
def _(value: Operator, bodies: dict[str, int]) -> Data:
    data: Data = {"kind": "operator", "text": value.text(), **_formula(value)}
    if value.rows is None:
        return {**data, "spaces": "of any space"}
    rows, cols = value.spaces
    return {
        **data,
        "spaces": f"{rows} <- {cols}",
        "structure": _tried(lambda: _structure(value, bodies)),
        "plan": _tried(lambda: _plan(value.explain())),
        "sweep": _tried(lambda: _sweep(value, bodies)),
        "value": numbers(value),
    }


@_card.register
def _(value: StackedVector, bodies: dict[str, int]) -> Data:
    return {"kind": "vector", "text": f"a vector of {value.space}", "value": numbers(value)}


@_card.register
def _(value: np.ndarray, bodies: dict[str, int]) -> Data:
    return {"kind": "block", "text": f"numbers, {' x '.join(map(str, value.shape))}", "value": numbers(value)}


@_card.register
def _(value: Explanation, bodies: dict[str, int]) -> Data:
    data: Data = {"kind": "explanation", "text": f"{value.expression} : {value.spaces}", "plan": _plan(value)}
    return data if value.source is None else {**data, **_formula(cast(Operator, value.source))}


@_card.register
def _(value: Properties, bodies: dict[str, int]) -> Data:
    return {"kind": "text", "text": repr(value)}


@_card.register
def _(value: Proof, bodies: dict[str, int]) -> Data:
    steps = [{**_formula(x.expression), "text": x.expression.text(), "because": _because(x)} for x in value.steps]
    first = {**_formula(value.left), "text": value.left.text(), "because": ""}
    return {
        "kind": "proof",
        "text": f"{value.left.text()} = {value.right.text()}",
        "found": value.found,
        "steps": [first, *steps] if value.found else [],
        "reason": value.reason or value.checked,
    }


def numbers(value: Any) -> Data:
    """The numbers of a value at the present state, with labels of rows and columns; folded where there are many."""
    return _tried(lambda: _numbers(value))


def _numbers(value: Any) -> Data:
    if isinstance(value, Operator):
        rows, cols = value.spaces
        if rows.size * cols.size > MOST_NUMBERS or max(rows.size, cols.size) > MOST_SIDE:
            return {"folded": f"{rows.size} x {cols.size} numbers: select a block, or name one as [i, j]."}
        return {"rows": _labels(rows), "columns": _labels(cols), "numbers": _finite(value.array())}
    if isinstance(value, StackedVector):
        data = np.asarray(value)
        if data.ndim != 1 or data.size > MOST_NUMBERS:
            return {"folded": f"{' x '.join(map(str, data.shape))} numbers: name a block, as in V['hand']."}
        return {"rows": _labels(value.space), "columns": [""], "numbers": _finite(data[:, None])}
    block = np.atleast_2d(np.asarray(value, dtype=float))
    if block.ndim != 2 or block.size > MOST_NUMBERS:
        return {"folded": f"{' x '.join(map(str, block.shape))} numbers."}
    return {"rows": [""] * len(block), "columns": [""] * block.shape[1], "numbers": _finite(block)}


def _finite(x: Any) -> list[list[float | str]]:
    """Numbers for JSON, which has no infinity."""
    return [[float(c) if np.isfinite(c) else str(c) for c in row] for row in x]


def _labels(space: Space) -> list[str]:
    """A label for each entry: the block's name, with a number where it has several."""
    made = []
    for k in space.order:
        size = space.dims[k]
        made += [space.labels[k] if size == 1 else f"{space.labels[k]} {i}" for i in range(size)]
    return made


def _formula(expr: Operator) -> Data:
    latex = expr.latex()
    return {"latex": latex, "math": math(latex)} if len(latex) <= MOST_LATEX else {"latex": "", "math": None}


def _structure(expr: Operator, bodies: dict[str, int]) -> Data:
    rows, cols = expr.spaces
    if max(len(rows), len(cols)) > MOST_BLOCKS:
        return {"refused": f"{len(rows)} x {len(cols)} blocks; a picture has at most {MOST_BLOCKS} on a side."}
    up, across = drawn_blocks(rows), drawn_blocks(cols)
    return {
        "rows": [rows.labels[k] for k in up],
        "columns": [cols.labels[k] for k in across],
        "row_bodies": [_body(rows.labels[k], bodies) for k in up],
        "column_bodies": [_body(cols.labels[k], bodies) for k in across],
        "row_borders": sorted(segment_borders(rows, up)),
        "column_borders": sorted(segment_borders(cols, across)),
        "cells": [[x.row, x.column, x.colour] for x in cells(expr)],
    }


def _body(label: str, bodies: dict[str, int]) -> int | None:
    """The number of the body of a block: of a node, that of its body."""
    return bodies.get(label, bodies.get(label.partition("/")[0]))


def _plan(explanation: Explanation) -> Data:
    """The table of `explain()`, and what a product costs."""
    steps = [(str(i + 1), x) for i, x in enumerate(explanation.product)]
    every = [*steps, ("[i, j]", explanation.block), ("array", explanation.array)]
    cost = explanation.cost
    return {
        "cost": "" if cost is None else f"{cost.product} block products for a product with a vector",
        "steps": [[n, x.kind, x.operator[:80], x.cost, cite(x.why)] for n, x in every],
    }


def _sweep(expr: Operator, bodies: dict[str, int]) -> Data:
    """The sweeps of a product, moment by moment, on bodies by number."""
    made = sweep(expr)
    index = [_body(name, bodies) for name in made.tree.names]

    def numbered(which: frozenset[int]) -> list[int]:
        return sorted(k for k in (index[i] for i in which) if k is not None)

    lines = [f"{i + 1} of {len(made.steps)}: {x.kind} by {x.operator[:60]}" for i, x in enumerate(made.steps)]
    moments = [[x.step, x.kind, numbered(x.now), numbered(x.done)] for x in made.moments]
    return {"lines": lines, "moments": moments}


def _because(step: Any) -> str:
    return f"{step.name} ({cite(step.source)})" if step.source else str(step.name)


def _tried(make: Callable[[], Data]) -> Data:
    """A part of a card, or why there is none."""
    try:
        return make()
    except (SoacraftError, RecursionError) as error:
        return {"refused": str(error) or "the expression is nested too deep."}
