"""A quadruped learns to walk: a search for the weights of a small policy, in environments that march as one batch.

The policy is linear in a clock and in what the trunk does: each leg aims at its joint angles of standing, and at 3 x 7
weights times (1, sin, cos, and both of twice the phase, pitch, rate of pitch). Diagonal legs have the same phase. With
weights of zero it stands. The search is augmented random search (Mania, Guy and Recht 2018): directions are drawn,
tried forth and back, and the weights go along the best of them by how much they gained.

    python examples/23_quadruped_learns.py         15 rounds of the search, which take half a minute
    python examples/23_quadruped_learns.py 2 5 4   2 rounds, the seed 5, 4 directions in each
"""

import sys

import numpy as np

import soacraft as sc

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 0
DIRECTIONS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
BEST, SPREAD, RATE = (DIRECTIONS + 1) // 2, 0.3, 0.2
PERIOD, EPISODE, BEAT = 0.02, 2.0, 2.0  # s of an action, s, steps of a leg per second
PHASES = np.array([0.0, np.pi, np.pi, 0.0])  # front right, front left, rear right, rear left

dog = sc.load("a1")
dog.root.add_geometry(sc.Geometry("floor", "plane"))
p = sc.sim.Propagator.from_file(dog, keyframe="home", step=0.004)
standing = np.array(dog.q[7:]).reshape(4, 3)


def reward(seen, action):
    """A speed of 0.6 m/s along x, and a bonus for being upright; less what goes aside, up and down, turns or tilts."""
    v, q, turning = seen["velocity[trunk]"], seen["q"], np.abs(seen["v"][:, 2])
    aside = 0.5 * np.abs(v[:, 1]) + 0.05 * np.abs(v[:, 2]) + 0.1 * turning + q[:, 0] ** 2 + q[:, 1] ** 2
    return 0.8 - np.abs(v[:, 0] - 0.6) - aside


def fallen(seen):
    """True where the trunk is low or tilted."""
    q = seen["q"]
    return (q[:, 6] < 0.15) | (q[:, 0] ** 2 + q[:, 1] ** 2 > 0.15)


def policy(weights, seen):
    """Angles for the servos, (N, 12), of weights (N, 3, 7)."""
    q, v, t = seen[:, :19], seen[:, 19:37], seen[:, 37:38]
    phase = 2 * np.pi * BEAT * t + PHASES
    pitch = 2 * (q[:, 3] * q[:, 1] - q[:, 2] * q[:, 0])
    trunk = [np.repeat(x[:, None], 4, axis=1) for x in (pitch, 0.2 * v[:, 1])]
    features = [np.ones_like(phase), np.sin(phase), np.cos(phase), np.sin(2 * phase), np.cos(2 * phase), *trunk]
    angles = standing + 0.2 * np.einsum("njf,fnl->nlj", weights, np.array(features))
    return angles.reshape(len(weights), 12)


def environments(count):
    observe = ["q", "v", "t", "velocity[trunk]"]
    return sc.sim.gym(p, observe, None, reward, fallen, every=PERIOD, num_envs=count, threads=2, vector=True)


def tried(envs, weights, end=EPISODE):
    """What policies earn until they fall, how far ahead they are then, who stands; the coordinates of the first."""
    seen, _ = envs.reset(seed=SEED)
    rows = [seen[0, :19]]
    earned, ahead, up = np.zeros(len(weights)), np.zeros(len(weights)), np.ones(len(weights), dtype=bool)
    for _ in range(round(end / PERIOD)):
        seen, gain, ended, cut, _ = envs.step(policy(weights, seen))
        earned += PERIOD * gain * up
        ahead[up] = seen[up, 4]
        up &= ~(ended | cut)
        rows.append(seen[0, :19])
    return earned, ahead, up, np.array(rows)


envs, one = environments(2 * DIRECTIONS), environments(1)
print(envs.report())
draw, weights = np.random.default_rng(SEED), np.zeros((3, 7))
print(f"at first {tried(one, weights[None], 4.0)[1][0] / 4.0:+.2f} m/s")
for k in range(ROUNDS):
    directions = draw.normal(size=(DIRECTIONS, *weights.shape))
    earned, *_ = tried(envs, np.concatenate([weights + SPREAD * directions, weights - SPREAD * directions]))
    forth, back = earned[:DIRECTIONS], earned[DIRECTIONS:]
    best = np.argsort(-np.maximum(forth, back))[:BEST]
    spread = np.concatenate([forth[best], back[best]]).std() + 1e-9
    weights += RATE / (BEST * spread) * np.einsum("d,djf->jf", (forth - back)[best], directions[best])
    print(f"round {k + 1}: {earned.max():.2f} earned by the best, {earned.mean():.2f} on average")
_, ahead, stands, rows = tried(one, weights[None], 4.0)
run = PERIOD * np.arange(len(rows)), rows
print(f"speed: {ahead[0] / 4.0:.3f} m/s, the mean of 4 s")
print("stands then:", bool(stands[0]))
