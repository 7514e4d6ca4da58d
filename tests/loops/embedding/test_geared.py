"""Geared hinges: as compound bodies and in closed form, against the formula for symmetric rotors and each other."""

from itertools import pairwise

import numpy as np
import pytest
from tests.identities.test_identities import allowed, wrong
from tests.loops.cases import dense, force_of, near, tie

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, SingularError
from soacraft.loops import ConstraintEmbedding, geared_sko
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.recursions import forward_dynamics

RATIO = {"upper": 50.0, "lower": -20.0, "slide": 80.0}


def rotor(spin=0.02, across=0.015, mass=0.4):
    """Symmetric about z, its centre on the axis."""
    return sc.Inertia(mass, (0, 0, 0.1), np.diag([across, across, spin]))


def arm(rotors=rotor, axis=(0, 0, 1), base=None):
    """A moving base with a geared arm, a plain body between, a geared slide at the end."""
    mb = sc.Multibody("arm")
    mb.add_body("base", None, sc.Free() if base is None else base, random_inertia(1))
    link = [random_inertia(k) for k in (2, 3, 4, 5)]
    given = {"rotor": rotors(), "rotor_axis": axis}
    mb.add_geared_hinge("upper", "base", sc.Pin((0, 1, 0)), link[0], ratio=RATIO["upper"], inboard=random_pose(6),
                        rotor_pose=random_pose(7), **given)  # fmt: skip
    mb.add_body("plain", "upper", sc.Universal((1, 0, 0), (0, 1, 0)), link[1], random_pose(8))
    mb.add_geared_hinge("lower", "plain", sc.Pin((0, 0, 1)), link[2], ratio=RATIO["lower"], inboard=random_pose(9),
                        outboard=random_pose(10), rotor_pose=random_pose(11), **given)  # fmt: skip
    mb.add_geared_hinge("slide", "lower", sc.Prismatic((0, 1, 1)), link[3], ratio=RATIO["slide"], **given)
    q, v = mb.random_state(12)
    names = list(mb.dof_names)
    for name, ratio in RATIO.items():
        i, j = names.index(name), names.index(f"{name}_rotor")
        v[j] = ratio * v[i]
        q[mb.q_slice(f"{name}_rotor")] = ratio * q[mb.q_slice(name)]
    mb.set_state(q, v)
    return mb


def links(mb):
    return [i for i, name in enumerate(mb.dof_names) if not name.endswith("_rotor")]


def odd_rotor():
    return sc.Inertia(0.4, (0.05, -0.02, 0.1), np.diag([0.02, 0.03, 0.04]))


@pytest.mark.parametrize("rotors", [rotor, odd_rotor])
def test_compound_bodies_and_closed_form_agree_with_a_dense_solution(rotors):
    mb = arm(rotors)
    force = force_of(mb)
    expected = dense(mb, force).vdot
    solver = ConstraintEmbedding(mb)
    found = solver.forward_dynamics(mb.q, mb.v, force)
    near(found.vdot, expected)
    assert set(found.independent) == {mb.dof_names[i] for i in links(mb)}

    sko = geared_sko(mb)
    at_links = sum_of_rotors(mb, force)
    ends = np.cumsum([0, *sko.nvs])
    T = [at_links[a:b, None] for a, b in pairwise(ends)]
    closed = np.concatenate([forward_dynamics(sko, T).vdot[k][:, 0] for k in sko.nodes])
    near(closed, expected[links(mb)])


def sum_of_rotors(mb, force):
    """Xt* T: what forces on rotors come to at their links."""
    total = force[links(mb)].copy()
    names = [mb.dof_names[i] for i in links(mb)]
    for name, ratio in RATIO.items():
        total[names.index(name)] += ratio * force[mb.dof_names.index(f"{name}_rotor")]
    return total


@pytest.mark.parametrize("rotors", [rotor, odd_rotor])
def test_mass_matrix_and_bias_are_projections_of_the_tree(rotors):
    mb = arm(rotors)
    s = sc.operators(geared_sko(mb))
    Xt = np.zeros((mb.nv, len(links(mb))))
    names = [mb.dof_names[i] for i in links(mb)]
    Xt[links(mb), range(len(names))] = 1.0
    for name, ratio in RATIO.items():
        Xt[mb.dof_names.index(f"{name}_rotor"), names.index(name)] = ratio
    M = (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    near(M, Xt.T @ dyn.mass_matrix(mb, mb.q, ignore_loops=True) @ Xt, 1e-12)
    near(s.C, Xt.T @ dyn.bias_force(mb, mb.q, mb.v, ignore_loops=True), 1e-11)


def test_the_formula_for_symmetric_rotors():
    """Mcal = Mcal_welded + mu^2 J_m e e* + mu J_m (e w* + w e*), w the row of (axis . parent angular velocity)."""
    mb = arm()
    s = sc.operators(geared_sko(mb))
    M = (s.H * s.phi * s.M * s.phi.T * s.H.T).array()
    names = [mb.dof_names[i] for i in links(mb)]
    welded = mb.copy()
    for name in RATIO:
        welded.remove_coupling(f"{name}_gear")
        rotor_body = welded[f"{name}_rotor"]
        at = rotor_body.inboard
        welded.reattach(f"{name}_rotor", rotor_body.parent, sc.Weld(), at)
    formula = dyn.mass_matrix(welded, welded.q)
    assert welded.dof_names == tuple(names)
    J = 0.02
    for name, mu in RATIO.items():
        e = np.eye(len(names))[names.index(name)]
        parent = mb[name].parent
        axis = mb[f"{name}_rotor"].inboard.rotation @ [0, 0, 1]
        w = axis @ dyn.jacobian(mb, mb.q, parent, expressed_in="node")[:3, links(mb)]
        formula = formula + mu**2 * J * np.outer(e, e) + mu * J * (np.outer(e, w) + np.outer(w, e))
    near(M, formula, 1e-12)


def test_the_gyroscopic_moment_of_a_rotor():
    """A spin h about z, turned about x at rate W, asks for a moment -W h about y."""
    mb = sc.Multibody("gyro", gravity=(0, 0, 0))
    ball = sc.Inertia(1.0, (0, 0, 0), 0.3 * np.eye(3))
    mb.add_body("ring", None, sc.Pin((1, 0, 0)), ball)
    mb.add_body("yoke", "ring", sc.Pin((0, 1, 0)), ball)
    mb.add_geared_hinge("disk", "yoke", sc.Pin((0, 0, 1)), ball, ratio=40.0, rotor=rotor())
    W, rate = 1.5, 2.0
    mb.v = [W, 0.0, rate, 40.0 * rate]
    wanted = [0.0, -W * (0.3 * rate + 0.02 * 40.0 * rate), 0.0]
    near(sc.operators(geared_sko(mb)).C, wanted, 1e-13)
    near(sc.operators(ConstraintEmbedding(mb)).C, wanted, 1e-13)


@pytest.mark.parametrize("axes", ["closed form", "compound"])
def test_identities(axes):
    mb = arm()
    s = sc.operators(geared_sko(mb) if axes == "closed form" else ConstraintEmbedding(mb))
    assert wrong(s, [identity for identity in sc.identities() if allowed(identity, s)]) == {}


def test_nodes_grow_by_one():
    sko = geared_sko(arm())
    assert sko.names == ("base", "upper", "plain", "lower", "slide")
    assert sko.dims == (6, 7, 6, 7, 7)
    assert sko.nvs == (6, 1, 2, 1, 1)


def test_refusals_of_building():
    mb = sc.Multibody("arm")
    pin, rotor_ = sc.Pin((0, 0, 1)), rotor()
    for given, text in (
        ({"hinge": sc.Spherical(), "ratio": 3.0, "rotor": rotor_}, "a hinge of one dof is geared, such as Pin"),
        ({"hinge": pin, "ratio": 0.0, "rotor": rotor_}, "the ratio is zero, so the rotor would stand still"),
        ({"hinge": pin, "ratio": np.nan, "rotor": rotor_}, "the ratio of geared hinge 'a'"),
        ({"hinge": pin, "ratio": 3.0, "rotor": 0.1}, r"the rotor must be an Inertia\(mass, com, moment\), got 0.1"),
        ({"hinge": pin, "ratio": 3.0, "rotor": rotor_, "rotor_axis": (0, 0, 0)}, "axis"),
        ({"hinge": pin, "ratio": 3.0, "rotor": rotor_, "rotor_pose": 4}, "rotor"),
    ):
        with pytest.raises(ModelError, match=text):
            mb.add_geared_hinge("a", None, **given)
        assert len(mb) == 0
        assert len(mb.couplings) == 0
    mb.add_body("a_rotor", None, pin, rotor_)
    with pytest.raises(ModelError, match="geared hinge 'a' needs the name 'a_rotor', which 'arm' has already"):
        mb.add_geared_hinge("a", None, pin, ratio=3.0, rotor=rotor_)


def test_refusals_of_the_closed_form():
    mb = arm()
    mb.v = np.ones(mb.nv)
    with pytest.raises(LoopError, match="the rotor 'upper_rotor' of 'arm' does not turn with its gear: off by"):
        geared_sko(mb)
    mb = arm()
    tie(mb, "more", ["upper", "lower"], [(1.0,), (2.0,)])
    with pytest.raises(LoopError, match="'more' of 'arm' are no geared hinges, so there is no closed form"):
        geared_sko(mb)
    mb = arm()
    mb.add_body("fan", "upper_rotor", sc.Pin((1, 0, 0)), rotor())
    with pytest.raises(LoopError, match=r"its rotor must be a tip on the parent of its link"):
        geared_sko(mb)
    mb = sc.Multibody("light")
    mb.add_geared_hinge("a", None, sc.Pin((0, 0, 1)), rotor(), ratio=3.0, rotor=sc.Inertia.point(1.0, (0, 0, 1)))
    with pytest.raises(SingularError, match="rotor 'a_rotor' has no moment of inertia about its axis"):
        geared_sko(mb)
