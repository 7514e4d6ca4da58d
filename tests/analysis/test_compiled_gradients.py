"""The kernels of gradients, Coriolis matrix and log det, by themselves: the reference engine, differences, limits."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.analysis.cases import GRAPHS, along_dofs, armed
from tests.dynamics.calls import GRAVITY, close, reference_alone, tree
from tests.profiles import tries

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.dynamics import compiled
from soacraft.errors import SingularError, StateError
from soacraft.model.hinges import examples

HINGES = {type(hinge).__name__: hinge for hinge in examples()}
CALLS = {
    "mass_matrix_gradient": lambda g, q, v, **kw: analysis.mass_matrix_gradient(g, q, **kw),
    "coriolis_matrix": lambda g, q, v, **kw: analysis.coriolis_matrix(g, q, v, **kw),
    "log_det_mass_matrix": lambda g, q, v, **kw: dynamics.log_det_mass_matrix(g, q, **kw),
    "log_det_gradient": lambda g, q, v, **kw: analysis.log_det_gradient(g, q, **kw),
}
every_call = pytest.mark.parametrize("function", CALLS)


class Nobody:
    """A reference engine that must not be asked."""

    def run(self, problem):
        raise AssertionError(f"no kernel answered {problem.function}")


def by_kernels(function, g, q, v, **extra):
    """What the kernels answer, all by themselves."""
    with patch.object(compiled, "REFERENCE", Nobody()):
        return CALLS[function](g, q, v, **extra)


def by_reference(function, g, q, v):
    with reference_alone():
        return CALLS[function](g, q, v)


def states(g, seed, batch):
    rng = np.random.default_rng(seed)
    q = np.array([g.random_state(rng)[0] for _ in range(int(np.prod(batch)))]).reshape(*batch, g.nq)
    return q, rng.standard_normal((*batch, g.nv))


def out_of_order(seed=3):
    """A tree whose bodies were added level by level: its dofs are not in the order of the elements."""
    mb = sc.Multibody("levels", GRAVITY)
    rng, hinges, level = np.random.default_rng(seed), examples(), [None]
    for _ in range(4):
        parents, level = level * (2 if len(level) < 4 else 1), []
        for parent in parents:
            mass, com, moment = 1.0 + rng.random(), rng.random(3), np.diag(1.0 + rng.random(3))
            hinge, inboard = hinges[len(mb) % len(hinges)], sc.Pose(translation=rng.random(3))
            inertia = sc.Inertia(mass, com, moment)
            level.append(mb.add_body(f"body{len(mb)}", parent, hinge, inertia, inboard=inboard))
    return mb


# -- the reference engine ----------------------------------------------------------------------------------------------


@st.composite
def graphs(draw):
    """A tree with or without armature, its hinges, branching and bases drawn, or all that hangs from one body."""
    hinges = [HINGES[name] for name in draw(st.lists(st.sampled_from(sorted(HINGES)), min_size=2, max_size=9))]
    seed, branching = draw(st.integers(0, 1000)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    mb = sc.random_tree(len(hinges), seed, hinges, branching=branching, bases=draw(st.integers(1, 2)), gravity=GRAVITY)
    if draw(st.booleans()):
        armed(mb, seed)
    inner = [body for body in mb.bodies if body.parent is not mb.root and len(list(body.subtree())) > 1]
    body = draw(st.sampled_from([None, *inner]))
    if body is None:
        return mb
    return mb.subgraph(list(body.subtree()), anchor=draw(st.sampled_from(["rest", "moving"])))


@given(g=graphs(), batch=st.sampled_from([(), (1,), (2,), (8,), (9,), (17,), (2, 3)]), seed=st.integers(0, 100))
@tries(80)
def test_engines_agree(g, batch, seed):
    q, v = states(g, seed, batch)
    for function in CALLS:
        note(function)
        close(by_kernels(function, g, q, v), by_reference(function, g, q, v))


@every_call
@pytest.mark.parametrize("batch", [(), (11,)])
def test_dofs_in_any_order(function, batch):
    g = out_of_order()
    elements = compiled.CompiledModel.of(g.layout).v_starts.tolist()
    assert elements != sorted(elements)
    q, v = states(g, 1, batch)
    close(by_kernels(function, g, q, v), by_reference(function, g, q, v))


@every_call
@pytest.mark.parametrize("n", [1, 6])
def test_sizes_that_look_like_others(function, n):
    """One body, and as many as a spatial vector has numbers."""
    g = sc.random_tree(n, 8, [hinge for hinge in examples() if hinge.nv])
    q, v = states(g, 1, (6,))
    close(by_kernels(function, g, q, v), by_reference(function, g, q, v))


@every_call
def test_many_dofs(function):
    """More than registers and pieces hold: chains, bushes and combs of 20 bodies."""
    for branching in (0.0, 0.5, 1.0):
        g = armed(sc.random_tree(20, 4, branching=branching, bases=2))
        q, v = states(g, 2, ())
        close(by_kernels(function, g, q, v), by_reference(function, g, q, v))


@every_call
def test_batches_threads_and_out(function):
    """A batch is its states one by one, on any number of threads, and goes where it is told."""
    g = armed(tree(5))
    q, v = states(g, 3, (13,))
    found = np.asarray(by_kernels(function, g, q, v))
    close(found, np.array([by_kernels(function, g, *state) for state in zip(q, v, strict=True)]), 1e-12)
    for threads in (1, 3):
        out = np.full_like(found, np.nan)
        by_kernels(function, g, q, v, out=out, threads=threads)
        assert np.array_equal(out, found)
    close(by_kernels(function, g, q[0], v[0]), found[0], 1e-12)


@every_call
def test_nothing_that_moves(function):
    """Without dofs, and with welds alone."""
    empty, welded = sc.Multibody("empty"), sc.Multibody("welded")
    welded.add_body("block", None, sc.Weld(), sc.Inertia.box(1.0, (1, 1, 1)))
    for g in (empty, welded):
        for batch in ((), (3,)):
            found = np.asarray(CALLS[function](g, np.zeros((*batch, 0)), np.zeros((*batch, 0))))
            assert found.shape[: len(batch)] == batch
            assert not found.any()


# -- differences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_differences(name):
    g = GRAPHS[name]()
    q, v = g.random_state(4)
    d = by_kernels("mass_matrix_gradient", g, q, v)
    close(d, along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q), 1e-10)
    assert np.array_equal(d, np.swapaxes(d, 0, 1))
    found = by_kernels("log_det_gradient", g, q, v)
    close(found, along_dofs(g, lambda x: by_kernels("log_det_mass_matrix", g, x, v), q), 1e-10)
    C = by_kernels("coriolis_matrix", g, q, v)
    close(C + C.T, d @ v, 1e-12)


@pytest.mark.parametrize("name", [name for name, hinge in HINGES.items() if hinge.nv])
def test_each_hinge(name):
    """As base, in the middle and as tip."""
    g = sc.random_tree(3, 7, [HINGES[name]], branching=0.0)
    q, v = states(g, 5, ())
    by_differences = along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q)
    close(by_kernels("mass_matrix_gradient", g, q, v), by_differences, 1e-9)
    by_differences = along_dofs(g, lambda x: dynamics.log_det_mass_matrix(g, x), q)
    close(by_kernels("log_det_gradient", g, q, v), by_differences, 1e-9)


def test_log_det_is_that_of_the_matrix():
    for seed in range(4):
        g = armed(tree(seed), seed)
        q, v = states(g, seed, (9,))
        close(by_kernels("log_det_mass_matrix", g, q, v), np.linalg.slogdet(dynamics.mass_matrix(g, q))[1], 1e-12)


def test_armature_moves_only_the_determinant():
    g = tree(6)
    q, v = states(g, 6, ())
    before = {function: by_kernels(function, g, q, v) for function in CALLS}
    armed(g)
    for function in ("mass_matrix_gradient", "coriolis_matrix"):
        assert np.array_equal(by_kernels(function, g, q, v), before[function])
    for function in ("log_det_mass_matrix", "log_det_gradient"):
        assert not np.array_equal(by_kernels(function, g, q, v), before[function])


# -- what kernels leave to others --------------------------------------------------------------------------------------


def test_a_hinge_without_inertia_is_named():
    g = sc.Multibody("bare")
    g.add_body("arm", None, sc.Pin((0, 0, 1)), sc.Inertia.box(1.0, (1, 1, 1)))
    g.add_body("rotor", "arm", sc.Pin((0, 0, 1)))
    for function in ("log_det_mass_matrix", "log_det_gradient"):
        with pytest.raises(SingularError, match="rotor"):
            CALLS[function](g, np.zeros(2), np.zeros(2))
    g.bodies[1].armature = 0.25
    close(by_kernels("log_det_mass_matrix", g, np.zeros(2), None), np.log(0.25 / 6), 1e-13)


@every_call
def test_numbers_that_overflow_are_refused(function):
    g = sc.random_tree(4, 1, [sc.Prismatic((1, 0, 0)), sc.Pin((0, 1, 0))], branching=0.0)
    with pytest.raises((StateError, SingularError)):
        CALLS[function](g, np.full(4, 1e200), np.full(4, 1e200))
