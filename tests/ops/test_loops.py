"""Operators of a graph with loop closures and couplings: refused, unless those are ignored."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import LoopError, StaleError

TEXT = (
    "operators: 'chain' has loop 'ring' and couplings 'gear', 'mimic', which the tree alone does not know. "
    "Pass ignore_loops=True for the tree without them, or solve with them: sc.loops.ConstraintEmbedding(mb)."
)


@pytest.fixture
def mb():
    mb = sc.serial_chain(4)
    mb.close_loop("ring", "inertial", "link4/tip", sc.Spherical())
    mb.couple("gear", {"link1": 1, "link2": -3})
    mb.couple("mimic", {"link3": 1, "link4": 1}, offset=0.5)
    mb.set_state(*mb.random_state(1))
    return mb


def test_refused(mb):
    for attempt in (
        lambda: sc.operators(mb),
        lambda: sc.operators(mb, "H phi M", axes="inertial"),
        lambda: sc.operators(mb.state()),
    ):
        with pytest.raises(LoopError) as error:
            attempt()
        assert str(error.value) == TEXT


def test_ignored(mb):
    bare = sc.serial_chain(4)
    bare.set_state(mb.q, mb.v)
    wanted = mass_matrix(sc.operators(bare)).array()
    s = sc.operators(mb, ignore_loops=True)
    np.testing.assert_allclose(mass_matrix(s).array(), wanted, rtol=1e-13)
    np.testing.assert_allclose(mass_matrix(sc.operators(mb.state(), ignore_loops=True)).array(), wanted, rtol=1e-13)
    at = mass_matrix(s).at(q=np.zeros(4))
    np.testing.assert_allclose(at.array(), mass_matrix(sc.operators(bare.state(np.zeros(4)))).array(), rtol=1e-13)
    np.testing.assert_allclose(mass_matrix(s).compile()(mb.q), wanted, rtol=1e-13)


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def test_what_is_inside_a_sub_graph_counts(mb):
    with pytest.raises(LoopError, match=r"^operators: .* has coupling 'gear', which the tree alone does not know"):
        sc.operators(mb.subgraph(["link1", "link2"]))
    sc.operators(mb.subgraph(["link2", "link3"]))


def test_anything_but_true_and_false_is_refused(mb):
    for bad in (None, 1, "yes"):
        with pytest.raises(LoopError) as error:
            sc.operators(mb, ignore_loops=bad)
        assert str(error.value) == f"ignore_loops of operators must be True or False, got {bad!r}."


def test_checks_of_expressions(mb):
    """They are about the tree; a namespace that ignores the loops serves for `verify` too."""
    s = sc.operators(mb, ignore_loops=True)
    assert sc.check_operator(mass_matrix(s).inv).ok
    assert sc.verify(s.H * s.psi * s.M * s.psi.T * s.H.T, s.D).ok
    assert sc.verify(lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, lambda s: s.D, on=s).ok
    with pytest.raises(LoopError, match=r"^operators: 'chain' has loop 'ring'"):
        sc.verify(lambda s: s.D, lambda s: s.D, on=mb)


def test_a_loop_closed_later_makes_expressions_stale():
    mb = sc.serial_chain(3)
    M = mass_matrix(sc.operators(mb))
    compiled = M.compile()
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    for attempt in (lambda: M.array(), lambda: M * np.ones(3), lambda: compiled(np.zeros(3))):
        with pytest.raises(StaleError, match="was made before a structural change"):
            attempt()


def test_the_printed_names(mb):
    """They refuse a closed model too, and take operators that ignore its loops."""
    from soacraft import pycraft

    with pytest.raises(LoopError) as error:
        pycraft.H(mb)
    assert str(error.value) == TEXT.partition(" Pass ")[0] + (
        " In the names of the papers: HClass(sc.loops.ConstraintEmbedding(g)) with its loops, "
        "HClass(sc.operators(g, axes='inertial', ignore_loops=True)) without them."
    )
    g = sc.operators(mb, axes="inertial", ignore_loops=True)
    found = pycraft.H(g) * pycraft.Phi(g) * pycraft.M(g) * pycraft.PhiStar(g) * pycraft.HStar(g)
    np.testing.assert_allclose(found.asArray(), mass_matrix(g).array(), rtol=1e-13)
    assert pycraft.SpatialVector(g, mb.v).space == g.hinge
