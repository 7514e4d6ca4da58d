"""Bodies that meet and stay together: momentum, energy and impulses against closed forms and dense algebra."""

import numpy as np
import pytest
from tests.sim.chains import four_bar, turned_four_bar

import soacraft as sc
from soacraft.contact import plastic_impact


def momentum(mb, v):
    return np.asarray(sc.dynamics.momentum(mb, mb.q, v, ignore_loops=True))


def kinetic(mb, v):
    return float(sc.dynamics.kinetic_energy(mb, mb.q, v, ignore_loops=True))


def test_two_free_bodies_become_one():
    """After it both move as the one rigid body that has their momentum: w = I^-1 h about the common centre."""
    rng = np.random.default_rng(1)
    mb = sc.random_tree(2, seed=2, bases=2, hinges=[sc.Free()], gravity=(0, 0, 0))
    mb.v = rng.normal(size=12)
    r = plastic_impact(mb, (mb.bodies[0].name, mb.bodies[1].name))
    V = np.asarray(sc.dynamics.velocities(mb, mb.q, mb.v))  # [angular; linear] at the origins, inertial axes
    masses = np.array([x.inertia.mass for x in mb.bodies])
    places, moments, motion = [], [], []
    for x, twist in zip(mb.bodies, V, strict=True):
        at = mb.pose(x)
        arm = at.rotation @ x.inertia.com
        places.append(at.translation + arm)
        c = np.asarray(x.inertia.com)
        about = np.asarray(x.inertia.matrix())[:3, :3] - x.inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
        moments.append(at.rotation @ about @ at.rotation.T)
        motion.append((twist[:3], twist[3:] + np.cross(twist[:3], arm)))
    centre = masses @ np.array(places) / masses.sum()
    total = sum(m * u for m, (_, u) in zip(masses, motion, strict=True)) / masses.sum()
    inertia, h = np.zeros((3, 3)), np.zeros(3)
    for m, p, I, (w, u) in zip(masses, places, moments, motion, strict=True):
        d = p - centre
        inertia += I + m * (d @ d * np.eye(3) - np.outer(d, d))
        h += I @ w + m * np.cross(d, u)
    w = np.linalg.solve(inertia, h)
    after = np.asarray(sc.dynamics.velocities(mb, mb.q, r.v))
    for x, twist in zip(mb.bodies, after, strict=True):
        np.testing.assert_allclose(twist[:3], w, atol=1e-10)
        np.testing.assert_allclose(twist[3:], total + np.cross(w, mb.pose(x).translation - centre), atol=1e-10)
    assert r.energy_lost == pytest.approx(kinetic(mb, mb.v) - kinetic(mb, r.v), rel=1e-10)
    # the impulse on the second body is its change of linear momentum
    arm = places[1] - mb.pose(mb.bodies[1]).translation
    change = masses[1] * (after[1, 3:] + np.cross(after[1, :3], arm) - motion[1][1])
    np.testing.assert_allclose(next(iter(r.impulses.values()))[3:], change, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees_keep_their_momentum(seed):
    """Two trees on free bases, with hinges of several kinds, joined at bodies away from the bases."""
    rng = np.random.default_rng(seed)
    mb = sc.random_tree(2, seed=seed, bases=2, hinges=[sc.Free()], gravity=(0, 0, 0))
    bases = [x.name for x in mb.bodies]
    for i, hinge in enumerate((sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Prismatic((1, 0, 0)), sc.Spherical())):
        place = sc.Pose(translation=rng.normal(size=3))
        inertia = sc.Inertia(rng.uniform(1, 2), rng.normal(size=3), np.diag(rng.uniform(5, 7, size=3)))
        mb.add_body(f"link{i}", f"link{i - 2}" if i > 1 else bases[i], hinge, inertia, place)
    mb.q = mb.integrate(mb.q, rng.normal(size=mb.nv))
    mb.v = rng.normal(size=mb.nv)
    a, b = mb["link2"], mb["link1"]
    r = plastic_impact(mb, (a.name, b.name))
    np.testing.assert_allclose(momentum(mb, r.v), momentum(mb, mb.v), atol=1e-9)
    assert r.energy_lost == pytest.approx(kinetic(mb, mb.v) - kinetic(mb, r.v), rel=1e-9)
    assert r.energy_lost > 0
    # energy lost = 1/2 u* S^-1 u, with the relative velocity at b and the dense mass matrix
    J = [np.asarray(sc.dynamics.jacobian(mb, mb.q, [x])).reshape(6, -1) for x in (a, b)]
    arm = mb.pose(b).translation - mb.pose(a).translation
    J[0][3:] += np.cross(J[0][:3], arm[:, None], axis=0)
    G = J[1] - J[0]
    S = G @ np.linalg.solve(sc.dynamics.mass_matrix(mb, mb.q), G.T)
    assert r.energy_lost == pytest.approx(0.5 * (G @ mb.v) @ np.linalg.solve(S, G @ mb.v), rel=1e-9)
    assert r.residual < 1e-10
    assert r.unique


def test_a_closure_joins_and_its_hinge_goes_on():
    """Two rods meet with their ends and are pinned there: the ends move together, the angle goes on."""
    rods = []
    for active in (False, True):
        mb = sc.Multibody(gravity=(0, 0, 0))
        for i, x in enumerate((0.0, 2.0)):
            inertia = sc.Inertia(1.0, moment=np.eye(3) / 12)
            mb.add_body(f"rod{i}", None, sc.Free(), inertia, sc.Pose(translation=(x, 0, 0)))
        mb["rod0"].add_node("end", sc.Pose(translation=(1.0, 0, 0)))
        mb["rod1"].add_node("end", sc.Pose(translation=(-1.0, 0, 0)))
        mb.close_loop("latch", "rod0/end", "rod1/end", sc.Pin((0, 0, 1)), active=active)
        mb.v = [0, 0, 1.0, 0, 0.5, 0, 0, 0, -2.0, 0, -1.0, 0]
        r = plastic_impact(sc.loops.TreeAugmented(mb) if active else mb, "latch")
        ends = [mb.velocity(f"rod{i}/end", state=mb.state(mb.q, r.v)) for i in range(2)]
        np.testing.assert_allclose(ends[0].linear, ends[1].linear, atol=1e-12)
        assert abs(ends[0].angular[2] - ends[1].angular[2]) > 0.1
        np.testing.assert_allclose(momentum(mb, r.v), momentum(mb, mb.v), atol=1e-12)
        rods.append(r.v)
    np.testing.assert_allclose(rods[0], rods[1], atol=1e-12)


def test_a_closed_chain_is_caught():
    """A four-bar that runs has its coupler joined to the ground: with one dof it stops, and all its energy is lost."""
    mb = four_bar(1.0, 2.0, 2.0, 2.0, 1.2, 3.0)
    r = plastic_impact(mb, ("inertial", "coupler"))
    np.testing.assert_allclose(r.v, 0.0, atol=1e-10)
    assert r.energy_lost == pytest.approx(kinetic(mb, mb.v), rel=1e-10)
    assert not r.unique  # six rows hold one dof
    assert set(r.impulses) == {"inertial - coupler", "loop"}


def test_units_change_nothing():
    """The same impact in metres and in micrometres: velocities and the rank agree."""
    found = []
    for unit in (1.0, 1e-6):
        mb = sc.Multibody(gravity=(0, 0, 0))
        for i in range(2):
            inertia = sc.Inertia(1.0 + i, moment=np.diag([1.0, 2.0, 2.5]) * unit**2)
            mb.add_body(f"b{i}", None, sc.Free(), inertia, sc.Pose(translation=(i * unit, 0, 0)))
        mb.v = np.array([1.0, -2, 3, 1, 2, 3, 2, 1, 0, -1, 1, 1]) * (([1.0] * 3 + [unit] * 3) * 2)
        r = plastic_impact(mb, ("b0", "b1"))
        assert r.unique
        found.append(r.v / np.array(([1.0] * 3 + [unit] * 3) * 2))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-12)


def test_refusals():
    mb = sc.Multibody(gravity=(0, 0, 0))
    for name in ("a", "b"):
        mb.add_body(name, None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    mb["a"].add_node("tip", sc.Pose(translation=(1.0, 0, 0)))
    mb.close_loop("latch", "a/tip", "b", sc.Weld(), active=False)
    for joined, error, text in (
        ((), "ModelError", "needs the parts to join: a pair of bodies or nodes, or the name of a closure"),
        (("lach",), "ModelError", "has no closure 'lach'.*latch"),
        (("latch",), "LoopError", "closure 'latch' is open by 0 rad and 1 m where it joins; bring its frames together"),
        ((("a", "a/tip"),), "ModelError", "'a' and 'a/tip' are of one body, joined already; give two bodies"),
        ((("a", "b"), ("a", "b")), "ModelError", "'a - b' is joined twice; name it once"),
        ((7,), "ModelError", r"joins \(body, body\) or a closure by name, got 7"),
    ):
        with pytest.raises(getattr(sc.errors, error), match=text):
            plastic_impact(mb, *joined)
    with pytest.raises(sc.errors.ModelError, match="takes a Multibody or a solver of one, got 'mb'"):
        plastic_impact("mb", ("a", "b"))
    with pytest.raises(sc.errors.ModelError, match="takes one state, got a batch"):
        plastic_impact(mb, ("a", "b"), v=np.zeros((3, 12)))


def test_carts_on_one_line_join_however_they_are_turned():
    """1 kg at 3 m/s and 2 kg at rest go on at 1 m/s; what turned axes leave across the line is rounding."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R[:, 0] *= np.sign(np.linalg.det(R))
        mb = sc.Multibody(gravity=(0, 0, 0))
        mb.add_body("a", None, sc.Prismatic(R.T @ [1, 0, 0]), sc.Inertia(1.0), sc.Pose(R))
        mb.add_body("b", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
        mb.set_state([0.0, 0.0], [3.0, 0.0])
        r = plastic_impact(mb, ("a", "b"))
        np.testing.assert_allclose(r.v, [1.0, 1.0], atol=1e-9)
        assert r.energy_lost == pytest.approx(3.0, rel=1e-9)


def test_a_turned_closed_chain_takes_a_lump_alike():
    """Its closure holds what it forbids, not what is rounding."""
    found = []
    for angle in (0.0, 0.3, 0.5):
        mb = turned_four_bar(angle)
        lump = sc.Inertia(1.0, com=(0, 0, -0.2), moment=np.eye(3) * 0.1)
        mb.add_body("lump", "a", sc.Pin((0, 1, 0)), lump)
        mb.set_state([-0.3, 0.3, -0.3, 0.0], [1.0, -1.0, 1.0, -2.0])
        r = plastic_impact(mb, ("a", "lump"))
        found.append([*r.v, r.energy_lost])
    assert abs(found[0][0]) > 0.1
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-9)
