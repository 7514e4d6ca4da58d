"""Stops and friction of hinges next to `Contact`: rows of the contact problem, right alone and together."""

import numpy as np
import pytest
from tests.sim.combinations import END, MODELS, PUSHES

import soacraft as sc
from soacraft import sim
from soacraft.errors import StateError
from soacraft.sim.runs.block import Block
from soacraft.sim.stride import Stride, Walked

G = 9.80665
METHODS = ["moreau", "moreau_midpoint"]


def in_python(monkeypatch):
    monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))


def by_contact(mb, *loads, method="moreau", step=0.001, **laws):
    p = sim.Propagator(mb, integrator=method, step=step)
    p.add(sim.Contact(**laws), *loads)
    return p


def slide(v=0.0, mass=2.0, slope=0.0):
    """A body on a slide, and a stone beside it that touches nothing."""
    mb = sc.Multibody("slide", gravity=(-G * np.sin(slope), 0, 0))
    body = mb.add_body("body", None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass, moment=np.eye(3)))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.root.add_geometry(sc.Geometry("stone", "sphere", (0.1,), sc.Pose(translation=(0, 50.0, 0))))
    mb.set_state([0.0], [v])
    return mb


def table_and_ball(mass):
    """A table of 1 kg on a slide, with a ball on it."""
    mb = sc.Multibody("table", gravity=(0, 0, -G))
    moment = 0.01 * np.eye(3)
    table = mb.add_body("table", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, moment=moment))
    table.add_geometry(sc.Geometry("top", "box", (1.0, 1.0, 0.1)))
    ball = mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(mass, moment=moment))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0.0, 0.15], [0.0, 0.0])
    return mb


def balanced(run, accuracy=1e-9):
    """Energy grows by the work of all forces, and contacts give none."""
    balance = run.check()
    assert balance.imbalance <= accuracy
    assert not balance.gain


# -- closed forms --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("mass", "force"), [(0.5, 1.5 * G), (5.0, 20.0)])
def test_a_table_gives_way_under_a_heavy_body(mass, force, method):
    """Friction of 20 N holds 1.5 kg and lets 6 kg fall by 130 mm in 0.2 s."""
    mb = table_and_ball(mass)
    run = by_contact(mb, sim.HingeFriction("table", 20.0), method=method).run(0.2)
    fall = 0.5 * (G - force / (1.0 + mass)) * 0.2**2
    assert mass < 1.0 or fall > 0.12
    np.testing.assert_allclose(mb.q, [-fall, 0.15 - fall], rtol=0, atol=1e-9)
    np.testing.assert_allclose(run.forces["friction of table"][1:, 0], force, rtol=1e-9)
    np.testing.assert_allclose(run.work["friction of table"][-1], -force * fall, rtol=0, atol=1e-8)
    push = mass * force / (1.0 + mass)
    np.testing.assert_allclose(run.forces["contact"][1:], np.tile([-push, push], (200, 1)), rtol=1e-6)
    np.testing.assert_allclose(run.work["contact"][-1], 0.0, rtol=0, atol=1e-8)
    balanced(run)


@pytest.mark.parametrize("method", METHODS)
def test_a_body_slides_to_rest(method):
    """Under Coulomb friction F: at rest after m v/F, m v^2/2F away, and the friction took its energy."""
    v, mass, force = 0.8, 2.0, 4.0
    mb = slide(v, mass)
    run = by_contact(mb, sim.HingeFriction("body", force), method=method).run(0.5)
    np.testing.assert_allclose(mb.q, mass * v**2 / (2.0 * force), rtol=1e-9)
    assert mb.v[0] == 0.0
    np.testing.assert_allclose(run.work["friction of body"][-1], -0.5 * mass * v**2, rtol=1e-9)
    np.testing.assert_allclose(run.forces["friction of body"][1:399, 0], -force, rtol=1e-9)
    assert not run.forces["contact"].any()
    assert not run.events


@pytest.mark.parametrize("slope", [0.15, 0.25])
def test_friction_holds_on_a_slope_that_is_not_too_steep(slope):
    """tan(slope) = 0.2 is the angle of friction of 0.2 m g."""
    mb, push = slide(slope=slope), 2.0 * G * np.sin(slope)
    friction = 2.0 * G * np.cos(0.2) * np.tan(0.2)
    run = by_contact(mb, sim.HingeFriction("body", friction)).run(0.1)
    slides = 0.5 * 0.1**2 * max(push - friction, 0.0) / 2.0
    np.testing.assert_allclose(mb.q, -slides, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(run.forces["friction of body"][1:, 0], min(push, friction), rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_body_bounces_at_a_stop(restitution, method):
    """Without gravity: exactly with e times its speed, and the stop took (1 - e^2) of its energy."""
    v, mass = 0.8, 2.0
    mb = slide(v, mass)
    stop = sim.JointLimit("body", upper=0.1003, lower=-1.0, restitution=restitution)
    run = by_contact(mb, stop, method=method).run(0.2)
    np.testing.assert_allclose(mb.v, -restitution * v, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(run.work["limit of body"][-1], -0.5 * mass * v**2 * (1.0 - restitution**2), atol=1e-9)
    wanted = 0.1003 - restitution * v * (0.2 - 0.1003 / v)
    np.testing.assert_allclose(mb.q, wanted, rtol=0, atol=0.5 * v * 0.001 * (1.0 + restitution))
    assert run.q.max() <= 0.1003 + 0.5 * v * 0.001
    assert not run.forces["contact"].any()
    struck = np.flatnonzero(run.forces["limit of body"][:, 0])
    assert len(struck) == 1 or restitution == 0.0
    impulse = run.forces["limit of body"][struck[0], 0] * 0.001
    np.testing.assert_allclose(impulse, -mass * v * (1.0 + restitution), rtol=1e-9)
    balanced(run)


@pytest.mark.parametrize("method", METHODS)
def test_hops_at_a_stop_become_lower_by_e(method):
    """Under gravity: times of flight 2 e v/g, 2 e^2 v/g; then it leans on the stop with its weight."""
    e, mb = 0.5, slide(slope=0.5 * np.pi)
    stop = sim.JointLimit("body", lower=-0.2, upper=1.0, restitution=e)
    run = by_contact(mb, stop, method=method, step=2e-4).run(1.0)
    fall = np.sqrt(0.4 / G)
    struck = np.flatnonzero(np.diff(run.v[:, 0]) > 0.1 * G * fall)[:3]
    np.testing.assert_allclose(run.t[struck], fall * np.array([1.0, 2.0, 2.5]), rtol=0, atol=1e-3)
    np.testing.assert_allclose(mb.q, -0.2, rtol=0, atol=1e-4)
    np.testing.assert_allclose(run.forces["limit of body"][-100:, 0], 2.0 * G, rtol=1e-6)


def test_stops_of_two_bodies_gain_no_energy():
    """A pendulum whose two dofs bounce at once, with e = 1 and 0.2."""
    mb = MODELS["tree"]()
    loads = [
        sim.JointLimit("first", lower=0.44, upper=2.0, restitution=1.0),
        sim.JointLimit("second", lower=-0.3, upper=-0.15, restitution=0.2),
    ]
    p = by_contact(mb, *loads, restitution=0.9)
    run = p.run(0.5)
    names = ["limit of first", "limit of second"]
    assert all(run.forces[x].any() for x in names)
    assert run.energy.max() <= run.energy[0] + 2e-3 * np.ptp(run.energy)
    balanced(run)


# -- the same as hinges say it themselves -----------------------------------------------------------------------------


def with_friction(mb):
    """25 N m at the first dof, damped."""
    mb["first"].passive = sc.Passive(friction=2.5, damping=0.2)
    return []


def with_friction_as_load(mb):
    return [sim.HingeFriction("first", 2.5, viscous=0.2)]


def with_limits(mb):
    mb["first"].limits = sc.Limits(0.42, 1.0)
    return []


def with_limits_as_load(mb):
    return [sim.JointLimit("first", lower=0.42, upper=1.0)]


def both(mb):
    return [*with_friction(mb), *with_limits(mb)]


def both_as_loads(mb):
    return [*with_limits_as_load(mb), *with_friction_as_load(mb)]


SAME = {
    "friction": (with_friction, with_friction_as_load),
    "limits": (with_limits, with_limits_as_load),
    "both": (both, both_as_loads),
}
CASES = [(model, method) for model in MODELS for method in METHODS if (model, method) != ("closed chain", METHODS[1])]


def moved(model, method, loads, monkeypatch=None):
    mb = MODELS[model]()
    if monkeypatch is not None:
        in_python(monkeypatch)
    p = by_contact(mb, *loads(mb), method=method, step=0.0025, friction=0.2, restitution=0.3, tolerance=1e-12)
    p.control("first", PUSHES[0])
    return p.run(END), p


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize(("model", "method"), CASES)
def test_loads_are_what_hinges_say(model, method, what):
    """Motion and energy are the same; the work of contacts of the one is that of contacts and loads of the other."""
    by_hinge, by_load = SAME[what]
    (run, _), (other, p) = moved(model, method, by_hinge), moved(model, method, by_load)
    assert all(isinstance(x, Block) for _, x in other._dense), str(p.report())
    np.testing.assert_allclose(other.q, run.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.v, run.v, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.energy, run.energy, rtol=0, atol=1e-11)
    total, wanted = (sum(x for name, x in y.work.items()) for y in (other, run))
    np.testing.assert_allclose(total, wanted, rtol=0, atol=1e-11)
    forces, own = (sum(np.array(x) for x in y.forces.values()) for y in (other, run))
    np.testing.assert_allclose(forces[1:], own[1:], rtol=0, atol=1e-9 * np.abs(own).max())


@pytest.mark.parametrize("what", SAME)
@pytest.mark.parametrize(("model", "method"), CASES)
def test_compiled_steps_are_those_of_python(model, method, what, monkeypatch):
    run, _ = moved(model, method, SAME[what][1])
    other, _ = moved(model, method, SAME[what][1], monkeypatch)
    assert not any(isinstance(x, Block) for _, x in other._dense)
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run.v, other.v, rtol=0, atol=1e-9)
    for name in run.work:
        np.testing.assert_allclose(run.work[name], other.work[name], rtol=0, atol=1e-10)
        scale = np.abs(other.forces[name]).max()
        np.testing.assert_allclose(run.forces[name], other.forces[name], rtol=0, atol=1e-8 * scale)
    balanced(run, 1e-9 if method == "moreau" else 1e-5)


def bouncing(monkeypatch=None, **laws):
    """A double pendulum that bounces at stops of both dofs, and rubs."""
    mb = MODELS["tree"]()
    if monkeypatch is not None:
        in_python(monkeypatch)
    loads = [
        sim.JointLimit("first", lower=0.44, upper=1.0, restitution=0.6),
        sim.HingeFriction("second", 0.05, viscous=0.01),
        sim.JointLimit("second", lower=-0.25, upper=-0.12, restitution=0.3),
    ]
    p = by_contact(mb, *loads, step=0.0025, friction=0.2, restitution=0.3, tolerance=1e-12, **laws)
    return p, p.run(0.3)


@pytest.mark.parametrize("law", ["energy", "newton"])
def test_restitution_in_compiled_steps(law, monkeypatch):
    p, run = bouncing(law=law)
    assert all(isinstance(x, Block) for _, x in run._dense), str(p.report())
    _, other = bouncing(monkeypatch, law=law)
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-9)
    for name in run.work:
        assert run.forces[name].any()
        np.testing.assert_allclose(run.work[name], other.work[name], rtol=0, atol=1e-8)


def test_fast_viscous_friction_is_implicit(monkeypatch):
    """A damper that no explicit step bears: speeds fall by 1/(1 + h c/m) in each."""
    h, c, m = 0.001, 8000.0, 2.0
    ends = []
    for python in (False, True):
        if python:
            in_python(monkeypatch)
        mb = slide(0.8, m)
        run = by_contact(mb, sim.HingeFriction("body", 1.0, viscous=c)).run(3 * h)
        ends.append(run.v[:, 0])
        np.testing.assert_allclose(run.work["friction of body"], 0.5 * m * (run.v[:, 0] ** 2 - 0.8**2), atol=1e-3)
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(ends[0][1], (0.8 - h * 1.0 / m) / (1.0 + h * c / m), rtol=1e-12)


# -- in runs ----------------------------------------------------------------------------------------------------------


def test_a_run_in_parts_has_the_same_bits(tmp_path):
    """With pauses, from a checkpoint, and in a stepper; there are no events."""
    made = lambda: bouncing()[0]  # noqa: E731
    p, run = bouncing()
    end = p.run(0.5)
    other = made()
    for t in (0.3025, 0.3775, 0.5):
        if t == 0.3775:
            other.checkpoint(tmp_path / "a.h5")
        last = other.run(t)
    np.testing.assert_array_equal(last.q[-1], end.q[-1])
    np.testing.assert_array_equal(last.v[-1], end.v[-1])
    for name in end.work:
        assert last.work[name][-1] == end.work[name][-1]
    third = made()
    third.restore(tmp_path / "a.h5")
    again = third.run(0.5)
    np.testing.assert_array_equal(again.v[-1], end.v[-1])
    assert not run.events
    assert not end.events


def test_steppers_are_runs():
    """Of one state and of several, recorded and driven."""

    def made():
        mb = MODELS["tree"]()
        loads = [sim.JointLimit("first", lower=0.38, upper=1.0, restitution=0.6), sim.HingeFriction("second", 0.05)]
        return by_contact(mb, *loads, step=0.0025, friction=0.2, restitution=0.3)

    one, many = made().stepper(["first"]), made().stepper(["first"], states=2)
    assert not one.obstacle
    assert not many.obstacle
    recording = one.record(every=0.0025)
    for step in (one, many):
        step.u[..., 0] = PUSHES[0]
    many.u[1, 0] = PUSHES[1]
    for _ in range(40):
        one()
    many(40)
    run = made()
    run.control("first", PUSHES[0])
    wanted = run.run(0.1)
    np.testing.assert_array_equal(one.q, run.mb.q)
    np.testing.assert_array_equal(many.q[0], run.mb.q)
    np.testing.assert_array_equal(many.v[0], run.mb.v)
    assert (many.q[1] != many.q[0]).all()
    recorded = recording.stop()
    for name in ("limit of first", "friction of second", "contact"):
        scale = np.abs(wanted.forces[name]).max()
        np.testing.assert_allclose(recorded.forces[name][1:], wanted.forces[name][1:], rtol=0, atol=1e-9 * scale)
        np.testing.assert_allclose(recorded.work[name], wanted.work[name], rtol=0, atol=1e-12)


def test_parameters_of_states():
    """A stepper whose states have masses of their own: each as the model that has it."""
    masses = [5.0, 2.5]
    p = by_contact(table_and_ball(5.0), sim.HingeFriction("table", 20.0))
    batch = p.stepper([], states=2, parameters={"ball.mass": masses})
    batch(200)
    for q, mass in zip(batch.q, masses, strict=True):
        fall = 0.5 * (G - 20.0 / (1.0 + mass)) * 0.2**2
        np.testing.assert_allclose(q, [-fall, 0.15 - fall], rtol=0, atol=1e-9)


def test_between_rows_forces_are_the_means_of_steps():
    run = by_contact(table_and_ball(5.0), sim.HingeFriction("table", 20.0)).run(0.1)
    at = run.at([0.0512])
    np.testing.assert_allclose(at.forces["friction of table"], [[20.0, 0.0]], rtol=1e-9)


@pytest.mark.parametrize("contact_first", [True, False])
def test_the_order_of_loads_does_not_matter(contact_first):
    """Also where friction has acted alone before."""
    mb = table_and_ball(5.0)
    p = sim.Propagator(mb, integrator="moreau", step=0.001)
    loads = [sim.Contact(), sim.HingeFriction("table", 20.0)]
    for x in loads if contact_first else loads[::-1]:
        p.add(x)
    assert not p.run(0.2).events
    fall = 0.5 * (G - 20.0 / 6.0) * 0.2**2
    np.testing.assert_allclose(mb.q[0], -fall, rtol=0, atol=1e-9)
    assert "compiled, many in one call\n" in str(p.report())


def test_a_load_takes_the_place_of_what_its_hinge_says():
    """Friction that is smooth, too; and a stop that is wider."""
    ends = []
    for loads in ([sim.HingeFriction("body", 1.0)], [sim.HingeFriction("body", 1.0, smooth=1e-3)]):
        mb = slide(0.8)
        mb["body"].passive = sc.Passive(friction=50.0)
        by_contact(mb, *loads).run(0.1)
        ends.append(mb.v[0])
    np.testing.assert_allclose(ends, 0.75, rtol=1e-6)
    mb = slide(0.8)
    mb["body"].limits = sc.Limits(-0.01, 0.01)
    by_contact(mb, sim.JointLimit("body", lower=-1.0, upper=1.0)).run(0.1)
    np.testing.assert_allclose(mb.q, 0.08, rtol=1e-9)


def test_friction_of_a_dof_whose_motion_is_prescribed_is_idle():
    mb = table_and_ball(5.0)
    p = by_contact(mb, sim.HingeFriction("table", 20.0))
    p.prescribe("table", lambda t: (-0.5 * t**2, -t, -1.0))
    run = p.run(0.1)
    np.testing.assert_allclose(mb.q, [-0.005, 0.145], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.forces["friction of table"], 0.0)


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "laws", "text"),
    [
        (lambda: sim.HingeFriction("body", 1.0, static=2.0), {}, "friction of body has static=2 and coulomb=1, .*sm"),
        (
            lambda: sim.JointLimit("body", lower=-1.0, upper=1.0, restitution=0.5),
            {"law": "poisson"},
            "limit of body has restitution=0.5, .*law='energy'",
        ),
        (
            lambda: sim.JointLimit("body", lower=-1.0, upper=1.0, restitution=0.5),
            {"impacts": "sequential"},
            "limit of body has restitution=0.5, .*without restitution",
        ),
    ],
)  # fmt: skip
def test_what_is_no_row_is_refused_when_it_is_added(load, laws, text):
    mb = slide(0.8)
    p = by_contact(mb, **laws)
    with pytest.raises(StateError, match=text):
        p.add(load())
    other = sim.Propagator(mb, integrator="moreau", step=0.001)
    other.add(load())
    with pytest.raises(StateError, match=text):
        other.add(sim.Contact(**laws))
    run = p.run(0.1)
    assert list(run.work) == ["contact"]
    np.testing.assert_allclose(mb.q, 0.08, rtol=1e-9)


@pytest.mark.parametrize("laws", [{"law": "poisson"}, {"impacts": "sequential"}])
def test_other_laws_of_impact_know_rows_without_restitution(laws):
    """The table and its ball again, in Python."""
    mb = table_and_ball(5.0)
    loads = sim.HingeFriction("table", 20.0), sim.JointLimit("table", lower=-0.005, upper=1.0)
    run = by_contact(mb, *loads, **laws).run(0.1)
    np.testing.assert_allclose(mb.q, [-0.005, 0.145], rtol=0, atol=1e-6)
    held = run.forces["limit of table"][-1] + run.forces["friction of table"][-1]
    np.testing.assert_allclose(held, [6.0 * G, 0.0], rtol=1e-6)
