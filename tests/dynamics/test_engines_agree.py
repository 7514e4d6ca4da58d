"""The engine chosen for a graph against the reference engine: drawn trees of every hinge, single states and batches."""

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.dynamics.calls import (
    CALLS,
    DERIVATIVES,
    GRAVITY,
    arguments,
    arrays,
    call,
    close,
    reference_alone,
    subtree,
    tree_for,
)
from tests.profiles import tries

import soacraft as sc
from soacraft.model.hinges import examples

HINGES = {type(hinge).__name__: hinge for hinge in examples()}


@pytest.fixture(scope="module", autouse=True)
def which_engine():
    """The chosen one only: the reference engine would be compared with itself."""


@st.composite
def graphs(draw, holonomic):
    """A tree whose hinges, branching and bases are drawn, or all that hangs from one of its bodies."""
    names = [name for name, hinge in HINGES.items() if hinge.holonomic or not holonomic]
    hinges = [HINGES[name] for name in draw(st.lists(st.sampled_from(names), min_size=2, max_size=9))]
    seed, branching = draw(st.integers(0, 1000)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    bases = draw(st.integers(1, 2))
    mb = sc.random_tree(len(hinges), seed, hinges, branching=branching, bases=bases, gravity=GRAVITY)
    inner = [body for body in mb.bodies if body.parent is not mb.root and len(list(body.subtree())) > 1]
    for body in mb.bodies:
        body.add_node("mark", sc.Pose(translation=(0.1, 0.2, 0.3)))
    body = draw(st.sampled_from([None, *inner]))
    if body is None:
        return mb
    return mb.subgraph(list(body.subtree()), anchor=draw(st.sampled_from(["rest", "moving"])))


@given(data=st.data(), count=st.sampled_from([None, 1, 2, 5, 8, 9, 17]), seed=st.integers(0, 100))
@tries(20)
def test_engines_agree(data, count, seed):
    """Every function on each graph that is drawn; derivatives where all of its hinges are holonomic."""
    holonomic = data.draw(st.booleans())
    g = data.draw(graphs(holonomic))
    given = arguments(g, seed, () if count is None else (count,))
    if not data.draw(st.booleans()):
        given |= {"f_ext": None, "node_forces": {}}
    threads = data.draw(st.sampled_from([None, 1, 2]))
    for function in sorted(CALLS) if holonomic else sorted(CALLS.keys() - DERIVATIVES):
        note(function)
        found = arrays(call(function, g, given, threads=threads))
        with reference_alone():
            wanted = arrays(call(function, g, given))
        for ours, theirs in zip(found, wanted, strict=True):
            close(ours, theirs)


@pytest.mark.parametrize("function", sorted(CALLS))
def test_an_anchor_that_moves(function):
    """It turns, travels and speeds up."""
    mb = tree_for(function, bases=1)
    mb.set_state(*mb.random_state(2))
    mb.vdot = np.linspace(-1.0, 1.0, mb.nv)
    g = subtree(mb, anchor="moving")
    given = arguments(g, 4)
    found = arrays(call(function, g, given))
    with reference_alone():
        wanted = arrays(call(function, g, given))
    for ours, theirs in zip(found, wanted, strict=True):
        close(ours, theirs)


@given(n=st.integers(1, 300), seed=st.integers(0, 9))
@tries(10)
def test_long_chains_of_pins(n, seed):
    """The residual of forward dynamics in inverse dynamics, the size being that of the larger of force and bias."""
    mb = sc.serial_chain(n, sc.Pin((0.0, 1.0, 0.0)), length=1.0 / n)
    rng = np.random.default_rng(seed)
    q, v, force = rng.uniform(-1, 1, n) / n, rng.uniform(-1, 1, n) / n, rng.uniform(-1, 1, n)
    given = {"q": q, "v": v, "force": force, "f_ext": None}
    vdot = call("forward_dynamics", mb, given)
    back = call("inverse_dynamics", mb, given | {"vdot": vdot})
    bias = call("bias_force", mb, given)
    assert np.abs(back - force).max() <= 1e-10 * max(1.0, np.abs(force).max(), np.abs(bias).max())
