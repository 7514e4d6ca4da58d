"""Environments of propagators: vectors have the bits of single ones, contact included; what fails ends alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import soacraft as sc
from soacraft import sim
from soacraft.errors import LinkError, SimulationError, StateError, WiringError


def cart_pole():
    return sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)


def hopper(integrator="moreau"):
    """A ball on a slider over a floor, pushed up and down."""
    mb = sc.Multibody("hopper", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    half = sc.Pose(translation=(0, 0, 0.5))
    ball = mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)), inboard=half)
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([-0.2], [0.0])
    p = sim.Propagator(mb, integrator=integrator, step=0.004)
    p.add(sim.Contact())
    return p


def quadruped():
    dog = sc.load("a1")
    dog.root.add_geometry(sc.Geometry("floor", "plane"))
    return sim.Propagator.from_file(dog, keyframe="home", step=0.004)


def pole_env(p=None, **more):
    return sim.gym(
        cart_pole() if p is None else p,
        ["q", "v", "u", "t"],
        {"cart": (-20.0, 20.0)},
        lambda seen, u: -float(seen["q"][1] ** 2) - 0.01 * float(u[0] ** 2),
        lambda seen: abs(seen["q"][1]) > 0.3,
        **{"every": 0.02, "begin": lambda rng: rng.uniform(-0.2, 0.2, 2), "limit": 9, **more},
    )


def test_it_passes_the_check_of_gymnasium():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for word in ("observation space", "symmetric and normalized"):  # what it recommends
            warnings.filterwarnings("ignore", message=f".*{word}.*")
        check_env(pole_env(), skip_render_check=True)


def marched(vector, singles, actions, seed):
    """Compare a vector with single environments, step by step; the lengths of episodes that ended."""
    seen, _ = vector.reset(seed=seed)
    for i, e in enumerate(singles):
        assert e.reset(seed=seed + i)[0].tobytes() == seen[i].tobytes()
    over, lengths, length = [False] * len(singles), set(), [0] * len(singles)
    for u in actions:
        seen, reward, ended, cut, info = vector.step(u)
        for i, e in enumerate(singles):
            if over[i]:
                wanted = (e.reset()[0], 0.0, False, False, {"t": 0.0})
                lengths.add(length[i])
                length[i] = 0
            else:
                wanted = e.step(u[i])
                length[i] += 1
            assert wanted[0].tobytes() == seen[i].tobytes()
            assert wanted[1:4] == (reward[i], ended[i], cut[i])
            assert wanted[4]["t"] == info["t"][i]
            over[i] = wanted[2] or wanted[3]
    return lengths


@pytest.mark.parametrize("batch", [None, False])
def test_a_vector_has_the_bits_of_single_ones(batch):
    vector, singles = pole_env(num_envs=4, threads=2, batch=batch), [pole_env() for _ in range(4)]
    assert ("one batch" if batch is None else "batch=False") in vector.report()
    rng = np.random.default_rng(3)
    actions = rng.uniform(-20.0, 20.0, (30, 4, 1))
    assert len(marched(vector, singles, actions, 5)) > 1


def test_a_quadruped_on_a_floor_has_the_bits_of_single_ones():
    p, dog = quadruped(), sc.load("a1")

    def begin(rng):
        q = np.array(p.mb.q)
        q[6] += 0.05
        q[7:] += rng.uniform(-0.1, 0.1, 12)
        return q, rng.uniform(-0.1, 0.1, 18)

    def made(**more):
        seen = ["q", "v", "u", "position[FR_calf]", "rotation[trunk]", "velocity[FR_calf]", "angular_velocity[trunk]"]
        fallen = {"done": lambda seen: seen["q"][6] < 0.2, "limit": 12}
        return sim.gym(p, seen, None, lambda seen, u: seen["v"][3], every=0.02, begin=begin, **fallen, **more)

    vector = made(num_envs=3, threads=2)
    assert "one batch of compiled steps" in vector.report()
    ranges = np.array([x.attributes["ctrlrange"] for x in dog.actuators])
    np.testing.assert_array_equal(vector.single_action_space.low, ranges[:, 0])
    np.testing.assert_array_equal(vector.single_action_space.high, ranges[:, 1])
    rng = np.random.default_rng(0)
    actions = np.clip(p.mb.q[7:] + 0.6 * rng.normal(size=(25, 3, 12)), *ranges.T)
    assert len(marched(vector, [made() for _ in range(3)], actions, 3)) > 0


def test_steps_are_those_of_a_stepper_with_the_same_numbers():
    p = hopper()
    e = sim.gym(p, ["q", "v"], ["ball"], lambda seen, u: 0.0, every=0.02)
    first, _ = e.reset(seed=1)
    step = p.stepper(period=0.02)
    np.testing.assert_array_equal(first, [-0.2, 0.0])
    for u in np.linspace(0.0, 12.0, 30):
        step.u[:] = u
        step()
        assert e.step(np.array([u]))[0].tolist() == [step.q[0], step.v[0]]
    assert p.t == 0.0
    np.testing.assert_array_equal(p.mb.q, [-0.2])


def test_the_same_seed_gives_the_same_bits_and_another_others():
    e = pole_env()
    runs = []
    for seed in (3, 4, 3):
        rows = [e.reset(seed=seed)[0]] + [e.step(np.array([u]))[0] for u in (1.0, -3.0, 2.0)]
        runs.append(np.array(rows).tobytes())
    assert runs[0] == runs[2] != runs[1]


# -- functions of many ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, 3])
def test_functions_of_arrays_give_what_functions_of_one_give(count):
    calls = []

    def reward(seen, u):
        calls.append(u.shape)
        return seen["v"][:, 0] * u[:, 0] - seen["t"]

    p = cart_pole()
    arrays = sim.gym(
        p, ["q", "v"], ["cart"], reward, lambda seen: np.abs(seen["q"][:, 1]) > 0.3, 0.02, vector=True, num_envs=count
    )
    single = sim.gym(
        p, ["q", "v"], ["cart"], lambda seen, u: seen["v"][0] * u[0] - seen["t"],
        lambda seen: abs(seen["q"][1]) > 0.3, 0.02, num_envs=count,
    )  # fmt: skip
    for e in (arrays, single):
        e.reset(seed=1)
    u = np.linspace(-30.0, 40.0, count or 1)
    u = u[:, None] if count else u
    for _ in range(20):
        one, other = arrays.step(u), single.step(u)
        for a, b in zip(one[:4], other[:4], strict=True):
            np.testing.assert_array_equal(a, b)
    assert calls == [(count or 1, 1)] * 20


def test_a_start_of_arrays_is_drawn_once():
    calls = []

    def begin(rng, n):
        calls.append(n)
        return rng.uniform(-0.1, 0.1, (n, 2)), np.zeros((n, 2))

    e = sim.gym(cart_pole(), ["q"], ["cart"], lambda s, u: s["t"], begin=begin, vector=True, num_envs=5, limit=2)
    first = e.reset(seed=1)[0]
    assert len(np.unique(first)) == 10
    for _ in range(3):
        e.step(np.zeros((5, 1)))
    assert calls == [5, 5]
    assert e.reset(seed=1)[0].tobytes() == first.tobytes()


def test_functions_of_arrays_that_give_no_row_for_each_are_refused():
    e = sim.gym(cart_pole(), ["q"], ["cart"], lambda s, u: 0.0, vector=True, num_envs=3)
    e.reset(seed=1)
    with pytest.raises(WiringError, match=r"reward with vector=True gives a number for each of 3 environments, got"):
        e.step(np.zeros((3, 1)))


# -- what fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [True, False])
def test_one_that_cannot_go_on_is_truncated_and_the_others_go_on(batch):
    p = sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    wild = [False, True, False]
    draws = iter(wild + [False] * 10)

    def begin(rng):
        return np.array([0.1, 0.2]), np.array([1e200, 0.0]) if next(draws) else np.zeros(2)

    e = sim.gym(p, ["q", "v"], None, lambda s, u: 1.0, every=0.02, begin=begin, num_envs=3, batch=batch)
    alone = sim.gym(p, ["q", "v"], None, lambda s, u: 1.0, every=0.02, begin=lambda rng: np.array([0.1, 0.2]))
    e.reset(seed=1)
    alone.reset(seed=1)
    zero = np.zeros((3, 2))
    with pytest.warns(RuntimeWarning, match=r"environment 1 was truncated, since it could not go on: .*is not finite"):
        seen, reward, ended, cut, info = e.step(zero)
    wanted = alone.step(zero[0])[0]
    np.testing.assert_array_equal(seen[[0, 2]], [wanted, wanted])
    np.testing.assert_array_equal(seen[1], [0.1, 0.2, 1e200, 0.0])  # its last good state
    assert (reward.tolist(), ended.tolist(), cut.tolist()) == ([1, 0, 1], [False] * 3, wild)
    assert info["_error"].tolist() == wild
    assert "is not finite" in info["error"][1]
    assert info["error"][0] is None
    seen, reward, ended, cut, info = e.step(zero)
    np.testing.assert_array_equal(seen[1], [0.1, 0.2, 0.0, 0.0])  # begun anew
    np.testing.assert_array_equal(seen[0], alone.step(zero[0])[0])
    assert "error" not in info
    assert not cut.any()
    np.testing.assert_array_equal(e.step(zero)[0][1], wanted)  # and its time goes on as that of a new one


def test_a_single_one_that_cannot_go_on_says_why():
    p = sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    starts = iter([1e200, 0.0])
    e = sim.gym(p, ["q"], None, lambda s, u: 1.0, begin=lambda rng: (np.zeros(2), np.array([next(starts), 0.0])))
    e.reset(seed=1)
    with pytest.warns(RuntimeWarning, match="environment 0 was truncated"):
        _, reward, ended, cut, info = e.step(np.zeros(2))
    assert (reward, ended, cut) == (0.0, False, True)
    assert "is not finite" in info["error"]
    e.reset()
    assert e.step(np.zeros(2))[1:] == (1.0, False, False, {"t": 0.01})


@pytest.mark.parametrize("count", [None, 2])
def test_steps_that_are_too_long_are_an_error_of_all(count):
    mb = sc.Multibody("lever")
    mb.add_body("arm", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, com=(0, 0, -1), moment=np.eye(3) * 0.01))
    mb["arm"].passive = sc.Passive(damping=400.0)
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    e = sim.gym(p, ["q"], None, lambda s, u: 0.0, begin=lambda rng: ([0.0], [1.0]), num_envs=count)
    e.reset(seed=1)
    zero = np.zeros(e.action_space.shape)
    with pytest.raises(SimulationError, match="stability limits the steps"):
        _ = [e.step(zero) for _ in range(80)]


# -- what is no batch ----------------------------------------------------------------------------------------------


def test_what_depends_on_the_time_goes_one_by_one_and_begins_at_its_start():
    p = cart_pole()
    p.control("pole", ([0.0, 0.1, 0.2], [0.0, 2.0, 0.0]))
    e = pole_env(p, num_envs=2, begin=None)
    assert "what acts depends on the time, which states of a batch share" in e.report()
    with pytest.raises(WiringError, match=r"as one batch: what acts depends on the time"):
        pole_env(p, num_envs=2, batch=True)
    runs = []
    for _ in range(2):
        first, _ = e.reset(seed=1)
        runs.append(np.array([first] + [e.step(np.ones((2, 1)))[0] for _ in range(6)]))
    np.testing.assert_array_equal(*runs)
    assert np.abs(runs[0][-1, 0, 1]) > 1e-3  # the samples act
    run = cart_pole()
    run.control("pole", ([0.0, 0.1, 0.2], [0.0, 2.0, 0.0]))
    run.control("cart", 1.0)
    np.testing.assert_allclose(runs[0][-1, 0, :2], run.advance_to(0.12).q[-1], rtol=0, atol=1e-13)


def test_functions_and_adaptive_methods_are_stepped_as_runs():
    p = sim.Propagator(sc.load("pendulum"), rtol=1e-10)
    p.mb.set_state([0.3], [0.0])
    e = sim.gym(p, ["q"], ["bob"], lambda s, u: 0.0, every=0.05, num_envs=2)
    assert "a stepper for each, by steps of runs, since 'dop853' chooses its steps" in e.report()
    e.reset(seed=1)
    for _ in range(4):
        seen = e.step(np.zeros((2, 1)))[0]
    run = sim.Propagator(sc.load("pendulum"), rtol=1e-10)
    run.mb.set_state([0.3], [0.0])
    np.testing.assert_allclose(seen[:, 0], run.advance_to(0.2).q[-1, 0], rtol=0, atol=1e-8)


def test_forces_of_contact_are_observed_one_by_one():
    e = sim.gym(
        hopper(), ["contact_force[ball]", "touching[ball]", "q[ball]"], ["ball"], lambda s, u: 0.0, every=0.02,
        begin=lambda rng: np.array([-0.4]), num_envs=2,
    )  # fmt: skip
    assert "'contact_force[ball]' is of contacts, which batches do not keep" in e.report()
    assert (e.reset(seed=1)[0] == [0, 0, 0, 0, -0.4]).all()
    for _ in range(5):
        seen = e.step(np.array([[0.0], [5.0]]))[0]
    np.testing.assert_allclose(seen, [[0, 0, 9.81, 1, -0.4], [0, 0, 4.81, 1, -0.4]], atol=1e-6)


def test_sensors_are_observed(tmp_path):
    file = tmp_path / "imu.xml"
    file.write_text(
        """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
        <body name="b" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/><site name="s"/></body>
        </worldbody><sensor><accelerometer name="acc" site="s"/><gyro name="gyro" site="s"/></sensor></mujoco>"""
    )
    p = sim.Propagator.from_file(str(file))
    begin = {"begin": lambda rng: ([0, 0, 0, 1, 0, 0, 1.0], [0, 0, rng.uniform(1, 2), 0, 0, 0])}
    for names, how in ((["sensors.gyro"], "one batch"), (["sensors.gyro", "sensors.acc"], "an acceleration")):
        e = sim.gym(p, names, [], lambda s, u: 0.0, every=0.02, num_envs=2, **begin)
        assert how in e.report()
        e.reset(seed=1)
        seen = e.step(np.zeros((2, 0)))[0]
        assert (np.abs(seen[:, :2]) < 1e-6).all()
        assert (seen[:, 2] > 1.0).all()
        np.testing.assert_allclose(seen[:, 3:], 0.0, atol=1e-6)  # it falls, and feels no gravity


def test_a_function_of_the_stepper_is_observed():
    def heights(step):
        return step.q[..., 1] ** 2

    e = sim.gym(cart_pole(), ["q", heights, lambda step: step.v], ["cart"], lambda s, u: s["heights"], num_envs=3)
    assert "observe: q, heights, observe[2]" in e.report()
    e.reset(seed=1)
    seen, reward, *_ = e.step(np.ones((3, 1)))
    np.testing.assert_array_equal(seen[:, 2], seen[:, 1] ** 2)
    np.testing.assert_array_equal(reward, seen[:, 2])
    assert seen.shape == (3, 5)


def test_what_is_seen_stays_as_it_was():
    e = pole_env(num_envs=2)
    first, _ = e.reset(seed=1)
    before = first.copy()
    e.step(np.ones((2, 1)))
    np.testing.assert_array_equal(first, before)


# -- refusals ------------------------------------------------------------------------------------------------------

REFUSED = [
    ({"observe": ["w"]}, WiringError, r"observe='w' is nothing that a stepper has"),
    ({"observe": "q"}, WiringError, r"observe is a list of names and functions, such as \['q', 'v'\]; got 'q'"),
    ({"observe": ["q", "q"]}, WiringError, r"observe has 'q' twice"),
    ({"observe": ["q[cat]"]}, WiringError, r"'cart_pole' has no coordinate 'cat'; did you mean 'cart'"),
    ({"observe": ["v[cat]"]}, WiringError, r"'cart_pole' has no dof 'cat'; did you mean 'cart'"),
    ({"observe": ["position[cat]"]}, WiringError, r"observe='position\[cat\]': .*'cat'"),
    ({"observe": ["contact_force[cart]"]}, WiringError, r"no shape or body .*'cart'.* Nothing touches here: add a"),
    ({"observe": ["sensors.gyro"]}, WiringError, r"'cart_pole' has no sensor 'gyro'"),
    ({"observe": [lambda step: "high"]}, WiringError, r"the observation 'observe\[0\]' gives no numbers"),
    ({"observe": [lambda step: 1.0], "num_envs": 2}, WiringError, r"has shape \(\) of 2 states: give it a row for"),
    ({"act": "cart"}, WiringError, r"act is a list of names, or bounds \{name: \(low, high\)\}; got 'cart'"),
    ({"act": ["cat"]}, sc.errors.ModelError, r"no actuator or dof 'cat'; did you mean 'cart'"),
    (
        {"act": {"cart": (1.0, -1.0)}},
        WiringError,
        r"bounds of actions are pairs .* those of 'cart' are \(1\.0, -1\.0\)",
    ),
    ({"act": {"cart": 1.0}}, WiringError, r"bounds of actions are pairs"),
    ({"every": 0.015}, StateError, r"period is 0\.015 s, which is no multiple of the step of 0\.01 s"),
    ({"motion": sc.load("pendulum")}, WiringError, r"an environment is of a Propagator or a System, got"),
]


@pytest.mark.parametrize(("more", "error", "text"), REFUSED)
def test_refusals(more, error, text):
    given = {"motion": cart_pole(), "observe": ["q"], "act": ["cart"], "reward": lambda s, u: 0.0, **more}
    with pytest.raises(error, match=text):
        sim.gym(**given)


def test_starts_of_other_shapes_are_refused():
    for begin, text in (
        (lambda rng: [0.0], r"q of begin must have shape"),
        (lambda rng: ([0.0, 0.0], [0.0]), r"v of begin"),
        (lambda rng: [np.nan, 0.0], r"q of begin must be finite"),
    ):
        e = pole_env(begin=begin)
        with pytest.raises(StateError, match=text):
            e.reset(seed=1)


def test_one_that_was_closed_or_not_begun_takes_no_steps():
    for e in (pole_env(), pole_env(num_envs=2)):
        zero = np.zeros(e.action_space.shape)
        with pytest.raises(LinkError, match="reset before its first step"):
            e.step(zero)
        e.reset(seed=1)
        with pytest.raises(LinkError, match="finite numbers, got"):
            e.step(zero + np.nan)
        e.close()
        for refused in (lambda e=e, zero=zero: e.step(zero), lambda e=e: e.reset()):
            with pytest.raises(LinkError, match="the environment was closed"):
                refused()


def test_a_start_with_shapes_in_each_other_is_taken_out_alone_and_refused_in_a_batch():
    how = {"every": 0.02, "begin": lambda rng: np.array([-0.41])}  # 1 cm in the floor
    e = sim.gym(hopper(), ["q"], [], lambda s, u: 0.0, **how)
    e.reset(seed=1)
    for _ in range(50):
        seen = e.step(np.zeros(0))[0]
    np.testing.assert_allclose(seen, [-0.4], atol=1e-3)
    many = sim.gym(hopper(), ["q"], [], lambda s, u: 0.0, num_envs=2, **how)
    with pytest.raises(
        StateError, match=r"state 0 of the stepper begins with .* 0\.01 m in each other; move them apart"
    ):
        many.reset(seed=1)


def test_what_a_stepper_has_that_environments_ask_for():
    mb = sc.load("cart_pole")
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    p.control("cart", 1.0)
    step = p.stepper(["pole"], labels=["tip"])
    assert step.is_autonomous
    assert not step.obstacle
    assert step.shapes == ()
    assert step.names == ("tip",)
    step.u = {"tip": 2.0}
    with pytest.raises(StateError, match="the stepper drives no control 'pole'"):
        step.u = {"pole": 2.0}
    p.add(lambda t, state: [np.sin(t), 0.0])
    assert not p.stepper(["pole"]).is_autonomous
    assert "inertial/floor" in hopper().stepper().shapes
