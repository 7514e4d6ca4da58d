"""Painleve's rod, restarts through contact, and the order in which things were added."""

import numpy as np
import pytest
from tests.contact.scenes import box, free, ground, sphere
from tests.sim.chains import four_bar

import soacraft as sc


def rod(angle, speed, radius=1e-7):
    """A slender rod of 1 m and 1 kg in the plane x, z, leaning on the floor with its lower end, which slides at a speed
    towards where the rod leans from: friction presses it into the floor."""
    mb = ground()
    mb.add_body("x", None, sc.Prismatic((1, 0, 0)), sc.Inertia(0.0))
    mb.add_body("z", "x", sc.Prismatic((0, 0, 1)), sc.Inertia(0.0))
    body = mb.add_body("rod", "z", sc.Pin((0, 1, 0)), sc.Inertia(1.0, moment=np.diag([1 / 12, 1 / 12, 1e-6])))
    body.add_geometry(sc.Geometry("skin", "capsule", (radius, 1.0)))
    mb.set_state([0.0, 0.5 * np.cos(angle) + radius, angle], [speed, 0.0, 0.0])
    return mb


def rows(angle):
    """The velocity of the lower end along the normal and the tangent, by dofs, and their compliance."""
    r = np.array([-0.5 * np.sin(angle), -0.5 * np.cos(angle)])  # from the centre, x and z
    J = np.array([[0.0, 1.0, -r[0]], [1.0, 0.0, r[1]]])  # w about y: v = w (z, -x)
    return J, J @ np.diag([1.0, 1.0, 12.0]) @ J.T


def test_painleves_rod_jams():
    """mu > S_nn/|S_nt| and no motion along the normal: no force is consistent with sliding on, so the end stops by an
    impact without a collision, v+ = v - M^-1 J* S^-1 J v, however short the step. Energy falls."""
    angle, mu, speed = 0.6, 2.5, 3.0
    J, S = rows(angle)
    way = speed * np.sign(S[0, 1])
    assert mu > S[0, 0] / abs(S[0, 1]) > 4 / 3  # the rod of Painleve: no less than 4/3
    expected = np.array([way, 0.0, 0.0]) - np.diag([1, 1, 12.0]) @ J.T @ np.linalg.solve(S, J @ [way, 0.0, 0.0])
    errors = []
    for h in (1e-4, 1e-5):
        mb = rod(angle, way)
        p = sc.sim.Propagator(mb, integrator="moreau", step=h)
        touch = sc.sim.Contact(friction=mu)
        p.add(touch)
        r = p.advance_to(h)
        errors.append(np.abs(mb.v - expected).max())
        assert touch.steps[-1].residual < 1e-10
        assert touch.steps[-1].state == ("stick",)
        assert r.energy[-1] < r.energy[0]
    assert errors[0] < 1e-2
    assert errors[1] < 0.2 * errors[0]
    slides = rod(angle, -way)  # the other way friction lifts, and it slides on
    p = sc.sim.Propagator(slides, integrator="moreau", step=1e-4)
    p.add(sc.sim.Contact(friction=mu))
    p.advance_to(1e-4)
    assert abs(slides.v[0] + way) < 0.01


def test_painleves_rod_as_events_is_refused():
    """By events there is no sliding, so no paradox: the first touch without a rebound is refused by its reason."""
    mb = rod(0.6, -3.0)
    mb.set_state([0.0, mb.q[1] + 0.01, 0.6], [-3.0, -0.5, 0.0])
    p = sc.sim.Propagator(mb)
    p.add(sc.sim.Impacts(friction=2.5))
    with pytest.raises(sc.errors.SimulationError, match=r"stay in touch after an impact.*know no rest and no sliding"):
        p.advance_to(0.1)


def tumbling(order=(0, 1, 2), shapes=(0, 1), **laws):
    """Boxes with two shapes each that fall onto a floor and each other, with friction and restitution."""
    mb = ground()
    places = {0: (0.0, 0.0, 0.15), 1: (0.05, 0.02, 0.42), 2: (-0.03, 0.04, 0.7)}
    for i in order:
        body = mb.add_body(f"box{i}", None, sc.Free(), sc.Inertia(1.0 + i, moment=np.diag([0.01, 0.012, 0.014])))
        made = [sc.Geometry("skin", "box", (0.2, 0.16, 0.12)), sc.Geometry("knob", "sphere", (0.07,))]
        for k in shapes:
            body.add_geometry(made[k])
    mb.q = np.concatenate([free(*places[i]) for i in order])
    mb.v = np.concatenate([[0.3 * i, 1.0, -0.5, 0.2, 0.1 * i, 0.0] for i in order])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    touch = sc.sim.Contact(friction=0.4, **laws)
    p.add(touch)
    return mb, p, touch


def test_a_restart_gives_the_same_bits():
    """One run, the same in pieces, and one that a new propagator goes on with from the state that was left: bit by
    bit, in the middle of contact."""
    ends = []
    for stops in ((0.2,), (0.06, 0.13, 0.2)):
        mb, p, touch = tumbling(restitution=0.3)
        for t in stops:
            p.advance_to(t)
        assert any(x.impulses.any() for x in touch.steps)
        ends.append(np.concatenate([mb.q, mb.v]))
    mb, p, _ = tumbling(restitution=0.3)
    p.advance_to(0.13)
    q, v = np.array(mb.q), np.array(mb.v)
    again, _, _ = tumbling(restitution=0.3)
    again.set_state(q, v)
    p = sc.sim.Propagator(again, integrator="moreau", step=0.002, t=0.13)
    p.add(sc.sim.Contact(friction=0.4, restitution=0.3))
    p.advance_to(0.2)
    ends.append(np.concatenate([again.q, again.v]))
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()


def landing():
    """A four-bar whose coupler falls onto a floor, and a weight that falls into its rope: closures, contact, a rope."""
    mb = four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 0.0)
    mb["coupler"].add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    upright = sc.Pose([[1, 0, 0], [0, 0, 1], [0, -1, 0]], [0.0, 0.4, 0.0])
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=upright))
    mb.add_body("weight", None, sc.Prismatic((0, 1, 0)), sc.Inertia(1.0))
    mb.add_rope("tether", "inertial", "weight", 0.5)
    mb.set_state([*mb.q[:-1], -0.45], np.zeros(mb.nv))
    return mb


def test_a_closed_chain_goes_on_to_rounding():
    """Through impact and rest, with a rope, in pieces and from the state that was left. Not bit by bit: velocities are
    projected again at each start, and a solver keeps the coordinates of the hinges of closures."""
    laws, step = {"friction": 0.2, "restitution": 0.4, "impacts": "sequential"}, 0.01
    ends = []
    for stops in ((0.9,), (0.3, 0.74, 0.9)):
        mb = landing()
        p = sc.sim.Propagator(mb, integrator="moreau", step=step)
        touch = sc.sim.Contact(**laws)
        p.add(touch)
        for t in stops:
            q, v = np.array(mb.q), np.array(mb.v)
            p.advance_to(t)
        assert min(x.t for x in touch.steps if x.impulses.any()) < 0.9  # it has landed
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-12)
    again = landing()
    again.set_state(q, v)
    p = sc.sim.Propagator(again, integrator="moreau", step=step, t=0.74)
    p.add(sc.sim.Contact(**laws))
    p.advance_to(0.9)
    np.testing.assert_allclose(np.concatenate([again.q, again.v]), ends[0], atol=1e-12)


def test_the_order_of_bodies_and_shapes_does_not_matter():
    """The same motion to rounding, whatever was added first: after impacts and sliding, the same names touch."""
    found = []
    for order, shapes in (((0, 1, 2), (0, 1)), ((2, 0, 1), (1, 0)), ((1, 2, 0), (0, 1))):
        mb, p, touch = tumbling(order, shapes)
        p.advance_to(0.12)
        speeds = np.asarray(sc.dynamics.velocities(mb, mb.q, mb.v))
        names = [x.name for x in mb.bodies]
        found.append(([speeds[names.index(f"box{i}")] for i in range(3)], [x.pairs for x in touch.steps]))
    for speeds, pairs in found[1:]:
        np.testing.assert_allclose(speeds, found[0][0], atol=1e-9)
        assert pairs == found[0][1]


def test_a_problem_that_is_not_solved_names_its_pair():
    """With a tolerance that no arithmetic reaches the error has the residual and the pair; "warn" goes on."""
    mb = ground()
    box(mb)
    sphere(mb)
    mb.set_state([*free(0, 0, 0.1), *free(1.0, 0, 0.1)], np.zeros(12))
    for how in ("raise", "warn"):
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
        p.add(sc.sim.Contact(tolerance=1e-300, otherwise=how))
        if how == "raise":
            with pytest.raises(sc.errors.SimulationError, match=r"not solved to 1e-300: .* the worst is .*skin - "):
                p.advance_to(0.01)
        else:
            with pytest.warns(RuntimeWarning, match=r"not solved to 1e-300: residual"):
                p.advance_to(0.01)


