"""One-sided couplings and ropes in motion: stops, ratchets, winches, against closed forms."""

import json
import re

import numpy as np
import pytest

import soacraft as sc

G = 9.81


def mass(gravity=(0, 0, -G)):
    """A point of 2 kg that moves along x and z."""
    mb = sc.Multibody(gravity=gravity)
    mb.add_body("x", None, sc.Prismatic((1, 0, 0)), sc.Inertia(0.0))
    mb.add_body("z", "x", sc.Prismatic((0, 0, 1)), sc.Inertia(2.0))
    return mb


def advance(mb, t, step=0.01, **laws):
    p = sc.sim.Propagator(mb, integrator="moreau", step=step)
    touch = sc.sim.Contact(**laws)
    p.add(touch)
    return p.advance_to(t), touch


def test_a_rope_pulls_and_does_not_push():
    """A weight on a rope of 1 m falls from the hook: free for sqrt(2/g), then at rest at 1 m; the rope bears m g."""
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.0)
    mb.set_state([0.0, -0.2], [0.0, 0.0])
    start = np.sqrt(2 * 0.8 / G)
    r, _ = advance(mb, 0.3)
    assert mb.q[1] == pytest.approx(-0.2 - 0.5 * G * 0.09, abs=1e-9)  # nothing pulls yet
    assert start > 0.3
    mb.set_state([0.0, -0.2], [0.0, 0.0])
    r, _ = advance(mb, 0.6)
    np.testing.assert_allclose([mb.q[1], mb.v[1]], [-1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(r.forces["contact"][-1], [0.0, 2.0 * G], rtol=1e-9)
    assert r.energy[-1] <= r.energy[0]


def test_a_rope_that_is_taut_is_a_pendulum():
    """Released level on a taut rope: the speed below is sqrt(2 g l), the tension 3 m g; a rope up above goes slack."""
    errors = []
    for step in (0.02, 0.01):
        mb = mass()
        mb.add_rope("rope", "inertial", "z", 1.0)
        mb.set_state([1.0, 0.0], [0.0, 0.0])
        r, _ = advance(mb, 0.55, step)
        speed, height = np.linalg.norm(r.v, axis=1), -r.q[:, 1]
        errors.append(np.abs(speed - np.sqrt(2 * G * height.clip(0))).max())
        assert np.linalg.norm(r.q, axis=1).max() < 1.0 + 1e-9
        assert errors[-1] < 2 * G * step  # what gravity does in two steps
    assert errors[1] < 0.6 * errors[0]


def test_a_winch_lifts():
    """A rope drawn in at 0.5 m/s lifts the weight with it; let out, the weight follows by itself."""
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.0)
    mb.set_state([0.0, -1.0], [0.0, 0.5])
    advance(mb, 0.4, one_sided={"rope": lambda t: (1.0 - 0.5 * t, -0.5)})
    np.testing.assert_allclose([mb.q[1], mb.v[1]], [-0.8, 0.5], atol=1e-9)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_a_winch_that_does_not_tell_its_rate_is_refused(rate):
    """A rope that is drawn in, with no rate or one of the wrong sign; let out, or let go by a jump, it may say 0."""
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.0)
    mb.set_state([0.0, -1.0], [0.0, 0.0])
    text = rf"one_sided\['rope'\] goes from 1 to 0.995 between t = 0 and 0.01 s, and says its rates .* {rate:g}; give"
    with pytest.raises(sc.errors.SimulationError, match=text):
        advance(mb, 0.1, one_sided={"rope": lambda t: (1.0 - 0.5 * t, rate)})
    for let_out in (lambda t: (1.0 + 0.5 * t, 0.0), lambda t: (1.0 if t < 0.05 else 2.0, 0.0)):
        mb.set_state([0.0, -1.0], [0.0, 0.0])
        advance(mb, 0.1, one_sided={"rope": let_out})
        assert mb.q[1] < -1.0


def test_a_stop_that_moves_tells_its_rate():
    """x >= U(t): a stop that pushes; as a sine with its rate it is followed, without it it is refused."""
    for told in (True, False):
        mb = mass(gravity=(0, 0, 0))
        mb.couple("stop", {"x": 1}, 0.0, one_sided=True)
        mb.set_state([0.0, 0.0], [0.0, 0.0])
        U = {"stop": lambda t, told=told: (np.sin(3.0 * t), 3.0 * np.cos(3.0 * t) if told else 0.0)}
        if told:
            advance(mb, 0.2, one_sided=U)
            assert mb.q[0] >= np.sin(0.6) - 1e-6
        else:
            with pytest.raises(sc.errors.SimulationError, match=r"one_sided\['stop'\] goes from 0 to 0\.0299"):
                advance(mb, 0.2, one_sided=U)


def test_a_stop_of_two_dofs():
    """x + z >= -0.5: the sum falls, stops at its bound, and the point slides on along it."""
    mb = mass(gravity=(0, 0, 0))
    mb.couple("stop", {"x": 1, "z": 1}, -0.5, one_sided=True)
    mb.set_state([0.0, 0.0], [-2.0, 1.0])
    advance(mb, 1.0)
    assert mb.q.sum() == pytest.approx(-0.5, abs=1e-6)
    np.testing.assert_allclose(mb.v, [-1.5, 1.5], atol=1e-9)  # what is along the bound stays


def test_a_ratchet_lets_go_one_way():
    """A wheel on a ratchet turns forward as it likes, and not back: a torque backward moves nothing."""
    mb = sc.load("pendulum")
    mb.gravity = (0, 0, 0)
    mb.couple("pawl", {mb.dof_names[0]: 1.0}, one_sided="rate")
    for torque in (3.0, -3.0):
        mb.set_state([0.3], [0.0])
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
        p.add(sc.sim.Contact(), lambda t, state, torque=torque: [torque])
        p.advance_to(0.1)
        assert mb.v[0] == pytest.approx(max(0.1 * torque, 0.0), abs=1e-9)  # 1 kg m^2
        assert mb.q[0] == pytest.approx(0.3 + max(0.5 * torque * 0.01, 0.0), abs=1e-9)
    mb.set_state([0.3], [-2.0])
    advance(mb, 0.02, 0.01)
    assert mb.v[0] == pytest.approx(0.0, abs=1e-9)


def test_an_equality_holds_at_a_stop():
    """A coupling as an equality and a stop in one problem: two slides that move as one are stopped as one."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    for name, m in (("a", 1.0), ("b", 3.0)):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(m))
    mb.couple("belt", {"a": 1, "b": -2})
    mb.couple("stop", {"a": -1}, -0.1, one_sided=True)
    mb.set_state([0.0, 0.0], [1.0, 0.5])
    r, _ = advance(mb, 0.2)
    np.testing.assert_allclose(mb.q, [0.1, 0.05], atol=1e-6)
    np.testing.assert_allclose(mb.v, 0.0, atol=1e-9)
    assert r.violation.max() < 1e-9


def test_files_and_copies_keep_them(tmp_path):
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.5)
    mb.couple("stop", {"x": 1}, 0.2, one_sided=True)
    mb.couple("pawl", {"z": 1}, one_sided="rate")
    sc.save(mb, tmp_path / "m.json")
    for other in (sc.load(tmp_path / "m.json"), mb.copy()):
        assert [repr(x) for x in (*other.loops, *other.couplings)] == [repr(x) for x in (*mb.loops, *mb.couplings)]
        assert not other.is_closed
        assert len(sc.sim.forces.one_sided.OneSided(other)) == 3
    assert "rope 'rope': 'z' at most 1.5 m from 'inertial'" in repr(next(iter(mb.loops)))


def test_the_report_tells_what_does_not_act():
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.5)
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    assert "one-sided couplings and ropes 'rope': add sc.sim.Contact()" in str(p.report())
    p.add(sc.sim.Contact())
    assert "'rope'" not in str(p.report())
    assert "one-sided couplings or ropes act" in str(p.report())


def test_refusals():
    mb = mass()
    mb.add_rope("rope", "inertial", "z", 1.0)
    mb.set_state([0.0, -1.2], [0.0, 0.0])
    with pytest.raises(sc.errors.SimulationError, match=r"the run begins with 'rope' beyond its bound by 0.2; "):
        advance(mb, 0.1, penetration=1e-3)
    advance(mb, 0.01, one_sided=False)
    for bad, text in (
        ({"one_sided": {"chain": lambda t: (1, 0)}}, r"one_sided has 'chain', which is no one-sided coupling or rope"),
        ({"one_sided": {"rope": 3}}, r"one_sided\['rope'\] must be a function of time, got 3"),
        ({"one_sided": 3}, r"one_sided must be True, False or \{name: U\(t\)\}, got 3"),
    ):
        with pytest.raises(sc.errors.SoacraftError, match=text):
            advance(mb, 0.01, **bad)
    with pytest.raises(sc.errors.ModelError, match="one_sided of coupling 's' must be True, False or 'rate', got 'up'"):
        mb.couple("s", {"x": 1}, one_sided="up")
    with pytest.raises(sc.errors.ModelError, match="coupling 's' is one-sided, and so not active in solvers of loops"):
        mb.couple("s", {"x": 1}, active=False, one_sided=True)
    with pytest.raises(sc.errors.ModelError, match="the length of rope 'r' is 0 m; it must be above 0"):
        mb.add_rope("r", "inertial", "z", 0.0)


@pytest.mark.parametrize("key", ["one_sided", "length"])
def test_attributes_of_ropes_are_not_given_to_loops(key):
    """One could make a closure that ties nothing, and looks like one that does."""
    mb = mass()
    text = f"loop 'odd': the attribute '{key}' is that of one-sided ones; make a rope with mb.add_rope(...), or choose"
    told = {key: True}
    for close in (
        lambda: mb.close_loop("odd", "inertial", "z", sc.Spherical(), attributes=told),
        lambda: mb.add_rolling("odd", "z", radius=0.1, attributes=told),
        lambda: mb.add_rope("odd", "inertial", "z", 1.0, attributes=told),
    ):
        with pytest.raises(sc.errors.ModelError, match=re.escape(text)):
            close()
    assert not mb.loops
    mb.close_loop("fine", "inertial", "z", sc.Spherical(), attributes={"maker": "Rope & Co", "sides": 1})


@pytest.mark.parametrize("one_sided", [False, True, "rate"])
def test_attributes_of_one_sided_couplings_are_said_as_such(one_sided):
    mb = mass()
    text = r"coupling 'c': the attribute 'one_sided' is that of one-sided ones; say mb.couple\(..., one_sided=True\)"
    with pytest.raises(sc.errors.ModelError, match=text):
        mb.couple("c", {"x": 1}, attributes={"one_sided": True}, one_sided=one_sided)
    assert not mb.couplings


@pytest.mark.parametrize(
    ("part", "fields", "text"),
    [
        ("loops", {"attributes": {"one_sided": "rate", "length": 1.5}}, "'rope' is one-sided, and no rope"),
        ("loops", {"active": True}, "loop 'rope' is one-sided, and no rope"),
        ("loops", {"hinge": {"kind": "Weld"}}, "loop 'rope' is one-sided, and no rope"),
        ("loops", {"attributes": {"one_sided": True}}, "the length of rope 'rope' must"),
        ("loops", {"attributes": {"length": 1.5}}, "the attribute 'length' is that of one-sided ones"),
        ("couplings", {"attributes": {"one_sided": "up"}}, "of coupling 'stop' must be True, False or 'rate'"),
        ("couplings", {"active": True}, "coupling 'stop' is one-sided, so it must not be active"),
    ],
)
def test_files_with_other_one_sided_parts_are_refused(tmp_path, part, fields, text):
    mb, file = mass(), tmp_path / "m.json"
    mb.add_rope("rope", "inertial", "z", 1.5)
    mb.couple("stop", {"x": 1}, 0.2, one_sided=True)
    sc.save(mb, file)
    told = json.loads(file.read_text())
    told[part][0].update(fields)
    file.write_text(json.dumps(told))
    with pytest.raises(sc.errors.ModelFileError, match=text):
        sc.load(file)
