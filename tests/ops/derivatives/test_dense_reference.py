"""Derivatives of operators against dense matrices of numpy, moved by hand."""

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.ops.differences import hinges, mass_matrix, rotors

import soacraft as sc
from soacraft.errors import StaleError

I = sc.I


def dense(s):
    """Every operator from H, E_phi and M by dense arithmetic: a propagator is an inverse, P is found by iteration."""
    H, E, M = s.H.array(), s.E_phi.array(), s.M.array()
    one, P, R = np.eye(len(E)), M, M
    for _ in s.body.labels:
        G = P @ H.T @ np.linalg.inv(H @ P @ H.T)
        P, R = M + E @ (P - G @ H @ P) @ E.T, M + E @ R @ E.T
    D = H @ P @ H.T
    G = P @ H.T @ np.linalg.inv(D)
    phi, psi = np.linalg.inv(one - E), np.linalg.inv(one - E @ (one - G @ H))
    Omega = psi.T @ H.T @ np.linalg.inv(D) @ H @ psi
    Upsilon = np.zeros_like(Omega)
    for k in range(len(s.body.labels)):
        at = s.body.block(k)
        Upsilon[at, at] = Omega[at, at]
    massmat = H @ phi @ M @ phi.T @ H.T
    return {
        "H": H, "E_phi": E, "M": M, "phi": phi, "psi": psi, "P": P, "R": R, "D": D, "G": G, "K": E @ G, "tau": G @ H,
        "tau_bar": one - G @ H, "P_plus": P - G @ H @ P, "E_psi": E @ (one - G @ H), "Upsilon": Upsilon,
        "Omega": Omega, "mass matrix": massmat, "inverse": np.linalg.inv(massmat),
        "factor": np.eye(len(H)) - H @ psi @ E @ G, "mixed": phi @ P @ psi - 2 * M @ phi.T,
    }  # fmt: skip


def symbolic(s):
    names = "H E_phi M phi psi P R D G K tau tau_bar P_plus E_psi Upsilon Omega".split()
    more = {
        "mass matrix": mass_matrix(s),
        "inverse": mass_matrix(s).inv,
        "factor": I - s.H * s.psi * s.K,
        "mixed": s.phi * s.P * s.psi - 2 * s.M * s.phi.T,
    }
    return {name: getattr(s, name) for name in names} | more


def moved(graph, q, body, dof, h):
    """q after a step along a dof, written out for each kind of coordinates."""
    hinge, at = graph.bodies[graph.index(body)].hinge, graph.q_slice(body)
    q, own = q.copy(), q[at].copy()
    if isinstance(hinge, (sc.Spherical, sc.Free)):
        turn = Rotation.from_quat(own[:4])
        step = np.zeros(6)
        step[dof] = h
        if dof >= 3:
            own[4:] += turn.apply(step[3:])
        own[:4] = (turn * Rotation.from_rotvec(step[:3])).as_quat()
    elif isinstance(hinge, sc.RollingBall):
        own = hinge.integrate(own, h * np.eye(hinge.nv)[dof])
    else:
        own[dof] += h
    q[at] = own
    return q


def slopes(f, h=2e-3):
    """Central differences of order six of a dictionary of matrices."""
    values = {k: (f(k * h), f(-k * h)) for k in (1, 2, 3)}
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    names = values[1][0]
    return {n: sum(w * (values[k][0][n] - values[k][1][n]) for k, w in weights.items()) / (60 * h) for n in names}


def part():
    mb = hinges()
    root = next(body for body in mb.bodies if body.children and body.parent is not mb.root)
    return mb.subgraph(list(root.subtree()))


class Cam(sc.Hinge):
    """A slide along a curve that turns as it goes: no dH, one state at a time."""

    nq = nv = 1

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        return sc.Pose(Rotation.from_rotvec([0, 0, q[0]]).as_matrix(), (0.3 * np.sin(q[0]), 0.2 * q[0] ** 2, 0.0))

    def H_T(self, q):
        rate = Rotation.from_rotvec([0, 0, -q[0]]).apply([0.3 * np.cos(q[0]), 0.4 * q[0], 0.0])
        return np.array([0, 0, 1, *rate])[:, None]


def own_hinge():
    mb = sc.Multibody("cams")
    box = sc.Inertia.box(1.5, (0.2, 0.3, 0.4))
    for name, parent in (("a", None), ("b", "a"), ("c", "b"), ("d", "b")):
        mb.add_body(name, parent, Cam(), box, sc.Pose(translation=(0.2, 0.1, 0.3)), sc.Pose(translation=(0.1, 0.2, 0)))
    mb.set_state(q=[0.3, -0.5, 0.7, 0.2], v=[1.0, -1.0, 0.5, 2.0])
    return mb


PLACES = {"every hinge": hinges, "rotors": rotors, "sub-graph": part, "a hinge of one's own": own_hinge}


def gap(x, y):
    return np.max(np.abs(x - y)) / max(1.0, np.max(np.abs(y)))


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
@pytest.mark.parametrize("place", PLACES)
def test_derivatives_of_dense_matrices(place, axes):
    graph = PLACES[place]()
    s = sc.operators(graph, axes=axes)
    bodies = [body for body in graph.bodies if body.hinge.nv][:: 1 if axes == "body" else 3]
    for body in bodies:
        dof = body.hinge.nv - 1

        def at(h, body=body, dof=dof):
            return dense(sc.operators(graph.state(moved(graph, graph.q, body.name, dof, h)), axes=axes))

        expected = slopes(at)
        for name, expr in symbolic(s).items():
            assert gap(expr.diff(body, dof).array(), expected[name]) < 1e-7, (name, body.name, dof)


@pytest.mark.parametrize("place", ["every hinge", "a hinge of one's own"])
def test_second_derivatives_of_dense_matrices(place):
    """Along one dof, then along another, of the same hinge or not; in this order."""
    graph = PLACES[place]()
    s = sc.operators(graph, axes="inertial")
    bodies = [body for body in graph.bodies if body.hinge.nv]
    for a, b in ((bodies[1], bodies[1]), (bodies[-1], bodies[1]), (bodies[-2], bodies[-2])):
        i, j = 0, b.hinge.nv - 1

        def first(h, a=a, b=b, i=i, j=j):
            q = moved(graph, graph.q, b.name, j, h)
            states = {t: graph.state(moved(graph, q, a.name, i, t)) for k in (1, 2, 3) for t in (k * 1e-2, -k * 1e-2)}
            return slopes(lambda t: dense(sc.operators(states[t], axes="inertial")), 1e-2)

        expected = slopes(first, 1e-2)
        for name, expr in symbolic(s).items():
            assert gap(expr.diff(a, i).diff(b, j).array(), expected[name]) < 1e-7, (name, a.name, b.name)


def test_time_derivatives_along_a_motion():
    """Integrated by hand with constant velocities, in small steps of each dof in turn: the sum over the dofs."""
    mb = own_hinge()
    for axes in ("body", "inertial", "origin"):
        s = sc.operators(mb, axes=axes)
        expected = slopes(lambda h, axes=axes: dense(sc.operators(mb.state(mb.q + h * mb.v), axes=axes)))
        for name, expr in symbolic(s).items():
            assert gap(expr.dot().array(), expected[name]) < 1e-7, (name, axes)
        C = s.coriolis
        assert gap(C.array() + C.T.array(), expected["mass matrix"]) < 1e-8


def test_derivatives_follow_the_state_and_read_back():
    mb = hinges()
    s = sc.operators(mb, axes="inertial")
    found = [expr.diff("gimbal", 1) for expr in symbolic(s).values()] + [mass_matrix(s).dot(), s.coriolis]
    before = [x.array() for x in found]
    mb.q = mb.random_state(8)[0]
    fresh = sc.operators(mb, axes="inertial")
    again = [expr.diff("gimbal", 1) for expr in symbolic(fresh).values()] + [mass_matrix(fresh).dot(), fresh.coriolis]
    for x, y, old in zip(found, again, before, strict=True):
        np.testing.assert_array_equal(x.array(), y.array())
        assert gap(x.array(), old) > 1e-6 or not old.any()
        assert sc.check_operator(x).ok, sc.check_operator(x)


def test_derivatives_of_a_model_whose_parameters_changed():
    """They follow; what was simplified is refused: Eq. 42 holds while the frame of the pin is on its axis."""
    mb = sc.load("arm7")
    s = sc.operators(mb)
    rate = mass_matrix(s).diff("link3")
    short = sc.simplify(rate)
    assert "- M * phi.T * X('link3')" in short.text()
    mb["link3"].outboard = sc.Pose(translation=(0.1, 0.2, 0.3))
    for ask in (short.array, lambda: short * np.ones(7), lambda: short.at(q=np.ones(7)), lambda: pickle.dumps(short)):
        with pytest.raises(StaleError, match="was simplified by what holds for the parameters that the model had"):
            ask()
    anew = sc.operators(mb.copy())
    for old, new in ((rate, mass_matrix(anew).diff("link3")), (s.phi.dot(), anew.phi.dot())):
        np.testing.assert_allclose(old.array(), new.array(), atol=1e-13)
    short = sc.simplify(rate)
    assert "- M * phi.T * X('link3')" not in short.text()
    np.testing.assert_allclose(short.array(), rate.array(), atol=1e-13)
