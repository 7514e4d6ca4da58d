"""The card of a state: coordinates, velocities and accelerations by hinge; of a batch how far they reach. O(n)."""

from __future__ import annotations

import numpy as np

from soacraft import markup
from soacraft.cards import card, card_of, facts, part
from soacraft.markup import Html
from soacraft.model.states.state import State
from soacraft.spatial.checks import Array


@card_of.register
def state_card(state: State) -> str:
    """Card of the numbers by hinge, and the external forces."""
    parts = [part("by hinge" if not state.batch else "from the least to the largest", lambda: _numbers(state), True)]
    if state.forces:
        rows = [(frame.full_name, repr(wrench)) for frame, wrench in state.forces[: markup.ROWS]]
        table = markup.table(["at", "wrench"], rows, total=len(state.forces))
        parts.append(part(f"external forces ({len(state.forces)})", lambda: table))
    return card(repr(state), *parts)


def _numbers(state: State) -> Html:
    layout = state.layout
    if state.batch:
        named = (("q", state.q), ("v", state.v), ("vdot", state.vdot))
        return facts((name, _reach(np.asarray(x))) for name, x in named)
    q, v, vdot = (np.asarray(x) for x in (state.q, state.v, state.vdot))
    bodies = layout.bodies[: markup.ROWS]
    rows = [
        (body.hinge_name, type(body.hinge).__name__, markup.numbers(q[at]), markup.numbers(v[by]),
         markup.numbers(vdot[by]))
        for body, at, by in zip(bodies, layout.q_slices, layout.v_slices, strict=False)
    ]  # fmt: skip
    head = ("hinge", "kind", "q [rad, m]", "v [rad/s, m/s]", "vdot [rad/s², m/s²]")
    return markup.table(head, rows, total=layout.n, more="q, v and vdot have all")


def _reach(x: Array) -> str:
    return f"{x.min():.6g} to {x.max():.6g}" if x.size else "none"
