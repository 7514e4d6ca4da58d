"""`Graph` is what operators and algorithms ask for: one that has its abstract members alone is enough for them."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.analysis import linearize
from soacraft.model import Graph, State
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.subgraph import SubGraph

HANDED_ON = ("name", "root", "layout", "version", "parameters", "gravity", "counters", "loops", "couplings")


def handed_on(name: str) -> property:
    return property(lambda self: getattr(self._mb, name))


class Plain(Graph):
    """A model seen through the protocol: no names of bodies, no pictures, no poses."""

    name, root, layout, version, parameters, gravity, counters, loops, couplings = map(handed_on, HANDED_ON)

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb
        self._current = State(self, mb.current.motion, np.asarray(mb.vdot), mb.current.forces)

    @property
    def current(self) -> State:
        return self._current

    def set_state(self, q=None, v=None, vdot=None):
        self._mb.set_state(q, v, vdot)

    def frame(self, frame):
        return self._mb.frame(frame)

    def subgraph(self, bodies, anchor="rest"):
        return self._mb.subgraph(bodies, anchor)


def arm() -> Multibody:
    hinges = [sc.Free(), sc.Pin((0, 0, 1)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0))]
    mb = sc.random_tree(5, seed=4, hinges=hinges)
    mb.set_state(*mb.random_state(2))
    mb.set_force(mb.bodies[-1], [0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
    return mb


def test_the_protocol_is_what_a_graph_must_provide():
    own = {*HANDED_ON, "current", "set_state", "frame", "subgraph"}
    assert Graph.__abstractmethods__ == own
    derived = {
        "bodies", "topology", "nq", "nv", "dof_names", "tendons", "springs", "bushings", "is_closed", "index", "state",
        "integrate", "difference", "sko", "body_velocities", "node_block",
    }  # fmt: skip
    assert {name for name in vars(Graph) if not name.startswith("_")} == own | derived
    assert not any(Graph in kind.__bases__ for kind in (Multibody, SubGraph))  # each mixin is one


@pytest.mark.parametrize(
    "ask",
    [
        lambda g, q, v: sc.dynamics.mass_matrix(g, q),
        lambda g, q, v: sc.dynamics.inverse_dynamics(g, q, v, np.ones(g.nv)),
        lambda g, q, v: sc.dynamics.forward_dynamics(g, q, v, np.ones(g.nv)),
        lambda g, q, v: sc.dynamics.forward_dynamics_derivatives(g, q, v, np.ones(g.nv))[0],
        lambda g, q, v: sc.dynamics.jacobian(g, q, g.bodies[-1]),
        lambda g, q, v: sc.operators(g, "P").array(),
        lambda g, q, v: np.asarray(sc.operators(g, "phi").T * np.ones(6 * len(g))),
        lambda g, q, v: sc.loops.TreeAugmented(g).forward_dynamics(q, v, np.ones(g.nv)).vdot,
        lambda g, q, v: linearize(g, q, v, np.zeros(g.nv)).A,
    ],
    ids=["mass", "inverse", "forward", "derivatives", "jacobian", "P", "phi", "loops", "linearize"],
)
def test_algorithms_ask_for_no_more(ask):
    mb = arm()
    wanted = np.asarray(ask(mb, mb.q, mb.v))
    given = np.asarray(ask(Plain(mb), mb.q, mb.v))
    np.testing.assert_allclose(given, wanted, rtol=0, atol=1e-11 * max(1.0, float(np.abs(wanted).max())))
