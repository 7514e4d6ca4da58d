"""Systems as environments: gymnasium's own check, the bits of a plain run, seeds, and resets that are exact."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import soacraft as sc
from soacraft import sim
from soacraft.errors import LinkError, WiringError


def swing() -> sim.System:
    s = sim.System("swing", integrator="rk4", step=1e-2)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.add("seen", sim.Sensor(deviation=1e-2), every=0.02)
    s.connect("arm.q[bob]", "seen.u")
    return s


class Counter(sim.Component):
    n = sim.In(dtype=int)

    @sim.output(dtype=int)
    def y(n):
        return n


def begin(system, rng):
    system.plants["arm"].mb.q = rng.uniform(-1.0, 1.0, 1)


def env(**more):
    return sim.gym(
        swing(),
        observe=["arm.q", "arm.v", "seen.y"],
        act={"drive.command": (-5.0, 5.0)},
        reward=lambda seen, u: -float(seen["arm.q"][0] ** 2) - 0.01 * float(u[0] ** 2),
        done=lambda seen: abs(seen["arm.q"][0]) > 2.0,
        **{"every": 0.02, "begin": begin, "limit": 6, **more},
    )


def test_it_passes_the_check_of_gymnasium():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for word in ("observation space", "symmetric and normalized"):  # what it recommends
            warnings.filterwarnings("ignore", message=f".*{word}.*")
        check_env(env(), skip_render_check=True)


def episode(e, seed, actions):
    rows = [e.reset(seed=seed)[0]]
    for u in actions:
        seen, reward, ended, cut, info = e.step(np.array([u]))
        rows.append(np.concatenate([seen, [reward, ended, cut, info["t"]]]))
    return rows


ACTIONS = [1.0, -2.0, 0.5, 3.0, -1.0, 0.0]


def test_it_has_the_bits_of_a_run_with_the_same_forces():
    e = env()
    rows = episode(e, 7, ACTIONS)
    s = swing()
    plant = s._plants["arm"]
    s.board.reseed(e.system.board.seed)
    plant.mb.q = rows[0][:1]
    s.add("hold", sim.Constant(value=0.0, unit="N m"))
    s.connect("hold.y", "drive.command")
    s.run(0.0)
    for k, u in enumerate(ACTIONS, 1):
        s.params["hold.value"] = u
        run = s.run(0.02 * k)
        assert [*rows[k][:3]] == [plant.mb.q[0], plant.mb.v[0], run.signals["seen.y"][-1]]
        assert rows[k][3] == -(plant.mb.q[0] ** 2) - 0.01 * u**2
        assert rows[k][6] == 0.02 * k
    assert [x[5] for x in rows[1:]] == [0, 0, 0, 0, 0, 1]  # truncated after 6 steps


def test_the_same_seed_gives_the_same_bits_and_another_others():
    e = env()
    first, other, again = (episode(e, seed, ACTIONS) for seed in (3, 4, 3))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, again, strict=True))
    assert first[0][0] != other[0][0]
    assert first[0][2] - first[0][0] != other[0][2] - other[0][0]  # of the noise, too
    e.reset(seed=3)
    assert e.reset()[0][0] != first[0][0]  # the next episode of a seed is another one


def test_it_ends_where_it_is_done():
    e = env(begin=lambda system, rng: setattr(system.plants["arm"].mb, "q", [2.5]))
    e.reset(seed=1)
    assert e.step(np.array([0.0]))[2:4] == (True, False)


@pytest.mark.parametrize(("batch", "accuracy"), [(True, 1e-13), (False, 0.0)])
def test_many_are_those_of_single_ones(batch, accuracy):
    """As one batch, to rounding; one by one, with the same bits. Some end before others, and begin anew."""

    def close(a, b):
        return np.abs(np.asarray(a) - np.asarray(b)).max() <= accuracy

    how = {"done": lambda seen: seen["arm.q"][0] > 0.1, "limit": 5}
    v = many(num_envs=3, batch=batch, **how)
    seen, _ = v.reset(seed=5)
    assert (v.num_envs, seen.shape, v.action_space.shape) == (3, (3, 3), (3, 1))
    singles, over = [many(**how) for _ in range(3)], [False] * 3
    for i, e in enumerate(singles):
        assert close(e.reset(seed=5 + i)[0], seen[i])
    rng, lengths, length = np.random.default_rng(3), set(), [0] * 3
    for _ in range(14):
        u = rng.uniform(-5.0, 5.0, (3, 1))
        seen, reward, ended, cut, info = v.step(u)
        for i, e in enumerate(singles):
            if over[i]:
                wanted = (e.reset()[0], 0.0, False, False, {"t": 0.0})
                lengths.add(length[i])
                length[i] = 0
            else:
                wanted = e.step(u[i])
                length[i] += 1
            assert close(wanted[0], seen[i])
            assert close(wanted[1], reward[i])
            assert wanted[2:4] == (ended[i], cut[i])
            assert close(wanted[4]["t"], info["t"][i])
            over[i] = wanted[2] or wanted[3]
    assert len(lengths) > 1
    v.close()


@pytest.mark.parametrize("batch", [None, True, False])
def test_actions_beyond_their_bounds_act_as_the_bounds(batch):
    """As gymnasium's ClipAction: motion, reward and bits are those of the bound."""
    if batch is None:
        rows = [episode(many(), 3, [u] * 3) for u in (5.0, 50.0)]
        assert all(a.tobytes() == b.tobytes() for a, b in zip(*rows, strict=True))
        return
    ends = []
    for u in (-5.0, -1e9):
        v = many(num_envs=2, batch=batch)
        v.reset(seed=3)
        ends.append([x for _ in range(3) for x in v.step(np.array([[u], [-u]]))[:2]])
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))


@pytest.mark.parametrize("batch", [None, True, False])
def test_an_environment_that_was_closed_takes_no_steps(batch):
    e = env() if batch is None else many(num_envs=2, batch=batch)
    e.reset(seed=1)
    e.close()
    for refused in (lambda: e.step(np.zeros((1,) if batch is None else (2, 1))), lambda: e.reset(seed=1)):
        with pytest.raises(LinkError, match=r"the environment was closed; make a new one with sim\.gym"):
            refused()


@pytest.mark.parametrize("batch", [True, False])
def test_a_vector_is_reset_before_its_first_step_with_a_seed_for_each(batch):
    v = many(num_envs=2, batch=batch)
    with pytest.raises(LinkError, match=r"reset before its first step"):
        v.step(np.zeros((2, 1)))
    if batch:
        with pytest.raises(LinkError, match=r"2 environments take one seed, or 2; got 3"):
            v.reset(seed=[1, 2, 3])
    one, other = v.reset(seed=[4, 5])[0], many(num_envs=2, batch=batch).reset(seed=4)[0]
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("limit", [0, -1, 2.5, True])
def test_an_episode_has_a_step_at_least(limit):
    for more in ({}, {"num_envs": 2}):
        with pytest.raises(WiringError, match=r"limit, the steps of an episode, must be"):
            env(limit=limit, **more)


def test_plants_begin_where_they_are_put():
    """q and v of plants through `system.plants`, alone and in a batch."""

    def start(system, rng):
        system.plants["arm"].mb.set_state([0.25], [rng.uniform(1.0, 2.0)])

    e, v = env(begin=start), many(begin=start, num_envs=2, batch=True)
    alone, both = e.reset(seed=1)[0], v.reset(seed=1)[0]
    assert alone[0] == 0.25
    assert 1.0 < alone[1] < 2.0
    assert both[0].tobytes() == alone.tobytes()
    assert list(e.system.plants) == ["arm"]
    with pytest.raises(TypeError):
        e.system.plants["arm"] = None


def many(**more):
    return sim.gym(
        swing(),
        observe=["arm.q", "arm.v", "seen.y"],
        act={"drive.command": (-5.0, 5.0)},
        reward=lambda seen, u: -float(seen["arm.q"][0] ** 2) - 0.01 * float(u[0] ** 2),
        **{"every": 0.02, "begin": begin, **more},
    )


def test_what_cannot_be_a_batch_goes_one_by_one_or_is_refused():
    def timed(**more):
        s = swing()
        s.add("wave", sim.Sine(frequency=1.0))
        s.add("slow", sim.UnitDelay(), every=more.pop("slow", 0.02))
        s.connect("wave.y", "slow.u")
        return sim.gym(s, ["seen.y"], ["drive.command"], lambda *_: 0.0, every=0.02, num_envs=2, **more)

    assert type(timed()).__name__ == "SyncVectorEnv"
    with pytest.raises(WiringError, match="as one batch: 'y' of 'wave' takes the time, which copies do not share"):
        timed(batch=True)
    with pytest.raises(WiringError, match=r"the period of 0\.02 s is no multiple of the ticks of 'slow'"):
        timed(batch=True, slow=0.03)
    with pytest.raises(WiringError, match=r"the period of 0\.025 s is no multiple of the step"):
        many(num_envs=2, batch=True, every=0.025)
    v = many(num_envs=2)
    v.reset(seed=1)
    assert type(v).__name__ == "SystemVectorEnv"
    with pytest.raises(LinkError, match=r"actions are \(2, 1\) finite numbers, got"):
        v.step(np.zeros((1, 1)))


def test_refusals(monkeypatch):
    with pytest.raises(WiringError, match=r"observe='seen\.z' is no output or state; did you mean 'seen\.y'"):
        sim.gym(swing(), ["seen.z"], ["drive.command"], lambda *_: 0.0)
    with pytest.raises(WiringError, match=r"observe='arm\.vdot': of a plant q and v are seen"):
        sim.gym(swing(), ["arm.vdot"], ["drive.command"], lambda *_: 0.0)
    with pytest.raises(WiringError, match=r"there is no input 'drive\.comand' to fill from outside; did you mean"):
        sim.gym(swing(), ["seen.y"], ["drive.comand"], lambda *_: 0.0)
    s = swing()
    s.add("counter", Counter(), every=0.1)
    with pytest.raises(WiringError, match=r"the input 'counter\.n' takes int, and values from outside are float"):
        sim.gym(s, ["seen.y"], ["counter.n"], lambda *_: 0.0)
    with pytest.raises(WiringError, match="bounds of actions are pairs"):
        sim.gym(swing(), ["seen.y"], {"drive.command": (1.0, -1.0)}, lambda *_: 0.0)
    with pytest.raises(LinkError, match="an environment is reset before its first step"):
        env().step(np.zeros(1))
    e = env()
    e.reset(seed=1)
    for wrong in (np.zeros(2), np.array([np.nan]), np.array([np.inf]), ["fast"], None):
        with pytest.raises(LinkError, match="an action is 1 finite numbers, got"):
            e.step(wrong)
    s = swing()
    s.add("board", sim.Udp("board", {"a": "rad"}, {"b": "m"}, ("127.0.0.1", 9)), every=0.1)
    s.connect("seen.y", "board.a")
    with pytest.raises(WiringError, match="'board' cannot be reset, so that it is in no environment: the other side"):
        sim.gym(s, ["seen.y"], ["drive.command"], lambda *_: 0.0)
    s._parts["board"].component.close()
    sim.gym.__globals__["_kinds"].cache_clear()
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(LinkError, match=r"gymnasium, which is not installed: pip install 'soacraft\[gym\]'"):
        env()
