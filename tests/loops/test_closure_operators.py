"""The closures of a chain as operators of its tree: rows, compliance, and the formulas of the papers typed."""

import numpy as np
import pytest
from tests.strategies import OPEN

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, SingularError, SpaceError, StaleError, StateError
from soacraft.kinematics.complement import complement
from soacraft.loops.closure_operators import ClosedOperators
from soacraft.model.samples.random_models import random_inertia, random_pose

#: The coordinates of the universal hinge that closes a loop.
TURNED = np.array([0.3, -0.4])
CLOSED = [identity for identity in sc.identities() if identity not in OPEN]


def tree_with_loops():
    """A free base, two arms of gimbals and pins that meet by a universal hinge, one of them held by a ball on the
    ground; rotors on a hinge, frames away from the hinges. Closed where it is, and moving."""
    mb = sc.Multibody("loops")
    mb.add_body("base", None, sc.Free(), random_inertia(1))
    for side in "ab":
        up = "base"
        for k, hinge in enumerate((sc.Gimbal(), sc.Pin((0, 0, 1)), sc.Gimbal())):
            seeds = [10 * k + ord(side) + j for j in range(4)]
            body = mb.add_body(f"{side}{k}", up, hinge, random_inertia(seeds[0]), *map(random_pose, seeds[1:3]))
            up = body
        body.add_node("end", random_pose(seeds[3]))
    mb["a1"].armature = 0.05
    mb.set_state(mb.random_state(2)[0])
    joint = sc.Universal((1, 0, 0), (0, 1, 0))
    mb["b2"].add_node("socket", mb.pose("a2/end", "b2") @ joint.pose(TURNED).inv)
    mb.root.add_node("pier", mb.pose("b1", "inertial"))
    mb.close_loop("knot", "b2/socket", "a2/end", joint)
    mb.close_loop("foot", "inertial/pier", "b1", sc.Spherical())
    return moving(mb)


def ring():
    """Four links by balls between the ground and a ball on the ground."""
    mb = sc.serial_chain(4, sc.Spherical())
    mb.set_state(mb.random_state(3)[0])
    mb.root.add_node("pier", mb.pose("link4/tip"))
    mb.close_loop("ring", "inertial/pier", "link4/tip", sc.Spherical())
    return moving(mb)


def moving(mb):
    solver = sc.loops.TreeAugmented(mb)
    v, vdot = np.random.default_rng(1).standard_normal((2, mb.nv))
    mb.set_state(v=solver.project_velocity(mb.q, v), vdot=vdot)
    return mb


MODELS = {"ring": ring, "loops": tree_with_loops}
each = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@each
def test_rows_are_what_the_hinges_do_not_allow_of_relative_jacobians(make):
    """Gc = Q J, with J the Jacobian of b relative to a in the axes of b, and Q H_c* = 0, Q Q* = I."""
    mb = make()
    solver = sc.loops.TreeAugmented(mb)
    s = sc.operators(solver)
    Gc = solver.constraint_matrix(mb.q)
    assert np.abs(s.Gc.array() - Gc).max() < 1e-12
    assert np.abs((s.Q * s.Bc.T * s.phi.T * s.H.T).array() - Gc).max() < 1e-12
    for loop, rows in zip(mb.loops, np.split(Gc, np.cumsum(s.Gc.rows.dims)[:-1]), strict=True):
        J = dyn.jacobian(mb, mb.q, loop.b, loop.b, relative_to=loop.a, ignore_loops=True)
        Q = s.Q[loop.name, loop.b.full_name]
        theta = TURNED if loop.name == "knot" else loop.hinge.neutral()
        assert np.abs(Q @ Q.T - np.eye(len(Q))).max() < 1e-12
        assert np.abs(Q @ J - rows).max() < 1e-12
        allowed = loop.hinge.H_T(theta)
        assert np.abs(Q @ allowed).max() < 1e-9
        assert np.abs(Q.T @ Q - complement(allowed).T @ complement(allowed)).max() < 1e-9


@each
@pytest.mark.parametrize("other", [sc.loops.ConstraintEmbedding, sc.loops.FullyAugmented])
def test_the_three_steps_typed_are_closed_dynamics(make, other):
    """Free accelerations, multipliers, correction: as two other solvers have it; and Gcdot v as their answer needs."""
    mb = make()
    force = np.random.default_rng(2).standard_normal(mb.nv)
    s = sc.loops.TreeAugmented(mb).operators(mb.q, mb.v, force=force)
    wanted = other(mb).forward_dynamics(mb.q, mb.v, force).vdot
    size = np.abs(wanted).max()
    lam = s.S.inv * (s.Gc * s.vdot + s.Gcdot_v - s.Udot)
    L = s.I - s.H * s.psi * s.K
    vdot = s.vdot - L.T * (s.D.inv * (s.H * (s.psi * (s.Bc * (s.Q.T * lam)))))
    assert np.abs(np.asarray(vdot) - wanted).max() < 1e-9 * size
    assert np.abs(np.asarray(s.Gc * wanted + s.Gcdot_v)).max() < 1e-9 * size


@each
@pytest.mark.parametrize("identity", CLOSED, ids=lambda identity: identity.name)
def test_identities_of_closed_chains(identity, make):
    s = sc.operators(sc.loops.TreeAugmented(make()))
    assert isinstance(s, ClosedOperators)
    found = sc.verify(identity.left, identity.right, on=s)
    assert found.ok, found


@pytest.mark.parametrize("name", ["compliance of the closures", "factor of the compliance of the closures"])
def test_formulas_of_the_papers_are_proved(name):
    """The inverse of a closed chain is proved on the page of the papers."""
    s = sc.operators(sc.loops.TreeAugmented(ring()))
    identity = next(x for x in CLOSED if x.name == name)
    assert sc.prove(identity.left(s), identity.right(s))
    if name == "compliance of the closures":
        assert not sc.prove(identity.left(s), 2 * identity.right(s))
        assert sc.verify(identity.left(s), identity.right(s))
        assert not sc.verify(identity.left(s), 1.001 * identity.right(s))


@each
def test_they_are_operators_like_all_others(make):
    """Products, adjoints, blocks, tags and text of each; what has no derivative says so."""
    s = sc.operators(sc.loops.TreeAugmented(make()))
    for name in ("Q", "Bc", "Gc", "S"):
        assert sc.check_operator(getattr(s, name)), name
    assert s["Q Gc"] == (s.Q, s.Gc)
    with pytest.raises(SpaceError, match="Q has no derivative"):
        s.Gc.dot()


def test_driven_closures():
    """A closure that is driven: Gc v = U, and the answer of another solver has Gc vdot + Gcdot v = Udot."""
    mb = ring()
    u, udot = np.array([0, 0, 0, 0.3, -0.2, 0.1]), np.array([0, 0, 0, 1.0, 2.0, -1.0])
    solver, U = sc.loops.TreeAugmented(mb), {"ring": (u, udot)}
    v = solver.project_velocity(mb.q, mb.v, U=U)
    s = solver.operators(mb.q, v, U=U)
    assert np.abs(np.asarray(s.U)).max() > 0.1
    assert np.abs(np.asarray(s.Gc * s.v - s.U)).max() < 1e-12
    vdot = sc.loops.FullyAugmented(mb).forward_dynamics(mb.q, v, np.zeros(mb.nv), U=U).vdot
    left = np.asarray(s.Gc * vdot + s.Gcdot_v - s.Udot)
    assert np.abs(left).max() < 1e-9 * np.abs(vdot).max()


def test_couplings_are_rows_at_dofs():
    mb = sc.serial_chain(3)
    mb.couple("gear", {"link1": 1.0, "link3": (-2.0, 0.5)})
    mb.set_state(sc.loops.TreeAugmented(mb).assemble([0.4, 0.3, 0.1]))
    mb = moving(mb)
    solver = sc.loops.TreeAugmented(mb)
    s = sc.operators(solver)
    Gc = solver.constraint_matrix(mb.q)
    assert np.allclose(Gc, [[1.0, 0.0, -2.0 + mb.q[2]]], rtol=0, atol=1e-14)
    assert np.array_equal(s.Gc.array(), Gc)
    assert np.allclose(s.Gcdot_v, [mb.v[2] ** 2], rtol=0, atol=1e-12)  # p'' v^2
    Mcal = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    assert np.abs(s.S.array() - Gc @ np.linalg.solve(Mcal, Gc.T)).max() < 1e-12
    assert s.Qv["gear", "link3"].tolist() == [[-2.0 + mb.q[2]]]


def test_they_follow_the_state_and_belong_to_the_structure():
    mb = ring()
    solver = sc.loops.TreeAugmented(mb)
    s = sc.operators(solver)
    Gc, S = s.Gc, s.S
    before = Gc.array()
    there = s.binding.elsewhere(4)
    mb.set_state(there["q"], there["v"])
    assert np.abs(Gc.array() - before).max() > 1e-3
    assert np.abs(Gc.array() - solver.constraint_matrix(mb.q)).max() < 1e-12
    inverse = dyn.mass_matrix_inverse(mb, mb.q, ignore_loops=True)
    assert np.abs(S.array() - Gc.array() @ inverse @ Gc.array().T).max() < 1e-11
    assert np.abs(Gc.at(q=there["q"]).array() - Gc.array()).max() == 0.0
    mb.add_body("more", "link1", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError):
        Gc.array()


def test_batches_of_constraint_matrices():
    mb = ring()
    solver = sc.loops.ConstraintEmbedding(mb)
    q = np.stack([mb.q, sc.operators(sc.loops.TreeAugmented(mb)).binding.elsewhere(1)["q"]])
    Gc = solver.constraint_matrix(q)
    assert Gc.shape == (2, 3, 12)
    assert np.abs(Gc[1] - solver.constraint_matrix(q[1])).max() < 1e-12


def test_refusals():
    mb = ring()
    solver = sc.loops.TreeAugmented(mb)
    s = sc.operators(solver)
    off = mb.integrate(mb.q, 0.1 * np.ones(mb.nv))
    for ask in (lambda: s.Gc.at(q=off), lambda: solver.constraint_matrix(off), lambda: solver.operators(off)):
        with pytest.raises(LoopError, match="loop 'ring' of 'chain' is open by"):
            ask()
    with pytest.raises(LoopError, match=r"operators of closures are made for one state, got a batch \(2,\)"):
        solver.operators(np.stack([mb.q, mb.q]))
    with pytest.raises(StateError, match="at least one configuration, got an empty batch"):
        solver.constraint_matrix(np.zeros((0, mb.nq)))
    with pytest.raises(SpaceError, match="Q has the rows of closures, which the tree alone does not know"):
        sc.verify(s.Q, s.Q, on=sc.serial_chain(2))
    mb = sc.load("five_bar")
    flat = sc.loops.TreeAugmented(mb)
    mb.q = flat.assemble(mb.q)
    redundant = sc.operators(flat)
    with pytest.raises(SingularError, match="S is singular at this state, it has no inverse"):
        redundant.S.inv * np.ones(6)
