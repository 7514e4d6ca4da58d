"""Distances of shapes next to coal and python-fcl; steps with contact next to MuJoCo's.

Distances: pairs of primitives, one by one from Python and in a batch.

One thread, the same pairs at the same poses, apart and in penetration. `one by one` is a call of Python for each pair;
the others keep their request and result objects. `batch` is one call for all poses, which the others do not have: their
time is that of the loop. `difference` is the largest of the distances of pairs that are apart; for curved shapes it is
coal's own tolerance, 1e-6 (ours is 1e-14 of the size, checked by support functions in the tests). Cylinders and boxes
that are apart have a closed form, and a row of their own; in each other they are left to GJK and EPA.

Steps: the same scenes here and in MuJoCo (`contact_scenes.py`), one thread, a millisecond each, after some that let
them come to rest. Ours solves exact cones to 1e-8, of the natural map; MuJoCo its own soft contacts to its default
tolerance. Ours takes many steps in one call and records states, forces and contacts of each; MuJoCo's are a loop in
Python. `depth` is the deepest that shapes were in each other. `midpoint` is "moreau_midpoint", of order two where
nothing touches: forces twice a step, inertias once. `moreau` has RK4 there, four evaluations of forward dynamics.
MuJoCo's Euler step has one evaluation, and contacts that give way. Runs here look for steps that are too long for their
springs and servos.

A controller in Python: NumPy computes the targets of the servos anew in every step, here by `p.stepper()` and in a
loop of MuJoCo. `alone` is the controller without steps, `rollout` are the same steps with targets that stay.
`p.control(f, every=)` is a run that records all its rows and asks for the targets in every step, next to a run with
targets that stay and to one that calls the controller by `p.every`; their rollout has the same controls.

Batch: a quadruped that trots, from 1,024 states, by `p.rollout` and by MuJoCo's `rollout`, one thread each.

Environments: as many quadrupeds as a vector of `sim.gym`, with a policy in NumPy that gives the targets of all servos
every 10 ms; next to a loop around MuJoCo's `rollout` with the same policy, which holds them as long. One thread each.
Ours observes, rewards and looks for what has fallen besides. `policy` is the policy alone.

Closed chains: steps with contact next to those of the same bodies as a tree (`contact_loops.py`).

Coordinates: one contact problem in minimal and in redundant coordinates (`redundant.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import coal
import fcl
import mujoco
import numpy as np
from contact_loops import SCENES as CHAINS
from contact_loops import compared as beside_its_tree
from contact_scenes import STEP, InMujoco, Scene, humanoid, quadruped, spheres, trot, wall
from growth import table
from measure import growth, microseconds, repeated, shortest
from mujoco.rollout import rollout
from redundant import compared

import soacraft as sc
from soacraft.contact import Box, Capsule, Cylinder, Shape, Sphere, distance

SHAPES: dict[str, Shape] = {
    "sphere": Sphere(0.4), "capsule": Capsule(0.2, 0.6), "box": Box(0.5, 0.6, 0.7), "cylinder": Cylinder(0.3, 0.6),
}  # fmt: skip
#: Our methods with contact, and what the table calls them.
METHODS = {"moreau": "moreau", "moreau_midpoint": "midpoint"}
PAIRS = [("sphere", "sphere"), ("sphere", "box"), ("capsule", "capsule"), ("capsule", "box"), ("box", "box"),
         ("cylinder", "box")]  # fmt: skip


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    distances = [measured(*pair, 8 if quick else 2000, quick) for pair in PAIRS]
    distances.append(measured("cylinder", "box", 8 if quick else 2000, quick, apart=True))
    robots = {"humanoid on 8 points": humanoid, "quadruped": quadruped}
    scenes: dict[str, tuple[Callable[[], Scene], int, int]] = {}
    for name, make in robots.items():
        scenes[name] = make, *((5, 2) if quick else (400, 2000))
    for n in (2, 4) if quick else (10, 30, 100, 300, 1000):
        scenes[f"{n} spheres"] = (lambda n=n: spheres(n)), *((5, 2) if quick else (200, max(4, 1000 // n)))
    bricks = 2 if quick else 10
    scenes[f"a wall of {bricks**2} boxes"] = (lambda: wall(bricks, bricks)), *((2, 1) if quick else (20, 4))
    return {
        "rows": distances,
        "steps": [stepped(name, *given, quick) for name, given in scenes.items()],
        "controlled": [
            controlled(name, make, method, *((5, 2) if quick else (400, 2000)), quick)
            for name, make in robots.items()
            for method in METHODS
        ],
        "batch": batch(*((4, 5) if quick else (1024, 200))),
        "environments": environments(*((4, 2) if quick else (1024, 20))),
        "chains": [beside_its_tree(name, *((5, 2) if quick else (400, 2000)), quick) for name in CHAINS],
        "coordinates": [{"scene": name} | row for name, make in robots.items() for row in compared(make(), quick)],
    }


def stepped(name: str, make: Callable[[], Scene], settle: int, steps: int, quick: bool) -> dict[str, Any]:
    """Microseconds of a step of a scene, here and in MuJoCo."""
    theirs = InMujoco(make())
    theirs.loop(settle)
    loops: dict[str, Callable[[int], Any]] = {"MuJoCo": lambda n: theirs.loop(n * steps)}
    runs: dict[str, tuple[sc.sim.Propagator, sc.sim.Run]] = {}
    for method in METHODS:
        p, _ = make().propagator(integrator=method)
        runs[method] = p, p.advance_to(settle * STEP)
        loops[method] = repeated(lambda p=p: p.advance_to(p.t + steps * STEP))
    times = {who: t / steps for who, t in shortest(loops, 2 if quick else 4, 0.0).items()}
    touching = {who: [*settled.contacts, *p.last_run.contacts] for who, (p, settled) in runs.items()}
    ends = [x[-1].pairs if x else () for x in touching.values()]
    return {
        "scene": name, "us": times, "contacts": len(ends[0]), "theirs": int(theirs.data.ncon),
        "their depth": theirs.depth(),
        "residual": {who: max((x.residual for x in steps), default=0.0) for who, steps in touching.items()},
        "depth": {who: deepest(steps) for who, steps in touching.items()},
    }  # fmt: skip


def controlled(
    name: str, make: Callable[[], Scene], method: str, settle: int, steps: int, quick: bool
) -> dict[str, Any]:
    """Microseconds of a step with a controller in Python, here and in MuJoCo."""
    scene = make()
    p, _ = scene.propagator(integrator=method)
    p.advance_to(settle * STEP)
    mb, step = p.mb, p.stepper([f"servo {dof}" for dof in scene.servos])
    targets, u, q = np.array([x for x, _, _ in scene.servos.values()]), step.u, step.q[7:]  # behind the free body
    theirs = InMujoco(make())
    theirs.loop(settle)
    angles = theirs.data.qpos[7:]

    def ours_in_python(n: int, move: Callable[[], Any] = step) -> None:
        for _ in range(n):
            step.reset()  # the same steps as those of the rollout
            for _ in range(steps):
                u[:] = targets + 0.0 * (targets - q)
                move()

    def theirs_in_python(n: int) -> None:
        for _ in range(n * steps):
            theirs.data.ctrl[:] = targets + 0.0 * (targets - angles)
            mujoco.mj_step(theirs.model, theirs.data)

    runs = [make().propagator(integrator=method)[0] for _ in range(4)]
    for each in runs:
        each.advance_to(settle * STEP)
    held, plain, called, free = runs
    names = [x.name for x in held.mb.actuators]
    at, numbers = np.array([names.index(f"servo {dof}") for dof in scene.servos]), np.zeros(len(names))
    for other in names:  # all have the same controls
        for each in runs:
            if not other.startswith("servo"):
                each.control(other, 0.0)

    def law(t: float, state: sc.State) -> np.ndarray:
        numbers[at] = targets + 0.0 * (targets - state.q[7:])
        return numbers

    held.control(law, every=STEP)
    called.every(STEP, law)
    state, start = held.mb.current, (np.array(mb.q), np.array(mb.v))

    def again(p: sc.sim.Propagator) -> Callable[[int], Any]:
        """The same steps as those of the rollout, in a run."""
        return repeated(lambda: (p.mb.set_state(*start), p.advance_to(p.t + steps * STEP)))

    loops: dict[str, Callable[[int], Any]] = {
        "stepper": ours_in_python,
        "held": again(held),
        "run": again(plain),
        "called": again(called),
        "free": repeated(lambda: free.rollout(*start, steps=steps, threads=1)),
        "law": lambda n: [law(0.0, state) for _ in range(n * steps)],
        "alone": lambda n: ours_in_python(n, lambda: None),
        "rollout": repeated(lambda: p.rollout(mb.q, mb.v, steps=steps, threads=1)),
        "MuJoCo": theirs_in_python,
    }
    times = {who: t / steps for who, t in shortest(loops, 2 if quick else 4, 0.0).items()}
    return {"scene": name, "method": METHODS[method], "us": times}


def deepest(steps: list[sc.sim.ContactStep]) -> float:
    """The largest depth of shapes in each other, in metres."""
    return max([0.0, *(-float(x.gap.min()) for x in steps if len(x.gap))])


def batch(count: int, steps: int) -> dict[str, Any]:
    """Microseconds of a step of one state of a batch of quadrupeds that trot, one thread here and there."""
    scene = quadruped()
    targets = trot(scene, steps + 1)
    rolls = {method: scene.propagator(integrator=method)[0] for method in METHODS}
    for p in rolls.values():
        for name, x in targets.items():
            p.control(f"servo {name}", (STEP * np.arange(steps + 1), x))
    q = np.tile(scene.q, (count, 1))
    q[:, 6] += 0.01 * np.random.default_rng(0).random(count)
    theirs = InMujoco(scene)
    states = theirs.states(scene.mb, q)
    control = np.tile(np.stack([targets[name][:steps] for name in scene.servos], axis=1), (count, 1, 1))
    ours = {who: p.rollout(q, scene.v, steps=steps, threads=1)[0][:, -1] for who, p in rolls.items()}
    end = rollout(theirs.model, [theirs.data], states, control)[0][:, -1]
    loops: dict[str, Callable[[int], Any]] = {
        who: repeated(lambda p=p: p.rollout(q, scene.v, steps=steps, threads=1)) for who, p in rolls.items()
    } | {
        "MuJoCo": repeated(lambda: rollout(theirs.model, [theirs.data], states, control)),
    }
    times = {who: t / (count * steps) for who, t in shortest(loops, 2, 0.0, clock=time.process_time).items()}
    apart = {who: float(np.abs(x[:, 6] - end[:, 3]).max()) for who, x in ours.items()}  # theirs begin with the time
    return {"states": count, "steps": steps, "us": times, "apart": apart}


class Policy:
    """Targets of servos from their angles and rates and the time: a trot, and a small network."""

    def __init__(self, scene: Scene) -> None:
        rng = np.random.default_rng(1)
        self.first, self.second = rng.normal(size=(24, 64)) / 5.0, rng.normal(size=(64, 12)) / 8.0
        self.table = np.stack([trot(scene, 1000)[name] for name in scene.servos], axis=1)

    def __call__(self, step: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Of rows of angles and rates, (n, 12) each."""
        hidden = np.tanh(np.concatenate([q, 0.1 * v], axis=1) @ self.first)
        return np.asarray(self.table[step] + 0.05 * np.tanh(hidden @ self.second))


def environments(count: int, steps: int, held: int = 10) -> dict[str, Any]:
    """Microseconds of a step of one of many environments, its actions held for some steps of the simulation."""
    scene, theirs = quadruped(), InMujoco(quadruped())
    policy, heights = Policy(scene), 0.01 * np.random.default_rng(0).random(count)
    q = np.tile(scene.q, (count, 1))
    q[:, 6] += heights
    begin = {"begin": lambda generator, n: q, "vector": True, "num_envs": count, "threads": 1}
    ends, loops = {}, {}
    for method in METHODS:
        p = scene.propagator(integrator=method)[0]
        envs = sc.sim.gym(
            p, ["q", "v"], [f"servo {x}" for x in scene.servos], lambda seen, u: seen["v"][:, 3],
            lambda seen: seen["q"][:, 6] < 0.05, every=held * STEP, **begin,
        )  # fmt: skip

        def ours(n: int, envs: Any = envs, method: str = method) -> None:
            for _ in range(n):
                seen, _ = envs.reset(seed=0)
                for k in range(steps):
                    seen, *_ = envs.step(policy(k * held, seen[:, 7:19], seen[:, 25:37]))
                ends[method] = seen[:, 6].copy()

        loops[method] = ours
    states = theirs.states(scene.mb, q)
    control = np.zeros((count, held, 12))

    def in_mujoco(n: int) -> None:
        for _ in range(n):
            now = states
            for k in range(steps):
                control[:] = policy(k * held, now[:, 8:20], now[:, 26:38])[:, None]
                now = rollout(theirs.model, [theirs.data], now, control)[0][:, -1]
            ends["MuJoCo"] = now[:, 3].copy()

    loops["MuJoCo"] = in_mujoco
    loops["policy"] = repeated(lambda: [policy(k, q[:, 7:19], q[:, 7:19]) for k in range(steps)])
    rounds = shortest(loops, 2, 0.0, clock=time.process_time)
    apart = {who: float(np.abs(ends[who] - ends["MuJoCo"]).max()) for who in METHODS}
    us = {who: t / (count * steps) for who, t in rounds.items()}
    return {"environments": count, "steps": steps, "held": held, "us": us, "apart": apart}


def measured(first: str, second: str, count: int, quick: bool, apart: bool = False) -> dict[str, Any]:
    """Microseconds of one distance; `apart`: of those poses alone that are."""
    a, b = SHAPES[first], SHAPES[second]
    rng = np.random.default_rng(0)
    quaternions = rng.normal(size=(count, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    way = rng.normal(size=(count, 3))
    p = way / np.linalg.norm(way, axis=1)[:, None] * rng.uniform(0.3, 1.3, (count, 1))
    batch, still = sc.Pose.from_quaternion(quaternions, p), sc.Pose()
    if apart:
        some = distance(a, still, b, batch).distance > 0.0
        batch, count = sc.Pose(batch.rotation[some], batch.translation[some]), int(some.sum())
    each = [sc.Pose(R, x) for R, x in zip(batch.rotation, batch.translation, strict=True)]
    jobs: dict[str, Callable[[], Any]] = {
        "one by one": lambda: [distance(a, still, b, pose) for pose in each],
        "batch": lambda: distance(a, still, b, batch),
        "coal": in_coal(a, b, batch),
        "python-fcl": in_fcl(a, b, batch),
    }
    ours, theirs = distance(a, still, b, batch).distance, np.array(jobs["coal"]())
    clear = ours > 1e-3
    times = {name: t / count for name, t in microseconds(jobs, 2 if quick else 7).items()}
    difference = float(np.abs(ours - theirs)[clear].max(initial=0.0))
    return {"pair": f"{first} - {second}{', apart' if apart else ''}", "us": times, "difference": difference}


def in_coal(a: Shape, b: Shape, poses: sc.Pose) -> Callable[[], list[float]]:
    """A loop over the poses."""
    names = {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder}
    one, two = (names[x.kind](*x.size) for x in (a, b))  # type: ignore[attr-defined]
    still = coal.Transform3s()
    places = [coal.Transform3s(R, p) for R, p in zip(poses.rotation, poses.translation, strict=True)]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True

    def loop() -> list[float]:
        found = []
        for place in places:
            result.clear()
            found.append(coal.distance(one, still, two, place, request, result))
        return found

    return loop


def in_fcl(a: Shape, b: Shape, poses: sc.Pose) -> Callable[[], list[float]]:
    """A loop over the poses, of objects that are moved."""
    names = {"sphere": fcl.Sphere, "capsule": fcl.Capsule, "box": fcl.Box, "cylinder": fcl.Cylinder}
    shapes = [names[x.kind](*x.size) for x in (a, b)]  # type: ignore[attr-defined]
    one, two = (fcl.CollisionObject(x, fcl.Transform()) for x in shapes)
    places = [fcl.Transform(R, p) for R, p in zip(poses.rotation, poses.translation, strict=True)]
    request = fcl.DistanceRequest(enable_nearest_points=True, enable_signed_distance=True)

    def loop() -> list[float]:
        found = []
        for place in places:
            two.setTransform(place)
            found.append(fcl.distance(one, two, request, fcl.DistanceResult()))
        return found

    return loop


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    ours, peers = ("one by one", "batch"), ("coal", "python-fcl")
    names = ["pair", *(f"{name}, us" for name in (*ours, *peers)), *(f"coal / {name}" for name in ours)]
    names += ["difference, m"]
    rows = []
    for row in result["rows"]:
        t = row["us"]
        times = [f"{t[name]:.2g}" for name in (*ours, *peers)]
        rows.append([row["pair"], *times, *(f"{t['coal'] / t[name]:.1f}" for name in ours), f"{row['difference']:.0e}"])
    text = f"## Distances of primitives\n\n{table(names, rows, 1)}"
    text += _steps_text(result) + _controlled_text(result) + _batch_text(result) + _environments_text(result)
    return text + _chains_text(result) + _coordinates_text(result)


def _steps_text(result: dict[str, Any]) -> str:
    head = ["scene", "contacts", "method", "us", "MuJoCo, us", "MuJoCo / ours", "residual", "depth, m"]
    head += ["MuJoCo's depth, m"]
    rows = []
    for row in result["steps"]:
        t = row["us"]
        for who, name in METHODS.items():
            rows.append([row["scene"], str(row["contacts"]), name, f"{t[who]:.3g}", f"{t['MuJoCo']:.3g}"])
            rows[-1] += [f"{t['MuJoCo'] / t[who]:.2f}", f"{row['residual'][who]:.0e}", f"{row['depth'][who]:.0e}"]
            rows[-1] += [f"{row['their depth']:.0e}"]
    text = f"\n\n## Steps with contact\n\n{table(head, rows, 3)}"
    balls = [x for x in result["steps"] if "spheres" in x["scene"] and x["contacts"]]
    if len(balls) > 1:
        many = [x["contacts"] for x in balls]
        powers = [f"{growth(many, [x['us'][who] for x in balls]):.2f} ({name})" for who, name in METHODS.items()]
        text += f"\n\nThe time of settling spheres grows with the power {' and '.join(powers)} of their contacts."
    return text


def _controlled_text(result: dict[str, Any]) -> str:
    head = ["scene", "method", "stepper, us", "rollout, us", "controller alone, us", "besides, us", "MuJoCo, us"]
    head += ["MuJoCo / ours", "p.control(f, every=), us", "besides, us", "a run, us", "besides, us", "p.every(f), us"]
    head += ["besides, us"]
    rows = []
    for x in result["controlled"]:
        t = x["us"]
        rows.append([x["scene"], x["method"], *(f"{t[who]:.3g}" for who in ("stepper", "rollout", "alone"))])
        rows[-1] += [f"{t['stepper'] - t['rollout'] - t['alone']:.2g}", f"{t['MuJoCo']:.3g}"]
        rows[-1] += [f"{t['MuJoCo'] / t['stepper']:.2f}"]
        free, law = t.get("free", t["rollout"]), t["law"]  # "free" is younger than some results
        for who, own in (("held", law), ("run", 0.0), ("called", law)):
            rows[-1] += [f"{t[who]:.3g}", f"{t[who] - free - own:.2g}"] if who in t else ["", ""]
    return f"\n\n## A controller in Python at every step\n\n{table(head, rows, 2)}"


def _batch_text(result: dict[str, Any]) -> str:
    x = result["batch"]
    head = ["method", "states", "steps", "us a step", "MuJoCo, us a step", "MuJoCo / ours", "heights apart, m"]
    rows, theirs = [], x["us"]["MuJoCo"]
    for who, name in METHODS.items():
        ours = x["us"][who]
        rows.append([name, str(x["states"]), str(x["steps"]), f"{ours:.3g}", f"{theirs:.3g}", f"{theirs / ours:.2f}"])
        rows[-1] += [f"{x['apart'][who]:.0e}"]
    return f"\n\n## A batch of quadrupeds that trot\n\n{table(head, rows, 1)}"


def _environments_text(result: dict[str, Any]) -> str:
    x = result["environments"]
    head = ["method", "environments", "steps held", "env-steps/s", "MuJoCo, env-steps/s", "ours / MuJoCo"]
    head += ["policy, us", "heights apart, m"]
    rows, theirs = [], x["us"]["MuJoCo"]
    for who, name in METHODS.items():
        ours = x["us"][who]
        rows.append([name, str(x["environments"]), str(x["held"]), f"{1e6 / ours:,.0f}", f"{1e6 / theirs:,.0f}"])
        rows[-1] += [f"{theirs / ours:.2f}", f"{x['us']['policy']:.2g}", f"{x['apart'][who]:.0e}"]
    return f"\n\n## Environments of quadrupeds, with a policy in NumPy\n\n{table(head, rows, 1)}"


def _chains_text(result: dict[str, Any]) -> str:
    head = ["closed chain", "contacts", "us a step", "as a tree", "closed / tree"]
    rows = []
    for x in result.get("chains", []):  # younger than some results
        closed, tree = (x["us"][kind] for kind in ("closed", "tree"))
        count = " and ".join(str(n) for n in sorted(set(x["contacts"].values())))
        rows.append([x["scene"], count, f"{closed:.3g}", f"{tree:.3g}", f"{closed / tree:.2f}"])
    return f"\n\n## Closed chains next to their trees\n\n{table(head, rows, 1)}"


def _coordinates_text(result: dict[str, Any]) -> str:
    head = ["scene", "coordinates", "rows", "us", "residual", "velocities apart, m/s"]
    rows = [
        [x["scene"], x["form"], str(x["rows"]), f"{x['us']:.3g}", f"{x['residual']:.0e}", f"{x['apart']:.0e}"]
        for x in result["coordinates"]
    ]
    return f"\n\n## Minimal and redundant coordinates\n\n{table(head, rows, 2)}"
