"""Every example runs, and prints what it should: each has one value here that a wrong sign would change."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageSequence

import soacraft as sc
from soacraft.view.space.scenes import Scene

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.name for path in FOLDER.glob("*.py"))


@pytest.fixture
def run(capsys, monkeypatch):
    """Run an example; its names and its lines by what stands before the first colon."""
    options = np.get_printoptions()

    def work(name, *told):
        monkeypatch.setattr(sys, "argv", [name, *told])
        names = runpy.run_path(str(FOLDER / name), run_name="__main__")
        lines = capsys.readouterr().out.splitlines()
        return names, {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}, lines

    yield work
    np.set_printoptions(**options)


class Film:
    """The film of an example, small and of few pictures."""

    def __init__(self, path):
        self.path = str(path)

    def write(self, scene, path, **told):
        assert path == self.path
        scene_video(scene, path, **{**told, "size": (48, 36), "rate": 4.0})
        return path

    def moves(self):
        """Whether something is seen, and its pictures differ."""
        with Image.open(self.path) as film:
            pictures = [np.asarray(x.convert("RGB")).astype(int) for x in ImageSequence.Iterator(film)]
        assert np.ptp(pictures[0]) > 100
        return (np.abs(pictures[0] - pictures[len(pictures) // 2]) > 30).any()


scene_video = Scene.video


@pytest.fixture
def film(tmp_path, monkeypatch):
    made = Film(tmp_path / "film.gif")
    monkeypatch.setattr(Scene, "video", lambda scene, path, **told: made.write(scene, path, **told))
    return made


def number(text: str) -> float:
    return float(re.search(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)[0])


def test_every_example_has_a_test():
    tested = {name for name in globals() if name.startswith("test_") and name[5:7].isdigit()}
    assert tested == {f"test_{name.removesuffix('.py')}" for name in SCRIPTS}
    readme = (FOLDER / "README.md").read_text()
    assert all(f"`{name}`" in readme for name in SCRIPTS)


def test_01_mass_matrix(run):
    names, found, lines = run("01_mass_matrix.py")
    assert found["massmat = factor D factor*"] == "True"
    assert found["massmat inverse = I"] == "True"
    assert number(found["inverse against numpy"]) < 1e-10
    assert number(found["trace"]) == pytest.approx(np.trace(names["massmat"].array()), abs=1e-6)
    assert lines[-7].startswith("link1 ")


def test_02_inverse_and_forward_dynamics(run):
    names, found, _ = run("02_inverse_and_forward_dynamics.py")
    for check in ("round trip error", "against force=T", "J* f against the difference"):
        assert number(found[check]) < 1e-10
    # the push is felt: without it the force is another
    assert np.max(np.abs(np.asarray(names["share"]))) > 0.1


def test_03_operational_space(run):
    names, found, _ = run("03_operational_space.py")
    assert number(found["against J massmat^-1 J*"]) < 1e-10
    pushed, other = (np.linalg.norm(names["answer"][hand]) for hand in names["hands"])
    assert pushed > other > 0
    assert (1 / np.diag(names["block"]) < names["mb"].total_mass).all()


def test_04_subgraph_and_branches(run):
    _, found, lines = run("04_subgraph_and_branches.py")
    assert found["block of the whole"] == "True"
    assert found["inverse is a block"] == "False"
    assert "(2, 4)" in found["pairs of branches that do not meet in the mass matrix"]
    assert "Operators of different models or sub-graphs cannot be mixed" in lines[-1]


def test_05_own_hinge(run):
    names, found, _ = run("05_own_hinge.py")
    assert names["report"].ok
    assert number(found["frequency"]) == pytest.approx(np.sqrt(9.81 * 0.8), abs=1e-5)


def test_06_simulate_double_pendulum(run):
    names, found, _ = run("06_simulate_double_pendulum.py")
    # both masses at rest at the start: the energy is that of their heights
    upper, lower = -np.cos(2.0), -np.cos(2.0) - np.cos(2.5)
    assert number(found["energy"]) == pytest.approx(9.81 * (upper + lower), abs=1e-5)
    assert number(found["energy"].partition("drift:")[2]) < 1e-6
    assert np.linalg.norm(names["run"].q[-1] - names["start"]) > 0.5
    assert number(found["kinetic energy against operators"]) < 1e-9


def test_07_derivatives(run):
    names, found, lines = run("07_derivatives.py")
    shank = "X('left_shank')"
    assert lines[1].startswith(f"H * phi * ({shank} * phi * M - M * phi.T * {shank}) * phi.T * H.T")
    assert number(found["against differences"]) < 1e-7
    assert number(found["of a gimbal, by the name of the dof"]) < 1e-7
    assert np.max(np.abs(names["slope"].array())) > 0.01
    # the energy of the motion changes at this rate along the velocity, the velocity held
    mb, step = names["mb"], 1e-4
    ahead, behind = (sc.dynamics.kinetic_energy(mb, mb.integrate(mb.q, t * mb.v), mb.v) for t in (step, -step))
    assert number(found["v* (d/dt of the mass matrix) v"]) == pytest.approx((ahead - behind) / step, abs=1e-3)
    assert abs(number(found["v* (the skew rest) v"])) < 1e-10
    for claim in ("skew", "order of two derivatives matters", "by a turn about the third axis"):
        assert found[claim] == "True"


def test_08_prove_forward_dynamics(run):
    names, found, lines = run("08_prove_forward_dynamics.py")
    assert all(found[name].startswith("True") for name in names["steps"])
    assert all(sc.verify(left, right) for left, right in names["steps"].values())
    assert found["not proved, since it is false"] == "True"
    assert any(line.endswith("= phi.inv + K*H          inverse of phi (Jain 2016 Eq. 9)") for line in lines)
    assert number(found["against forward_dynamics"]) < 1e-10


def test_09_stewart_platform(run):
    names, found, lines = run("09_stewart_platform.py")
    assert any("21 dofs, 15 rows of rank 15, mobility 6" in line for line in lines)
    for check, limit in (("against closed form", 1e-8), ("apart", 1e-10), ("then it stays", 1e-10)):
        assert number(found[check]) < limit
    # the work of the legs is what raises the whole
    mb, q, force = (names[key] for key in ("mb", "q", "holding"))
    v, step = names["v"], 1e-5
    high, low = (
        sc.dynamics.potential_energy(mb, names["solvers"][1].assemble(mb.integrate(q, t * v)), ignore_loops=True)
        for t in (step, -step)
    )
    assert force @ v == pytest.approx((high - low) / (2 * step), rel=1e-6)
    assert (1 / np.diag(names["massmat"].inv.array()) < mb.total_mass).all()


def test_10_own_factorization(run):
    names, found, _ = run("10_own_factorization.py")
    for claim in ("factorization", "inverse", "against a dense solve", "square-root factor"):
        assert found[claim] == "True"
    # a damped arm answers less: Lambda is in the inverse, and not a small part of it
    s, x = names["s"], names["x"]
    massmat = sc.dynamics.mass_matrix(names["mb"], names["q"])
    damped = massmat + np.diag(np.diag(names["Lambda"].array()))
    np.testing.assert_allclose(np.asarray(names["inverse"] * x), np.linalg.solve(damped, x), rtol=1e-8)
    assert np.linalg.norm(np.linalg.solve(massmat, x)) > 1.1 * np.linalg.norm(np.asarray(names["inverse"] * x))
    assert set(names["kinds"]) == {"diagonal", "edges", "gather", "scatter"}
    assert s.hinge.size == names["mb"].nv


def test_the_legs_of_a_stewart_platform_balance_the_weight_of_its_table():
    """With light legs the six forces along them are the ones of a rigid body in equilibrium."""
    names = runpy.run_path(str(FOLDER / "09_stewart_platform.py"))
    mb = names["stewart_platform"](cylinder=1e-6, piston=1e-6)
    legs = [f"piston{i}" for i in range(1, 7)]
    force = sc.loops.TreeAugmented(mb).inverse_dynamics(mb.q, mb.v, dict.fromkeys(legs, 0.0), actuated=legs)
    heads = names["HOME"]
    along = (heads - names["FEET"]) / np.linalg.norm(heads - names["FEET"], axis=1, keepdims=True)
    wrenches = np.concatenate([along.T, np.cross(heads, along).T])
    expected = np.linalg.solve(wrenches, [0, 0, -20 * mb.gravity[2], 0, 0, 0])
    assert np.array([force[mb.v_slice(leg)][0] for leg in legs]) == pytest.approx(expected, rel=1e-5)
    others = np.delete(force, [mb.v_slice(leg).start for leg in legs])
    assert np.max(np.abs(others)) == 0


def test_11_exact_linkages(run):
    names, found, lines = run("11_exact_linkages.py")
    assert number(found["off the line"]) < 1e-12
    assert lines[0].endswith("on x = 1.050000000000")
    assert found["Bennett's linkage"].startswith("1 freedom")
    assert found["rank"] == "2"
    assert sum(line.startswith("ring") for line in lines) == 3
    assert names["q"][0] == pytest.approx(1.3, abs=1e-12)


def test_12_sko_models(run):
    _, found, _ = run("12_sko_models.py")
    thermal, swing = "slowest decay of the conductors", "slow swing of the cable"
    for name in (thermal, swing, "upper chord at the wall", "reflected inertia"):
        by_blocks, by_formula = (number(part) for part in found[name].split(", by "))
        assert by_blocks == pytest.approx(by_formula, abs=1e-6), name


def test_13_newtons_cradle(run, film):
    names, found, _ = run("13_newtons_cradle.py", film.path)
    assert number(found["speed at the first impact"]) == pytest.approx(2 * np.sqrt(9.81 * 0.2) * np.sin(0.15), abs=1e-4)
    assert number(found["largest swing of those between"]) < 0.01
    assert names["run"].q[-1, 0] < 0.01 < names["run"].q[0, 0]
    assert film.moves()


def test_14_tippe_top(run, film):
    names, _, lines = run("14_tippe_top.py", film.path)
    assert len(lines) == 8
    assert names["run"].q[0, 6] < names["R"] < names["run"].q[-1, 6]
    assert film.moves()


def test_15_domino_row(run, film):
    names, found, _ = run("15_domino_row.py", film.path)
    assert len(names["times"]) == names["COUNT"]
    assert number(found["worst residual"]) <= 1e-6
    assert film.moves()


def test_16_stack_of_boxes(run, film):
    names, _, _ = run("16_stack_of_boxes.py", film.path)
    assert len(names["last"].pairs) >= 40
    assert not names["last"].unique
    assert not film.moves()


def test_17_humanoid_falls(run, film):
    names, found, _ = run("17_humanoid_falls.py", film.path)
    assert names["first"] == pytest.approx(np.sqrt(0.2 / 9.81), abs=2e-3)
    assert names["speed"][-1] < 1e-9
    assert number(found["deepest in anything"]) < 1.0
    energy = names["energy"]
    assert np.diff(energy).max() <= 1e-12 * energy[0]  # rounding, as in free flight
    assert -names["bears"] == pytest.approx(names["weight"], rel=1e-6)
    assert film.moves()


def test_18_cassie_stands(run):
    """The first instants; `tests/contact/test_robots.py` has all of it."""
    names, found, _ = run("18_cassie_stands.py", "0.02")
    assert number(found["force left on the pelvis"]) < 1e-2
    assert np.abs(names["held"][6:]).max() < 60.0  # within what its motors can: 45 to 195 N m
    assert number(found["the centre of mass moves by at most"]) < 0.1


def test_19_flexible_arm(run, film):
    names, found, _ = run("19_flexible_arm.py", film.path)
    assert number(found["the end of the link sags"]) == pytest.approx(number(found["by tables of beams"]), abs=0.003)
    # Southwell: what swings out of the plane of a spin gains its square at least; without stiffening it does not
    assert names["squares"][True] > 1.0 > names["squares"][False]
    damping = names["modes"].damping  # 0.005 is that of the link alone, the heavier load is not damped
    assert ((damping > 0.0) & (damping < 0.005)).all()
    moving, left = (number(found[x]) for x in found if x.startswith(("the end of the link sways", "and when")))
    assert moving > left > 1.0
    assert film.moves()


def test_20_solar_panel(run, film):
    names, found, lines = run("20_solar_panel.py", film.path)
    assert found["rigid-body modes"] == "6"
    assert number(found["largest momentum of a mode"]) < 1e-10
    panel, modes, roll = (names[x] for x in ("panel", "modes", "roll"))
    alone = float(panel.kinds[0].split()[1])
    assert alone < modes.hz[6] < modes.hz[roll]  # the hub gives way in all modes, most where it turns
    swings = [number(line.rpartition("by")[2]) for line in lines if line.startswith("halves")]
    assert swings[1] < 0.02 * swings[0]
    for line in lines[-2:]:
        assert number(line.partition("turned")[2]) == pytest.approx(10.0, abs=0.3)
    assert film.moves()


def test_21_motor_and_pid(run):
    names, found, lines = run("21_motor_and_pid.py")
    assert "2 equations are pure" in found["checked"]
    assert "every 0.002 s: outputs" in lines
    assert number(found["angle at the end"]) == pytest.approx(0.5, abs=2e-3)
    assert number(found["current at the end"]) == pytest.approx(number(found["that gravity asks for"]), abs=0.02)
    work, gained = (number(x) for x in found["work of the motor"].split(";"))
    assert work == pytest.approx(gained, abs=2e-4)
    assert np.abs(names["run"].signals["control.command"]).max() <= 24.0


def test_22_campaign(run):
    names, found, lines = run("22_campaign.py")
    assert "128 of 128 runs done (128 ok)" in lines[0]
    assert number(found["end, quantile 0.9"]) == pytest.approx(0.493, abs=0.01)
    assert number(found["rank correlation of the end with motor.R"]) == pytest.approx(-0.7, abs=0.1)
    again, kept = (number(x) for x in found["run 17 again"].split(";"))
    assert again == pytest.approx(kept, abs=1e-6)
    assert names["c"].quantile(0.9, "end").lower < 0.4927 < names["c"].quantile(0.9, "end").upper


def walked(names, seconds=4.0):
    """The mean speed of the policy that was learned, by a stepper of its own."""
    p, step = names["p"], names["p"].stepper(period=names["PERIOD"])
    for _ in range(round(seconds / names["PERIOD"])):
        seen = np.concatenate([step.q, step.v, [step.t]])[None]
        step.u[:] = np.clip(names["policy"](names["weights"][None], seen)[0], *np.array(limits(p.mb)).T)
        step()
        assert step.q[6] > 0.15
    return step.q[4] / seconds


def limits(mb):
    return [x.attributes["ctrlrange"] for x in mb.actuators]


def test_23_quadruped_learns(run):
    names, found, lines = run("23_quadruped_learns.py", "1", "0", "3")
    assert "one batch of compiled steps" in found["steps"]
    assert abs(number(lines[4])) < 0.02  # it stands at first
    assert 0.0 < number(found["round 1"]) < 0.8 * 2.0  # 0.8 a second at most
    assert number(found["speed"]) == pytest.approx(walked(names), abs=6e-4)


@pytest.mark.slow
def test_a_quadruped_learns_to_walk(run):
    names, found, lines = run("23_quadruped_learns.py")
    assert abs(number(lines[4])) < 0.02
    assert number(found["speed"]) > 0.3
    assert found["stands then"] == "True"
    assert number(found["speed"]) == pytest.approx(walked(names), abs=6e-4)


def test_24_tyre_change(run, film):
    """The task in 2/5 of its time; `tests/examples/test_tyre_change.py` looks at its physics."""
    names, found, _ = run("24_tyre_change.py", "2.5", film.path)
    off = [number(found[f"estimate at the {x}"]) for x in ("start", "grasp")]
    assert off[0] > 40.0 > 5.0 > off[1]
    left, right = (number(x) for x in found["hands carry"].partition("N")[0].split("+"))
    assert left + right == pytest.approx(names["weight"], rel=0.06)  # it still comes to rest
    assert number(found["stand carries"]) == pytest.approx(names["weight"], rel=1e-3)
    assert number(found["wheel"]) < 5.0
    assert found["wheel at rest"] == "True"
    assert film.moves()
