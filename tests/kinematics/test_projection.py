"""Projection of velocities: whatever the rows look like, and nothing taken where the closures hold nothing."""

import numpy as np
import pytest
from tests.loops.cases import FourBar, near

import soacraft as sc
from soacraft.errors import SingularError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
X, Y, Z = np.eye(3)


def wrist():
    mb = sc.Multibody("wrist")
    mb.add_body("hand", None, sc.Gimbal((X, Y, Z)), sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.25])))
    mb.close_loop("tie", "inertial", "hand", sc.Universal(X, Y))
    return mb


@pytest.mark.parametrize("Solver", SOLVERS)
def test_a_jump_to_a_far_configuration(Solver):
    """The hand turns as the universal hinge of its closure: the third turn is held, wherever the solver was before."""
    mb, v = wrist(), np.array([1.0, 2.0, 3.0])
    solver = Solver(mb)
    for q in ([0.1, 0.2, 0.0], [2.5, -2.0, 0.0], [-1.5, 0.9, 0.0], [0.3, 2.0, 0.0]):
        found = solver.project_velocity(np.array(q), v)
        near(found[2], 0.0)
        near(found, Solver(mb).project_velocity(np.array(q), v))
        p, w = solver.project(np.array(q), v)
        near(p, q)
        near(w, found)


@pytest.mark.parametrize("Solver", SOLVERS)
def test_a_hinge_without_inertia_is_named(Solver):
    mb = wrist()
    mb.add_body("dust", "hand", sc.Spherical(), sc.Inertia(0.0))
    with pytest.raises(SingularError, match="the hinge of 'dust' has no inertia to move"):
        Solver(mb).project_velocity(mb.q, np.ones(mb.nv))
    v = Solver(mb).project_velocity(mb.q, np.ones(mb.nv), weight="plain")
    near(v, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("Solver", SOLVERS)
def test_links_without_mass_that_the_closures_hold(Solver):
    """A coupler that weighs nothing has nothing to move by itself, and moves with the cranks: the nearest velocity by
    kinetic energy along the one freedom t is t (t* Mcal v) / (t* Mcal t)."""
    mb = FourBar().build(0.9)
    mb["coupler"].inertia = sc.Inertia(0.0)
    v, e = np.array([1.0, -2.0, 0.5]), 1e-6
    t = (FourBar().build(0.9 + e).q - FourBar().build(0.9 - e).q) / (2.0 * e)
    M = sc.dynamics.mass_matrix(mb, mb.q, ignore_loops=True)
    assert M[1, 1] == 0.0
    near(Solver(mb).project_velocity(mb.q, v), t * (t @ M @ v) / (t @ M @ t), 1e-8)
    q, found = Solver(mb).project(mb.q + 1e-7, v)
    assert Constraints(mb, mb.state(q=q)).open_part <= 1e-15
    near(found, t * (t @ M @ v) / (t @ M @ t), 1e-5)


def door():
    mb, at = sc.Multibody("door"), random_pose(4)
    upper = sc.Pose(translation=(0, 0, 1))
    mb.add_body("door", None, sc.Pin(Z), random_inertia(1), at).add_node("upper", upper)
    mb.root.add_node("upper", at @ upper)
    mb.close_loop("upper", "inertial/upper", "door/upper", sc.Pin(Z))
    return mb


@pytest.mark.parametrize("weight", ["mass", "plain"])
@pytest.mark.parametrize("Solver", SOLVERS)
@pytest.mark.parametrize("angle", [0.1, 0.9, -2.0])
def test_a_second_hinge_on_the_same_axis_takes_nothing(Solver, weight, angle):
    near(Solver(door()).project_velocity([angle], [5.0], weight=weight), [5.0])
    near(Solver(door()).project([angle], [5.0])[1], [5.0])
