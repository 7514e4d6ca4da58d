"""Four models that are not rigid trees, by the recipe of Jain 2011, section 8.1: tree, velocities, inertias, weights.

    V(k) = A*(p,k) V(p) + H*(k) v(k),     f(k) = sum of A(k,j) f(j) + M(k) alpha(k) + b(k),     T(k) = H(k) f(k)
"""

import numpy as np

import soacraft as sc


def heat_chain(capacity, names=None):
    """Conductors in a row, the first on a wall. V: temperature above the wall; v: drop across a contact; M: heat
    capacity; f: heat that flows in through a contact.
    """
    n = len(capacity)
    one = [[1.0]]
    return sc.SKOModel(range(-1, n - 1), [None] + [one] * (n - 1), [one] * n, [[[c]] for c in capacity], names=names)


def cable(masses, length, gravity=9.81):
    """Point masses on links that keep their length, in a plane. q: angle of each link from the horizontal; V: velocity
    of a mass; b: its weight.
    """
    n = len(masses)

    def H(q):
        return [length * np.array([[-np.sin(x), np.cos(x)]]) for x in q]

    def dH(q, w):
        return [-length * np.array([[np.cos(x), np.sin(x)]]) * u for x, u in zip(q, w, strict=True)]

    weights = [np.array([0.0, m * gravity]) for m in masses]
    A = [None] + [np.eye(2)] * (n - 1)
    return sc.SKOModel(range(-1, n - 1), A, H, [m * np.eye(2) for m in masses], b=weights, q=[-1.5] * n, dH=dH)


def truss(bays, width=1.0, height=1.0, mass=1.0):
    """A cantilever of square bays with a diagonal each. V: velocities of the two joints of a bay, lower then upper; v:
    rates of elongation of its four bars: chords, vertical, diagonal; T: forces in the bars.
    """
    own, before = bars(width, height)
    A, H = -np.linalg.solve(own, before).T, np.linalg.inv(own).T        # elongations = own u(k) + before u(k-1)
    M = mass * np.eye(4)
    return sc.SKOModel(range(-1, bays - 1), [None] + [A] * (bays - 1), [H] * bays, [M] * bays)


def bars(width, height):
    """How the elongations of a bay's bars follow from the velocities of its joints and of those of the bay before."""
    long = np.hypot(width, height)
    c, s = width / long, height / long                                 # the diagonal: lower joint before to upper joint
    own = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 1], [0, 0, c, s]], dtype=float)
    before = np.array([[-1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, 0], [-c, -s, 0, 0]], dtype=float)
    return own, before


def gear_train(parents, ratios, inertias, twisting):
    """Shafts in mesh. V: speed of a shaft, `ratio` times that of the shaft it meshes with; v: motor speed of the first
    shaft, rate of twist of those in `twisting`; M: inertia of a shaft.
    """
    A = [None if p < 0 else [[ratio]] for p, ratio in zip(parents, ratios, strict=True)]
    H = [[[1.0]] if p < 0 or k in twisting else np.zeros((0, 1)) for k, p in enumerate(parents)]
    return sc.SKOModel(parents, A, H, [[[J]] for J in inertias])


def mass_matrix(model):
    s = sc.operators(model)
    return s.H * s.phi * s.M * s.phi.T * s.H.T


if __name__ == "__main__":
    n, C, R = 6, 2.0, 0.5                                               # every contact has the resistance R
    X = mass_matrix(heat_chain([C] * n)).array()
    rates = np.sort(np.linalg.eigvals(np.linalg.solve(X, np.eye(n) / R)).real)
    known = 4 / (R * C) * np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (2 * (2 * n + 1))) ** 2
    print("slowest decay of the conductors:", f"{rates[0]:.6f} 1/s, by the formula {known[0]:.6f}")

    rope = cable([1.0, 1.0], 1.0)
    hanging = [-np.pi / 2, -np.pi / 2]
    stiffness = np.diag([2 * 9.81, 9.81])                               # of small swings of a double pendulum
    squared = np.linalg.eigvals(np.linalg.solve(sc.dynamics.mass_matrix(rope, hanging), stiffness)).real
    print("slow swing of the cable:", f"{np.sqrt(squared.min()):.6f} rad/s, by the formula "
          f"{np.sqrt(9.81 * (2 - np.sqrt(2))):.6f}")

    bridge = truss(5)
    load = [np.zeros(4) for _ in range(5)]
    load[-1][3] = -1000.0                                               # at the upper joint of the tip, downwards
    held = sc.SKOModel(bridge.tree.parents, bridge.edges, [bridge.H(k) for k in range(5)],
                       [bridge.M(k) for k in range(5)], b=[-x for x in load])
    force = -np.asarray(sc.operators(held).T).reshape(5, 4)
    print("upper chord at the wall:", f"{force[0, 1]:.1f} N, by the method of sections {1000.0 * 5:.1f}")

    train = gear_train([-1, 0, 1, 1], [1, -3.0, 2.0, -4.0], [0.1, 0.2, 0.3, 0.4], twisting=())
    print("reflected inertia:", f"{mass_matrix(train).array()[0, 0]:.3f} kg m2, by the formula "
          f"{0.1 + 0.2 * 9 + 0.3 * 36 + 0.4 * 144:.3f}")
