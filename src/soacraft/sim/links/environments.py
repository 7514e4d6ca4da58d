"""`gym`: a motion or a system as an environment of gymnasium, to learn controls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Uncopied
from soacraft.errors import LinkError, WiringError
from soacraft.markup import Text
from soacraft.sim.links.fleet import Rules
from soacraft.sim.links.flock import FlockFleet, obstacle_to_flock
from soacraft.sim.links.observations import observations
from soacraft.sim.links.stepped import Driven, Starts, SteppedFleet
from soacraft.sim.links.stepped_environment import stepped_environment
from soacraft.sim.links.stepped_system import Reduced, SystemStarts, reduced
from soacraft.sim.links.system_source import SystemSource, flat
from soacraft.sim.links.vector_environment import CLOSED, UNBEGUN, read_actions, vector_environment
from soacraft.sim.propagator import Propagator
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

_INSTALL = "environments are those of gymnasium, which is not installed: pip install 'soacraft[gym]'."


def gym(
    motion: Propagator | System,
    observe: Sequence[Any],
    act: Sequence[str] | Mapping[str, Any] | None,
    reward: Callable[..., Any],
    done: Callable[..., Any] | None = None,
    every: float = 0.01,
    begin: Callable[..., Any] | None = None,
    limit: int | None = None,
    num_envs: int | None = None,
    batch: bool | None = None,
    threads: int | None = None,
    vector: bool = False,
) -> Any:
    """An environment of gymnasium; with `num_envs` a vector of so many, each with its own state and seed.

    The motion is that of a propagator, with contact, servos and all that its steppers know, or that of a system. An
    action is held for `every` seconds. After `limit` steps, at least one, an episode is truncated. Actions beyond their
    bounds are clipped to these, as by gymnasium's `ClipAction`; those that are not finite are refused.

    Of a propagator `observe` are "q", "v", "q[elbow]", "v[elbow]", the last action "u", "t", "position[hand]" and
    likewise rotation, velocity and angular_velocity of a frame in inertial axes, "contact_force[foot]",
    "touching[foot]", "sensors.gyro" of its file, and functions of the stepper that give an array, with a row for each
    state of a batch (step.q[..., :3]). `act` are controls, with their bounds as {"elbow": (-2, 2)}; bounds default to
    the `ctrlrange` of an actuator, else there are none; None is all controls that `p.stepper` has. `begin(generator)`
    gives q, or (q, v), of a new episode.

    Of a system `observe` are outputs and states of components, and q and v of plants; `act` are inputs that nothing
    fills. `begin(system, generator)` may change a new system by a generator of the seed: `system.states["lag.x"] = ...`
    of components, `system.plants["arm"].mb.set_state(q, v)` of plants. A system that `s.stepper` knows is a motion of
    its plant, too; others are run.

    `reward` takes the observations, a mapping from names that has "t" too, and the action that was held; `done` takes
    the observations alone. With `vector=True` both are called once for all environments, with arrays that have a row
    for each; and so is `begin(generator, count)` of a propagator, which gives rows, by the generator of the first
    environment.

    Environments on steppers are one compiled batch, on some `threads`, if that is possible, else each has a stepper,
    with the same bits. Systems that are run march as one batch, and agree with single ones to rounding, where that is
    possible: "rk4" with a fixed step, equations that do not take the time, `every` a multiple of step and ticks, what
    campaigns can batch. Others go one by one. `env.report()` says which, and why; `batch=True` refuses what is no
    batch, `batch=False` makes all go one by one, systems as runs.

    The same seed gives the same bits. What cannot go on, such as a state that is not finite, is truncated, with the
    reason in info["error"], a reward of 0 and what was observed last; the others go on. A warning tells of the first.
    Steps that are too long for what is fast are an error of all, as in runs. An environment that was closed takes no
    steps. A link to a program whose state is not known is refused. Needs gymnasium: pip install 'soacraft[gym]'.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> p = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=1e-2)
    >>> env = sim.gym(p, ["q", "v"], {"bob": (-5.0, 5.0)}, lambda seen, u: -seen["q"][0] ** 2)
    >>> first, _ = env.reset(seed=1)
    >>> env.step(np.array([1.0]))[0].round(5)
    array([5.e-05, 1.e-02])
    >>> many = sim.gym(p, ["q", "v"], ["bob"], lambda seen, u: -seen["q"][:, 0] ** 2, num_envs=100, vector=True)
    >>> _ = many.reset(seed=1)
    >>> many.step(np.ones((100, 1)))[0].shape
    (100, 2)
    """
    environment = _kinds()
    if limit is not None:
        limit = whole_number(limit, "limit, the steps of an episode,", 1, error=WiringError)
    count = 1 if num_envs is None else whole_number(num_envs, "num_envs", 1)
    rules = Rules(reward, done, limit, bool(vector))
    on_steppers = vector_environment() if num_envs is not None else stepped_environment()
    if isinstance(motion, Propagator):
        driven, starts = Driven.of(motion, act, every), Starts(motion.mb, begin, bool(vector))
        return on_steppers(
            SteppedFleet(driven, partial(observations, observe=observe), starts, count, batch, threads), rules
        )
    if not isinstance(motion, System):
        raise WiringError(f"an environment is of a Propagator or a System, got {motion!r:.60}.")
    if act is None:
        raise WiringError("act are inputs of the system that nothing fills: name them.")
    source = SystemSource(motion, observe, act, every)
    way = "batch=False" if batch is False else reduced(source)
    if isinstance(way, Reduced):
        starts_of = (
            Starts(way.driven.make().mb, None, False) if begin is None else SystemStarts(source, way.plant, begin)
        )
        return on_steppers(SteppedFleet(way.driven, way.observe, starts_of, count, batch, threads), rules)
    if num_envs is None:
        return environment(source, rules, begin, way)
    why = way if batch is False else obstacle_to_flock(source)
    if not why:
        return vector_environment()(FlockFleet(source, count, begin), rules)
    if batch:
        raise WiringError(f"the environments cannot march as one batch: {why}.")
    from gymnasium.vector import SyncVectorEnv

    one_by_one: Any = SyncVectorEnv([lambda: environment(source, rules, begin, why)] * count)
    one_by_one.report = one_by_one.envs[0].report
    return one_by_one


@cache
def _kinds() -> Any:
    """The class of environments, made when gymnasium is first asked for."""
    try:
        import gymnasium
        from gymnasium.spaces import Box
    except ImportError:
        raise LinkError(_INSTALL) from None

    class SystemEnv(Uncopied, gymnasium.Env[Array, Array]):
        """A system as an environment; see `sim.gym`."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
        _instead = "it is a run in time; make another with sim.gym(...)"

        def __init__(self, source: SystemSource, rules: Rules, begin: Any, why: str) -> None:
            self._source, self._rules, self._begin, self._why = source, rules, begin, why
            self.observation_space = Box(-np.inf, np.inf, (source.seen_size,), np.float64)
            self.action_space = Box(source.low, source.high, dtype=np.float64)
            self.system: System | None = None
            self._steps, self._closed = 0, False

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Array, dict[str, Any]]:
            """A new episode."""
            self._require_open()
            super().reset(seed=seed)
            self.system, self._held = self._source.built(int(self.np_random.integers(2**63)))
            if self._begin is not None:
                self._begin(self.system, self.np_random)
            self._steps, self._start = 0, round(self.system.t * 1e9)
            seen = self._run(self.system.t)
            return flat(seen), {"t": seen["t"]}

        def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
            """Hold an action for a period."""
            self._require_open()
            if self.system is None:
                raise LinkError(UNBEGUN)
            low, high = self._source.low, self._source.high
            action = read_actions(action, low, high, f"an action is {len(low)}")
            at = 0
            for name, size, shape in zip(self._source.actions, self._source.sizes, self._source.shapes, strict=True):
                value = action[at : at + size].reshape(shape)
                self.system.states[self._held[name]] = value if shape else float(value)
                at += size
            self._steps += 1
            seen = self._run((self._start + self._steps * self._source.every) / 1e9)
            ones = {key: np.asarray(x)[None] for key, x in seen.items()}
            reward, ended = self._rules.judge(ones, action[None], [0])
            cut = self._rules.limit is not None and self._steps >= self._rules.limit
            return flat(seen), float(reward[0]), bool(ended[0]), cut, {"t": seen["t"]}

        def report(self) -> Text:
            """A text: how the environment is computed, by steppers or by runs, and why."""
            return Text(
                f"an environment, {self._source.every / 1e9:g} s a step\nsteps: runs of the system: {self._why}"
            )

        def close(self) -> None:
            """Take no more steps."""
            self._closed, self.system = True, None
            super().close()

        def _require_open(self) -> None:
            if self._closed:
                raise LinkError(CLOSED)

        def _run(self, t: float) -> dict[str, Any]:
            assert self.system is not None
            run = self.system.run(t, signals=self._source.signals or "**")
            return {**self._source.seen(self.system, run), "t": self.system.t}

    return SystemEnv
