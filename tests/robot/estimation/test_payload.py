"""Payloads and offsets: exact readings give them exactly, noise as much as is claimed, and what is not seen is said."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.robot import Robot, estimate_offsets, estimate_payload
from soacraft.spatial.rotations import exp

CUP = sc.Inertia(0.7, (0.02, -0.03, 0.1), np.array([[2.0, 0.1, 0.05], [0.1, 1.8, -0.1], [0.05, -0.1, 1.2]]) * 1e-3)


def carrying(seed=0, count=60):
    rb = Robot(sc.load("panda"))
    rb.mb["link7"].add_node("hand", sc.Pose.from_rpy(0.1, 0.2, 0.3, (0, 0, 0.1)))
    loaded = rb.mb.copy()
    loaded.add_body("cup", "link7", sc.Weld(), CUP, inboard=rb.mb["link7/hand"].offset)
    rng = np.random.default_rng(seed)
    q, v, vdot = rng.uniform(-1.0, 1.0, (count, 7)), rng.standard_normal((count, 7)), rng.standard_normal((count, 7))
    return rb, {"q": q, "v": v, "vdot": vdot, "force": sc.dynamics.inverse_dynamics(loaded, q, v, vdot)}, loaded, rng


def test_exact_readings_give_the_inertia():
    rb, records, _, _ = carrying()
    got = estimate_payload(rb, "link7/hand", records)
    assert abs(got.mass - 0.7) < 1e-10
    assert np.abs(got.com - CUP.com).max() < 1e-10
    assert np.abs(got.moment - CUP.moment).max() < 1e-10
    assert got.physical
    assert abs(got.inertia.mass - 0.7) < 1e-10
    assert "cup" not in rb.mb


def test_standing_still_shows_mass_and_centre_alone():
    rb, records, loaded, _ = carrying()
    force = sc.dynamics.gravity_force(loaded, records["q"])
    got = estimate_payload(rb, "link7/hand", {"q": records["q"], "force": force})
    assert np.isfinite(got.deviations).tolist() == [True] * 4 + [False] * 6
    assert not got.physical  # no body has its mass off the frame and no moment there
    assert abs(got.mass - 0.7) < 1e-10
    assert np.abs(got.com - CUP.com).max() < 1e-9


def test_a_platform_on_two_cranks_weighs_what_its_motor_feels():
    """A parallelogram: its platform does not turn, so that the torque of one crank is -(2 m/2 + p + M) g l cos(q),
    wherever on the platform the mass M is; the other hinges have no motor."""
    m, p, M, length, g = 0.4, 1.5, 2.5, 0.8, 9.81
    mb = sc.Multibody("scales", gravity=(0, 0, -g))
    bar = sc.Inertia(m, (length / 2, 0, 0), 0.01 * np.eye(3))
    mb.add_body("crank", None, sc.Pin((0, 1, 0)), bar)
    at = sc.Pose(translation=(length, 0, 0))
    mb.add_body("platform", "crank", sc.Pin((0, 1, 0)), sc.Inertia(p, (0.3, 0, 0.1), 0.02 * np.eye(3)), inboard=at)
    mb.add_body("follower", None, sc.Pin((0, 1, 0)), bar, inboard=sc.Pose(translation=(1.2, 0, 0)))
    mb["follower"].add_node("end", at)
    mb["platform"].add_node("end", sc.Pose(translation=(1.2, 0, 0)))
    mb.close_loop("pin", "follower/end", "platform/end", sc.Pin((0, 1, 0)))
    x = np.array([0.3, 0.7, 1.1])
    torque = -(m + p + M) * g * length * np.cos(x)
    records = {"q": np.outer(x, [1.0, -1.0, 1.0]), "force": np.outer(torque, [1.0, 0.0, 0.0])}
    got = estimate_payload(Robot(mb), "platform", records)
    assert abs(got.mass - M) < 1e-9
    assert np.isfinite(got.deviations).tolist() == [True] + [False] * 9
    with pytest.raises(LoopError, match=r"loop 'pin' of 'scales' is open by .* Close it first: q = s.assemble\(q\)"):
        estimate_payload(Robot(mb), "platform", {**records, "q": np.outer(x, [1.0, -1.0, 0.9])})


def test_a_linkage_in_motion_shows_what_it_carries_whatever_its_loop_presses_with():
    """Two motors of a five-bar linkage move it; forces of the closure, Gc* lambda, change nothing."""
    rb, rng = Robot(sc.load("five_bar")), np.random.default_rng(3)
    loaded = rb.mb.copy()
    body = next(x.name for x in rb.mb.bodies if x.hinge_name == "free1")
    load = sc.Inertia(1e6 * CUP.mass, CUP.com, 1e6 * CUP.moment)  # as heavy as its bars
    loaded.add_body("cup", body, sc.Weld(), load)
    s, nv = sc.loops.TreeAugmented(loaded), loaded.nv
    q = np.array([s.assemble(s.assemble(loaded.q) + 0.2 * rng.standard_normal(nv)) for _ in range(12)])
    v = s.project_velocity(q, rng.standard_normal((12, nv)))
    force = s.inverse_dynamics(q, v, {name: rng.standard_normal((12, 1)) for name in s.independent(q[0])})
    vdot = s.forward_dynamics(q, v, force).vdot
    presses = force + 5.0 * np.einsum("kmi,km->ki", s.constraint_matrix(q), rng.standard_normal((12, 6)))
    for given in (force, presses):
        got = estimate_payload(rb, body, {"q": q, "v": v, "vdot": vdot, "force": given})
        seen = np.isfinite(got.deviations)
        assert seen.sum() == 4  # mass, centre in the plane, moment about its normal
        assert abs(got.mass / load.mass - 1.0) < 1e-9
        assert np.abs(np.where(seen[1:4], got.com - load.com, 0.0)).max() < 1e-9
        (axis,) = np.flatnonzero(seen[[4, 7, 9]])
        about, wanted = (x.moment + x.mass * (x.com @ x.com * np.eye(3) - np.outer(x.com, x.com)) for x in (got, load))
        assert abs(about[axis, axis] / wanted[axis, axis] - 1.0) < 1e-9
    with pytest.raises(LoopError, match="vdot of all dofs of 'five_bar' does not agree with its closures"):
        estimate_payload(rb, body, {"q": q, "v": v, "vdot": vdot + 1.0, "force": force})


def test_noise_moves_it_by_as_much_as_is_claimed():
    rb, records, _, rng = carrying()
    scores = []
    for _ in range(30):
        noisy = {**records, "force": records["force"] + 0.2 * rng.standard_normal((60, 7))}
        got = estimate_payload(rb, "link7/hand", noisy)
        scores.append((got.mass - 0.7) / got.deviations[0])
    assert 0.6 < np.std(scores) < 1.5
    assert abs(np.mean(scores)) < 0.6


def test_an_inertia_that_no_body_has_is_refused():
    rb, records, _, _ = carrying()
    negative = {**records, "force": 2.0 * sc.dynamics.inverse_dynamics(rb.mb, *(records[k] for k in ("q", "v", "vdot")))
                - records["force"]}  # fmt: skip
    got = estimate_payload(rb, "link7/hand", negative)
    assert abs(got.mass + 0.7) < 1e-9
    assert not got.physical
    with pytest.raises(StateError, match=r"no body has this inertia \(mass -0.7 kg\)"):
        _ = got.inertia


def test_offsets_are_found_and_what_is_not_seen_is_said():
    rb, _, _, rng = carrying()
    mb, q = rb.mb, rng.uniform(-1.0, 1.0, (25, 7))
    true = rng.uniform(-0.1, 0.1, 7)
    seen = mb.pose("link7", state=mb.state(q + true))
    got = estimate_offsets(rb, "link7", q, seen)
    assert np.abs(got.values - true).max() < 1e-9
    assert got.dofs == mb.dof_names
    assert np.isfinite(got.deviations).all()
    part = estimate_offsets(rb, "link7", q, mb.pose("link7", "link3", state=mb.state(q + true)), "link3")
    assert part.dofs == mb.dof_names[3:]
    assert np.abs(part.values - true[3:]).max() < 1e-9


def test_two_pins_about_one_line_cannot_be_told_apart():
    mb = sc.Multibody("twice")
    for i, parent in enumerate((None, "b0")):
        mb.add_body(f"b{i}", parent, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    mb.add_body("b2", "b1", sc.Pin((0, 1, 0)), sc.Inertia(1.0), inboard=sc.Pose(translation=(1, 0, 0)))
    q = np.random.default_rng(0).uniform(-1, 1, (6, 3))
    got = estimate_offsets(Robot(mb), "b2", q, mb.pose("b2", state=mb.state(q + np.array([0.1, 0.2, -0.3]))))
    assert np.isinf(got.deviations).tolist() == [True, True, False]
    assert abs(got.values[:2].sum() - 0.3) < 1e-9
    assert abs(got.values[2] + 0.3) < 1e-9


def test_what_is_wrong_is_refused():
    rb, records, _, _ = carrying()
    with pytest.raises(StateError, match="records have q, v, vdot and force"):
        estimate_payload(rb, "link7", {"q": records["q"]})
    with pytest.raises(ModelError, match="is on the inertial frame, which carries nothing"):
        estimate_payload(rb, rb.mb.root, records)
    with pytest.raises(ModelError, match="estimates are of a Robot"):
        estimate_payload(rb.mb, "link7", records)
    with pytest.raises(StateError, match=r"the result\.left of estimate_payload is not finite"):
        estimate_payload(rb, "link7", {**records, "force": np.full(7, 1e300)})
    with pytest.raises(StateError, match="one leading axis of 60"):
        estimate_offsets(rb, "link7", records["q"], sc.Pose())
    with pytest.raises(ModelError, match="nothing moves between"):
        estimate_offsets(rb, "link7", records["q"], rb.mb.pose("link7", state=rb.mb.state(records["q"])), "link7/hand")


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (3, "records have q, v, vdot and force, got 3"),
        ({3: 1, "q": 2}, "records have q, v, vdot and force"),
        ({"q": np.zeros((20, 7)), "force": np.zeros((5, 7))}, "a row for each of the 20 of q"),
        ({"q": np.zeros((4, 5, 7)), "force": np.zeros((4, 5, 7))}, r"must be \(N, nq\) with a reading"),
        ({"q": np.zeros((0, 7)), "force": np.zeros((0, 7))}, r"must be \(N, nq\) with a reading"),
    ],
)
def test_bad_records_are_refused(records, said):
    rb = Robot(sc.load("panda"))
    with pytest.raises(StateError, match=said):
        estimate_payload(rb, "link7", records)
    if isinstance(records, dict) and np.ndim(records.get("q")) and np.shape(records["q"]) != (20, 7):
        with pytest.raises(StateError, match=r"q must be \(N, nq\) with a reading"):
            estimate_offsets(rb, "link7", records["q"], sc.Pose())


def test_a_structure_that_cannot_move_tells_no_payload():
    mb = sc.serial_chain(2)
    mb.couple("still", {"link1": 1.0})
    mb.couple("as well", {"link2": 1.0})
    with pytest.raises(StateError, match=r"the closures of 'chain' leave it no motion, .* at 'link2', and forces"):
        estimate_payload(Robot(mb), "link2", {"q": np.zeros((3, 2)), "force": np.zeros((3, 2))})


def gantry(s):
    """A slide, a pin and a slide, lengths in metres times s."""
    mb = sc.Multibody("gantry")
    mb.gravity = (0, 0, -9.8 * s)
    body = sc.Inertia(2.0, (0.1 * s, 0, 0.05 * s), np.eye(3) * 0.1 * s**2)
    mb.add_body("a", None, sc.Prismatic((1, 0, 1)), body)
    mb.add_body("b", "a", sc.Pin((0, 1, 0)), body, inboard=sc.Pose(translation=(0.3 * s, 0, 0)))
    mb.add_body("c", "b", sc.Prismatic((1, 0, 0)), body, inboard=sc.Pose(translation=(0.5 * s, 0, 0)))
    return Robot(mb), np.array([s, 1.0, s])


def test_estimates_do_not_depend_on_units():
    """The same noisy readings in metres and in millimetres; what is left over is that of the noise itself."""
    rng = np.random.default_rng(1)
    x, slip, blur = rng.uniform(-1, 1, (40, 3)), 0.1 * rng.standard_normal((40, 3)), rng.standard_normal((40, 3))
    rates, pulls = rng.standard_normal((2, 40, 3)), rng.standard_normal((40, 3))
    carried, offsets = [], []
    for s in (1.0, 1000.0):
        rb, units = gantry(s)
        loaded = rb.mb.copy()
        loaded.add_body("cup", "c", sc.Weld(), sc.Inertia(0.7, (0.1 * s, 0, 0.2 * s), np.eye(3) * 0.01 * s**2))
        q, v, vdot = x * units, rates[0] * units, rates[1] * units
        force = sc.dynamics.inverse_dynamics(loaded, q, v, vdot) + 0.05 * pulls * np.array([s, s**2, s])
        got = estimate_payload(rb, "c", {"q": q, "v": v, "vdot": vdot, "force": force})
        big = np.array([1.0, *[s] * 3, *[s**2] * 6])
        carried.append([got.mass, *(got.com / s), *(got.deviations / big)[:4], got.left / s**2])
        seen = rb.mb.pose("c", state=rb.mb.state(q + np.array([0.05, 0.1, -0.02]) * units))
        turn = np.array([exp(0.01 * r) for r in slip])
        where = sc.Pose(rotation=turn @ seen.rotation, translation=seen.translation + 0.01 * s * blur)
        found = estimate_offsets(rb, "c", q, where)
        offsets.append([*(found.values / units), *(found.deviations / units), found.left[0], found.left[1] / s])
    assert np.isfinite(offsets).all()
    assert np.allclose(*np.nan_to_num(np.array(carried), posinf=1e9), rtol=1e-6, atol=1e-9)
    assert np.allclose(*offsets, rtol=1e-6, atol=1e-12)
    assert abs(offsets[0][-1] - 0.01 * np.sqrt(3)) < 0.004
