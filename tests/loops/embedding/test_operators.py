"""Operators of embedded systems: live and at snapshots, their spaces, and when they are stale."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, close, near, project, row_of_four_bars, tie

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SpaceError, StaleError, StateError
from soacraft.loops import ConstraintEmbedding, TreeAugmented
from soacraft.model import serial_chain


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def two_ways():
    """A planar ring of five pins: two dofs, to be chosen."""
    mb = serial_chain(4)
    mb.q = [0.3, 0.8, 0.9, 0.7]
    close(mb, "ring", "inertial", "link4", sc.Pin((0, 1, 0)))
    return mb


def test_they_print_like_those_of_a_tree():
    s = sc.operators(ConstraintEmbedding(FourBar().build(0.7)))
    assert repr(s).splitlines()[0] == "operators of 'four_bar' with compound bodies: body[18], hinge[1]"
    assert repr(mass_matrix(s)) == "H*phi*M*phi.T*H.T : hinge[1] <- hinge[1]"
    assert s.body.labels == ("crank+coupler+rocker",)


def test_names_can_be_asked_for():
    H, phi = sc.operators(ConstraintEmbedding(FourBar().build(0.7)), "H phi")
    assert (H.name, phi.name) == ("H", "phi")


def test_they_follow_the_current_state():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    M = mass_matrix(sc.operators(solver))
    before = M.array()
    q = solver.advance(mb.q, [0.6])
    snapshot = mass_matrix(solver.operators(mb.q, mb.v))
    mb.set_state(q, solver.expand(q, [1.0]))
    found = solver.model(mb.state())
    near(M.array(), found.Xt.T @ sc.dynamics.mass_matrix(mb, mb.q, ignore_loops=True) @ found.Xt)
    near(snapshot.array(), before, 1e-14)


def test_at_makes_a_snapshot():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    q = solver.advance(mb.q, [0.6])
    M = mass_matrix(sc.operators(solver))
    near(M.at(q=q, v=np.zeros(mb.nv)).array(), mass_matrix(solver.operators(q, np.zeros(mb.nv))).array(), 1e-14)
    with pytest.raises(StateError, match=r"at\(\) takes q=, v= and vdot=, not t"):
        M.at(t=0.0)


def test_a_velocity_change_keeps_what_depends_on_the_configuration():
    mb = row_of_four_bars(2)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    s = sc.operators(solver)
    s.P.array()
    memo = s.sko.memo
    mb.v = solver.expand(mb.q, [3.0])
    assert s.sko.memo is memo
    near(s.v, [3.0])


def test_a_new_choice_of_dofs_makes_old_operators_stale():
    mb = two_ways()
    mb.couple("still", {"link1": 1.0}, 0.3)
    solver = ConstraintEmbedding(mb, embed=["ring", "still"])
    s = sc.operators(solver)
    D, dofs = s.D, solver.epoch.dofs
    D.array()
    other = next(name for name in mb.dof_names if name not in dofs and name != "link1")
    solver.system.independent = None  # as after a pose where these dofs are bad
    solver._chosen = solver._chosen._replace(compiled=None, call=None)
    solver.system.wanted = np.array([name == other for name in mb.dof_names])
    solver.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    assert solver.epoch.dofs == (other,)
    with pytest.raises(StaleError) as error:
        D.array()
    assert str(error.value) == (
        f"this expression of 'chain' with compound bodies was made for the independent dofs {dofs[0]!r}; they are now "
        f"{other!r}. Make its operators again with sc.operators(...)."
    )
    assert solver.changes == [
        f"other dofs are better conditioned: the independent dofs are now {other}; they were {dofs[0]}"
    ]
    with pytest.raises(SpaceError):
        D * sc.operators(solver).D


def test_dofs_are_chosen_anew_where_they_became_bad():
    """A crank-rocker whose rocker turns back: it cannot be independent there, the crank can."""
    bar = FourBar(crank=0.4, coupler=1.1, rocker=0.9, ground=1.0)
    mb = bar.build(1.0)
    solver = ConstraintEmbedding(mb)
    solver.system.wanted = np.array([name == "rocker" for name in mb.dof_names])
    s = sc.operators(solver)
    assert solver.epoch.dofs == ("rocker",)
    solver.system.wanted = None
    stretched = np.arccos((bar.ground**2 + (bar.crank + bar.coupler) ** 2 - bar.rocker**2) / (2 * bar.ground * 1.5))
    mb.set_state(bar.build(stretched + 1e-9).q, np.zeros(3))
    with pytest.raises(StaleError, match="made for the independent dofs 'rocker'; they are now"):
        s.D.array()
    assert solver.epoch.dofs != ("rocker",)
    assert len(solver.changes) == 1
    near(solver.forward_dynamics(mb.q, mb.v, np.zeros(3)).vdot[0], bar.acceleration(stretched + 1e-9, 0.0, 0.0), 1e-6)


def test_a_change_of_rank_makes_old_operators_stale():
    """The collapsed parallelogram gains a dof."""
    mb = row_of_four_bars(1)
    solver = ConstraintEmbedding(mb)
    D = sc.operators(solver).D
    assert D.array().shape == (1, 1)
    mb.set_state([0.0, 0.0, 0.0], np.zeros(3))
    with pytest.raises(StaleError, match="they are now"):
        D.array()
    assert len(solver.epoch.dofs) == 2
    assert solver.changes[0].startswith("the rank changed: the independent dofs are now ")


def test_a_structural_change_makes_them_stale():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb)
    s = sc.operators(solver)
    mb.add_body("more", None, sc.Weld())
    with pytest.raises(StaleError, match="made before a structural change of the model; make the solver and its"):
        s.M.array()
    with pytest.raises(StaleError, match=r"make a new one with sc\.loops\.ConstraintEmbedding"):
        solver.forward_dynamics(mb.q, mb.v, np.zeros(3))


def test_a_state_off_the_loops_is_refused():
    mb = FourBar().build(0.7)
    s = sc.operators(ConstraintEmbedding(mb))
    mb.q = mb.q + np.array([0.0, 0.1, 0.0])
    with pytest.raises(LoopError, match="loop 'ring' of 'four_bar' is open by"):
        s.M.array()


def test_batches_are_refused():
    mb = FourBar().build(0.7)
    with pytest.raises(LoopError, match=r"operators of compound bodies are made for one state, got a batch \(2,\)"):
        ConstraintEmbedding(mb).operators(np.stack([mb.q, mb.q]), mb.v)


def test_augmented_solvers_are_no_sko_models():
    mb = FourBar().build(0.7)
    with pytest.raises(LoopError, match="TreeAugmented keeps the closures of 'four_bar' as rows next to the tree"):
        TreeAugmented(mb).sko(mb.q)


def test_a_hybrid_has_no_operators():
    mb = row_of_four_bars(2)
    with pytest.raises(LoopError, match="'loop1' of 'row' is kept as rows next to the embedded tree, which alone does"):
        sc.operators(ConstraintEmbedding(mb, embed=["loop0"]))


def test_arguments_that_have_no_meaning_are_refused():
    solver = ConstraintEmbedding(FourBar().build(0.7))
    with pytest.raises(ModelError, match="axes=, v=, vdot= and numbering= are not for a system with compound bodies"):
        sc.operators(solver, axes="inertial")
    with pytest.raises(LoopError, match="take one force of 3 entries, not a batch"):
        sc.operators(solver, force=np.zeros((2, 3)))


def test_external_forces_enter_b():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    push = {"coupler/end": [0, 0, 0, 0, 3.0, 0]}
    s, plain = sc.operators(solver, f_ext=push), sc.operators(solver)
    J = (plain.B("coupler/end").T * plain.phi.T * plain.H.T).array()
    near(np.asarray(s.C), np.asarray(plain.C) - J.T @ push["coupler/end"], 1e-12)


def test_a_moving_anchor_is_carried_along():
    mb = serial_chain(5, sc.Universal((0, 1, 0), (0, 0, 1)))
    mb.set_state(*mb.random_state(2))
    close(mb, "ring", "link2", "link5", sc.Spherical(), 3)
    tie(mb, "gear", ["link1.0", "link1.1"], [(1.0,), (-2.0,)])
    mb.v = project(mb, mb.v)
    part = mb.subgraph(["link2", "link3", "link4", "link5"], anchor="moving")
    s = sc.operators(ConstraintEmbedding(part))
    own = part.body_velocities()
    near(s.V["link3+link4+link5"], np.concatenate(own[1:]), 1e-12)
    rest = sc.operators(ConstraintEmbedding(mb.subgraph(["link2", "link3", "link4", "link5"])))
    assert np.abs(np.asarray(rest.V) - np.asarray(s.V)).max() > 1e-2
