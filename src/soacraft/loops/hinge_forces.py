"""The reactions of all hinges of a closed chain, those of the tree and those that were cut.

In: a state with its accelerations, the wrenches of the closures, external forces. Out: the wrench through every hinge.

    f(k) = sum over children j of phi(k,j) f(j)  +  M(k) alpha(k) + b(k)                                (004 Eq. 10)

where b(k) has gravity, external forces, and the wrenches of the closures on the frames of body k: Newton and Euler for
every body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.cards import card, says_why
from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.engine import answer
from soacraft.errors import ModelError, near
from soacraft.model.flat import links
from soacraft.model.flat.realize import times
from soacraft.model.states.coordinates import Forces
from soacraft.model.states.kinematics import expressed, pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph, graph_of
from soacraft.model.tree.names import find_keyed
from soacraft.model.tree.parts.closures import Closure
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross
from soacraft.spatial.wrench import Wrench


class HingeForces:
    """The wrench [moment; force] through every hinge, (..., 6): what acts there on the body outboard of it, of a cut
    hinge on the body of its frame b. Motors, springs and couplings act through the hinge, so they are part of it. Where
    rows of closures repeat others, how hinges share the forces across them is that of `Result.multipliers`.

    `f["crank"]`, by body or hinge, is about the origin of the body's frame in its axes; `f["loop"]`, by the name of a
    closure, about the origin of its frame b in the axes of its frame a, as `Result.multipliers`. `f.at("crank", node,
    expressed_in)` is about the origin of another frame in other axes.
    """

    def __init__(self, state: State, tree: Array, loops: Mapping[str, Array]) -> None:
        self._state, self._tree, self._loops = state, tree, loops

    def __getitem__(self, hinge: Any) -> Array:
        if isinstance(hinge, str) and hinge in self._loops:
            return self._loops[hinge]
        return np.asarray(self._tree[..., self._number(hinge), :])

    def at(self, hinge: Any, node: Any = None, expressed_in: Any = None) -> Array:
        """The wrench through a hinge with its moment about the origin of a frame (by default as in `f[hinge]`), in the
        axes of a frame or "inertial" (by default those of `f[hinge]`). (..., 6)
        """
        x, graph = self[hinge], self._state.graph
        origin, axes = self._frames(hinge)
        about = origin if node is None else graph.frame(node)
        into = axes if expressed_in is None else graph.frame(expressed_in)
        (R, _), (_, p), (_, c) = (pose_of_frame(self._state, frame) for frame in (axes, origin, about))
        moment, force = times(R, x[..., :3]), times(R, x[..., 3:])
        return expressed(self._state, into, (moment + cross(p - c, force), force))

    def _frames(self, hinge: Any) -> tuple[Frame, Frame]:
        """Frames of `self[hinge]`: the wrench is at the origin of the first, in the axes of the second."""
        if isinstance(hinge, str) and hinge in self._loops:
            closure = next(x for x in graph_of(self._state).loops if x.name == hinge)
            return closure.b, closure.a
        body = self._state.graph.bodies[self._number(hinge)]
        return body, body

    def _number(self, hinge: Any) -> int:
        graph = self._state.graph
        try:
            body = find_keyed(graph, hinge)
        except ModelError:
            hint = near(hinge if isinstance(hinge, str) else "", list(self), "it has")
            raise ModelError(f"{graph.name!r} has no body, hinge or loop {hinge!r:.60}{hint}") from None
        if not isinstance(body, Body) or body not in graph.layout.index:
            raise ModelError(f"{body.full_name!r} is no body of {graph.name!r}; forces go through hinges of bodies.")
        return int(graph.layout.index[body])

    def __iter__(self) -> Iterator[str]:
        """The names: hinges of the tree, then loops."""
        yield from (body.hinge_name for body in self._state.graph.bodies)
        yield from self._loops

    def __len__(self) -> int:
        return int(self._tree.shape[-2]) + len(self._loops)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        graph, batch = self._state.graph, self._tree.shape[:-2]
        head = f"hinge forces of {graph.name!r}: {self._tree.shape[-2]} hinges, {len(self._loops)} cut ones"
        if batch:
            return f"{head}, batch {batch}"
        shown = [f"  {name}: {np.array2string(self[name] + 0.0, precision=6, suppress_small=True, max_line_width=200)}"
                 for name in self]  # fmt: skip
        return "\n".join([head, *shown[:12], *(["  ..."] if len(shown) > 12 else [])])

    @says_why
    def _repr_html_(self) -> str:
        head = repr(self).partition("\n")[0]
        if self._tree.ndim > 2:
            return card(head)
        rows = [(x, markup.numbers(self[x][:3]), markup.numbers(self[x][3:])) for x in islice(self, markup.ROWS)]
        return card(head, markup.table(["hinge or loop", "moment [N m]", "force [N]"], rows, total=len(self)))


def hinge_forces(
    graph: Graph, q: Array, v: Array, vdot: Array, multipliers: Mapping[str, Array], loads: Forces | None, passive: bool
) -> HingeForces:
    """The reactions at a state (or a batch) with its accelerations and constraint forces. O(n).

    `loads` are all external forces, gravity compensation among them; None where none act but that of the model. With
    `passive` springs between nodes act too.
    """
    state = graph.current.replace(q=q, v=v, vdot=vdot, forces=())
    closures = [x for x in graph.loops if x.active]
    between = links.forces(state) if passive and loads is not None else ()
    forces = [*(loads or ()), *between, *(pair for x in closures for pair in _pushes(state, x, multipliers[x.name]))]
    p = read_problem(
        "interbody_forces", graph, q=q, v=v, vdot=vdot,
        f_ext=forces, stored=False, expressed_in="body", passive=passive and loads is None, ignore_loops=True,
    )  # fmt: skip
    return HingeForces(state, np.asarray(answer(p, None)), {x.name: multipliers[x.name] for x in closures})


def _pushes(state: State, closure: Closure, wrench: Array) -> list[tuple[Frame, Wrench]]:
    """Forces of a closure on the bodies of its frames: the wrench at b, in the axes of a, and its opposite at a."""
    moment, force = wrench[..., :3], wrench[..., 3:]
    (R, a), (_, b) = pose_of_frame(state, closure.a), pose_of_frame(state, closure.b)
    arm = times(R.mT, b - a)
    both = (
        (closure.b, Wrench(moment, force, expressed_in=closure.a)),
        (closure.a, Wrench(-moment - cross(arm, force), -force, expressed_in=closure.a)),
    )
    return [(frame, push) for frame, push in both if frame.carrier in state.graph.layout.index]
