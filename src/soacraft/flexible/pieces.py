"""`substructure`: one beam as several, to be welded to each other, for large deflections."""

from __future__ import annotations

from dataclasses import replace

from soacraft.arguments import whole_number
from soacraft.errors import ModelError
from soacraft.flexible.elements import assemble
from soacraft.flexible.fe import FEModel


def substructure(fe: FEModel, n: int) -> list[FEModel]:
    """Pieces of a beam, from its first node to its last: n models, each with interfaces "root", at its origin, and
    "tip". Axes stay those of the beam, so pieces are welded tip to root without a turn.

    The beam is a line of elements (a `beam`, or a `frame` without branches), whose number is a multiple of n.

    >>> import soacraft.flexible as fx
    >>> whole = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=8)
    >>> fx.substructure(whole, 4)[0]
    FEModel(3 nodes, 18 dofs, mass 0.8313; interfaces: root, tip)
    """
    count = whole_number(n, "the number of pieces", 1)
    line, order = _line(fe)
    if len(order) % count:
        raise ModelError(f"{len(order)} elements are not divided by {count} pieces; choose a divisor of {len(order)}.")
    if fe.carried:
        raise ModelError("point masses are not shared out to pieces; add them to the pieces, or as bodies.")
    per = len(order) // count
    pieces = []
    for k in range(count):
        nodes = fe.nodes[line[k * per : (k + 1) * per + 1]]
        place = {i: j for j, i in enumerate(line[k * per : (k + 1) * per + 1])}
        elements = [
            replace(fe.elements[e], nodes=(place[fe.elements[e].nodes[0]], place[fe.elements[e].nodes[1]]))
            for e in order[k * per : (k + 1) * per]
        ]
        piece = assemble(nodes - nodes[0], elements)
        piece.interface("root", nodes=0)
        piece.interface("tip", nodes=per)
        pieces.append(piece)
    return pieces


def _line(fe: FEModel) -> tuple[list[int], list[int]]:
    """Nodes and elements along the line, from the end of the lower number (node 0 of a beam)."""
    meets: dict[int, list[int]] = {}
    for number, e in enumerate(fe.elements):
        for i in e.nodes:
            meets.setdefault(i, []).append(number)
    ends = sorted(i for i, each in meets.items() if len(each) == 1)
    if len(ends) != 2 or max(len(each) for each in meets.values()) > 2:
        raise ModelError("a beam is cut into pieces where its elements form one line; this FE model does not.")
    line, order = [ends[0]], list[int]()
    while len(order) < len(fe.elements):
        step = [e for e in meets[line[-1]] if not order or e != order[-1]]
        if not step:
            raise ModelError("a beam is cut into pieces where its elements form one line; this FE model does not.")
        i, j = fe.elements[step[0]].nodes
        order.append(step[0])
        line.append(j if line[-1] == i else i)
    return line, order
