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


def begin(system, rng):
    system._plants["arm"].mb.q = rng.uniform(-1.0, 1.0, 1)


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
    s._seed = e.system._seed
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
    e = env(begin=lambda system, rng: setattr(system._plants["arm"].mb, "q", [2.5]))
    e.reset(seed=1)
    assert e.step(np.array([0.0]))[2:4] == (True, False)


def test_many_are_those_of_single_ones():
    v = env(num_envs=3)
    seen, _ = v.reset(seed=[5, 6, 7])
    assert (v.num_envs, seen.shape, v.action_space.shape) == (3, (3, 3), (3, 1))
    singles = [env() for _ in range(3)]
    for i, e in enumerate(singles):
        assert e.reset(seed=5 + i)[0].tobytes() == seen[i].tobytes()
    u = np.array([[1.0], [-1.0], [0.5]])
    seen, reward, ended, cut, _ = v.step(u)
    for i, e in enumerate(singles):
        one = e.step(u[i])
        assert one[0].tobytes() == seen[i].tobytes()
        assert one[1:4] == (reward[i], ended[i], cut[i])
    for _ in range(5):
        *_, cut, _ = v.step(u)
    assert cut.all()
    seen, *_ = v.step(u)  # the next episode of each
    assert np.abs(seen[:, 1]).max() == 0.0
    v.close()


def test_refusals(monkeypatch):
    with pytest.raises(WiringError, match=r"observe='seen\.z' is no output or state; did you mean 'seen\.y'"):
        sim.gym(swing(), ["seen.z"], ["drive.command"], lambda *_: 0.0)
    with pytest.raises(WiringError, match=r"observe='arm\.vdot': of a plant q and v are seen"):
        sim.gym(swing(), ["arm.vdot"], ["drive.command"], lambda *_: 0.0)
    with pytest.raises(WiringError, match=r"there is no input 'drive\.comand' to fill from outside; did you mean"):
        sim.gym(swing(), ["seen.y"], ["drive.comand"], lambda *_: 0.0)
    with pytest.raises(WiringError, match="bounds of actions are pairs"):
        sim.gym(swing(), ["seen.y"], {"drive.command": (1.0, -1.0)}, lambda *_: 0.0)
    with pytest.raises(LinkError, match="an environment is reset before its first step"):
        env().step(np.zeros(1))
    e = env()
    e.reset(seed=1)
    for wrong in (np.zeros(2), np.array([np.nan])):
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
