"""The compiled mass matrix and its inverse against the expressions of the papers, on trees with every hinge."""

import numpy as np
import pinocchio as pin
import pytest
from tests.peers.to_pinocchio import InPinocchio

import soacraft as sc
from soacraft import _core
from soacraft import dynamics as dyn
from soacraft.errors import SingularError, StateError
from soacraft.model.flat.compiled import CompiledModel, _hinges, _tree
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose

KERNELS = ("mass_matrix", "mass_matrix_inverse")
HINGES = {type(hinge).__name__: hinge for hinge in examples()}


def run(mb, kernel, q, threads=1):
    """What a kernel gives for one state or a batch; None when it gives up."""
    rows = np.atleast_2d(np.ascontiguousarray(q))
    out = np.full((len(rows), mb.nv * mb.nv), np.nan)
    if not CompiledModel.of(mb.layout).kernels.run(kernel, rows, None, None, None, None, (out,), threads):
        return None
    return out.reshape(*np.shape(q)[:-1], mb.nv, mb.nv)


def by_operators(mb, kernel, q):
    s = sc.operators(mb.state(q))
    mass = s.H * s.phi * s.M * s.phi.T * s.H.T
    return (mass if kernel == "mass_matrix" else mass.inv).array()


def states(mb, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([mb.random_state(rng)[0] for _ in range(count)])


def close(found, wanted, tolerance=1e-11):
    assert found is not None
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


def in_rounds(n=5, limbs=4):
    """Limbs grown one body each in turn, with hinges of several dofs among them: v is not in depth-first order."""
    mb, rng = sc.Multibody("rounds"), np.random.default_rng(5)
    mb.add_body("root", None, HINGES["Free"], random_inertia(rng))
    kinds = list(HINGES.values())
    for i in range(n):
        for j in range(limbs):
            parent = f"limb{j}.{i - 1}" if i else "root"
            hinge = kinds[(i * limbs + j) % len(kinds)]
            mb.add_body(f"limb{j}.{i}", parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
    v = CompiledModel(mb.layout).v_starts.tolist()
    assert v != sorted(v)
    return mb


def chain(n):
    mb, parent = sc.Multibody("chain"), None
    for k in range(n):
        rod = sc.Inertia(1.0, (0, 0, 0.5), np.diag([0.085, 0.085, 0.002]))
        hinge = sc.Pin(np.roll((0.0, 0.0, 1.0), -k))
        parent = mb.add_body(f"rod{k}", parent, hinge, rod, sc.Pose(translation=(0, 0, 1.0 if k else 0.0)))
    return mb


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("branching", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 40])
def test_trees_with_every_hinge(kernel, branching, n):
    for seed in range(3):
        mb = sc.random_tree(n, 100 * seed + n, branching=branching, bases=min(n, 1 + seed))
        found = run(mb, kernel, mb.q)
        close(found, by_operators(mb, kernel, mb.q))
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", HINGES)
def test_each_hinge_at_the_base_and_between(kernel, name):
    mb, rng = sc.Multibody(name), np.random.default_rng(3)
    for k, parent in enumerate([None, 0, 1, 1, 3, None]):
        hinge = HINGES[name] if k in (0, 3, 5) else sc.Pin((0.0, 0.6, 0.8))
        name_of = None if parent is None else f"body{parent}"
        mb.add_body(f"body{k}", name_of, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
    q = states(mb, 1)[0]
    close(run(mb, kernel, q), by_operators(mb, kernel, q))


@pytest.mark.parametrize("kernel", KERNELS)
def test_scaled_screws(kernel):
    mb, rng = sc.Multibody("screws"), np.random.default_rng(4)
    screws = [(0, 0, 2.0, 0, 0, 0.6), (0, 0, 0, 0, 3.0, 0), (0.5, 0, 0, 0, 0.2, 0)]
    for k in range(3):
        parent = f"body{k - 1}" if k else None
        mb.add_body(f"body{k}", parent, sc.Screws(screws), random_inertia(rng), random_pose(rng), random_pose(rng))
    q = states(mb, 1)[0]
    close(run(mb, kernel, q), by_operators(mb, kernel, q))


def with_rotors(mb, seed=0):
    """Armature on all bodies, on some of their dofs none."""
    rng = np.random.default_rng(seed)
    for body in mb.bodies:
        body.armature = rng.uniform(0.0, 2.0, body.hinge.nv) * (rng.random(body.hinge.nv) < 0.7)
    return mb


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", HINGES)
def test_each_hinge_with_armature(kernel, name):
    mb, rng = sc.Multibody(name), np.random.default_rng(3)
    for k, parent in enumerate([None, 0, 1, 1, 3, None]):
        hinge = HINGES[name] if k in (0, 3, 5) else sc.Pin((0.0, 0.6, 0.8))
        name_of = None if parent is None else f"body{parent}"
        mb.add_body(f"body{k}", name_of, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
    q = states(with_rotors(mb), 9)
    wanted = np.stack([by_operators(mb, kernel, one) for one in q])
    close(run(mb, kernel, q), wanted)
    close(getattr(sc.Dynamics(mb), kernel)(q[0]), wanted[0])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("n", [1, 5, 12, 45])
def test_batches(kernel, rotors, n):
    """A batch is its states to rounding, and the same to the last bit however it is split."""
    mb = sc.random_tree(n, n, bases=1 + n // 8)
    if rotors:
        with_rotors(mb)
    lanes = _core.lanes()
    q = states(mb, 2 * lanes + 3)
    whole = run(mb, kernel, q)
    close(whole, np.stack([run(mb, kernel, one) for one in q]), 1e-12)
    close(whole[lanes], by_operators(mb, kernel, q[lanes]))
    for count in (1, 2, lanes - 1, lanes, lanes + 1, len(q)):
        for threads in (1, 2, 3):
            assert np.array_equal(run(mb, kernel, q[:count], threads), whole[:count])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_dofs_in_another_order_than_the_tree(kernel, rotors, n):
    """Small enough for packs of states, and larger."""
    mb = with_rotors(in_rounds(n)) if rotors else in_rounds(n)
    q = states(mb, _core.lanes() + 1)
    wanted = np.stack([by_operators(mb, kernel, one) for one in q])
    close(run(mb, kernel, q), wanted)
    close(run(mb, kernel, q[0]), wanted[0])


def test_branches_from_different_bases_do_not_meet():
    mb = sc.random_tree(20, 2, bases=3)
    base_of = np.zeros(mb.nv, dtype=int)
    for i, base in enumerate(mb.root.children):
        for body in base.subtree():
            base_of[body.v_slice] = i
    apart = base_of[:, None] != base_of
    for kernel in KERNELS:
        assert not run(mb, kernel, mb.q)[apart].any()


def test_a_free_base_far_away():
    """The mass matrix does not depend on where the base is, to the last bit."""
    mb = sc.load("biped")
    q = states(mb, 1)[0]
    far = q.copy()
    far[4:7] += 1e9
    for kernel in KERNELS:
        assert np.array_equal(run(mb, kernel, q), run(mb, kernel, far))


@pytest.mark.parametrize("spread", [3.0, 0.1])
def test_chain_of_a_hundred(spread):
    """Against the expressions; and what is left of 1 compared with what the peer leaves."""
    mb = chain(100)
    q = np.random.default_rng(0).uniform(-spread, spread, 100)
    found, inverse = (run(mb, kernel, q) for kernel in KERNELS)
    close(found, by_operators(mb, "mass_matrix", q), 1e-13)
    close(inverse, by_operators(mb, "mass_matrix_inverse", q), 1e-9)
    mb.set_state(q, np.zeros(100))
    peer = InPinocchio(mb)
    of_peer = np.triu(pin.computeMinverse(peer.model, peer.data, peer.q))
    of_peer += np.triu(of_peer, 1).T
    pairs = (found, inverse), (peer.own_mass_matrix(), of_peer)
    left, left_by_peer = (np.abs(M @ X - np.eye(100)).max() for M, X in pairs)
    assert left < 10 * left_by_peer


def massless_tip():
    mb = sc.Multibody("light")
    arm = mb.add_body("arm", None, sc.Pin((0.0, 1.0, 0.0)), sc.Inertia.sphere(1.0, 0.1))
    mb.add_body("tip", arm, sc.Pin((1.0, 0.0, 0.0)), sc.Inertia(), sc.Pose(translation=(0, 0, 0.5)))
    return mb


def test_massless_tip():
    mb = massless_tip()
    assert run(mb, "mass_matrix_inverse", np.zeros(2)) is None
    assert run(mb, "mass_matrix_inverse", np.zeros((9, 2))) is None
    close(run(mb, "mass_matrix", np.zeros(2)), by_operators(mb, "mass_matrix", np.zeros(2)))
    with pytest.raises(SingularError, match="tip"):
        dyn.mass_matrix_inverse(mb, [0.0, 0.0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_numbers_that_overflow_are_noticed(kernel):
    mb = sc.Multibody("huge")
    arm = mb.add_body("arm", None, sc.Pin((0.0, 1.0, 0.0)), sc.Inertia.sphere(1.0, 0.1))
    mb.add_body("tip", arm, sc.Pin((0.0, 1.0, 0.0)), sc.Inertia.sphere(1.0, 0.1), sc.Pose(translation=(1e200, 0, 0)))
    assert run(mb, kernel, np.zeros(2)) is None
    assert run(mb, kernel, np.zeros((9, 2))) is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_moves(kernel):
    mb = sc.Multibody("stone")
    mb.add_body("rock", None, sc.Weld(), sc.Inertia.sphere(1.0, 0.1))
    assert run(mb, kernel, np.zeros(0)).shape == (0, 0)
    assert run(mb, kernel, np.zeros((9, 0))).shape == (9, 0, 0)
    assert getattr(sc.Dynamics(mb), kernel)(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_calls(kernel):
    mb = in_rounds(3)
    call = getattr(sc.Dynamics(mb), kernel)
    q, out = states(mb, 1)[0], np.full((mb.nv, mb.nv), np.nan)
    wanted = run(mb, kernel, q)
    assert isinstance(call, _core.Call)
    assert call(q, out=out) is out
    close(out, wanted, 1e-12)
    assert np.array_equal(call(q), out)
    close(call(list(q)), wanted, 1e-12)
    with pytest.raises(StateError):
        call(q, out=np.zeros((mb.nv, mb.nv + 1)))


def test_elements_must_have_the_dofs():
    layout = chain(3).layout
    with pytest.raises(ValueError, match="the elements have 3 dofs, not 4"):
        _core.rigid_model(**_tree(layout), **_hinges(layout), nq=3, nv=4)
    with pytest.raises(ValueError, match="a hinge is beyond q or v"):
        _core.rigid_model(**_tree(layout), **_hinges(layout), nq=2, nv=3)


def test_every_dof_must_have_its_armature():
    layout = chain(3).layout
    (R, p), bodies = layout.inboard, layout.inertias
    with pytest.raises(ValueError, match="a dof has one armature"):
        CompiledModel(layout).kernels.set_parameters(R.reshape(3, 9), p, R.reshape(3, 9), p, *bodies, np.zeros(2))


def test_armature_that_overflows_is_noticed():
    mb, q, largest = chain(2), np.zeros(2), np.finfo(float).max
    mb.bodies[0].armature = largest
    assert run(mb, "mass_matrix", q)[0, 0] == largest
    mb.bodies[0].inertia = sc.Inertia(1.0, moment=1e305 * np.eye(3))
    assert run(mb, "mass_matrix", q) is None
