"""Compiled steps with contact: those of Python, for every hinge, limits, dry hinges, conveyors and restitution."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import in_python, is_compiled
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.errors import SimulationError

SHAPES = (("sphere", (0.12,)), ("box", (0.2, 0.15, 0.1)), ("capsule", (0.08, 0.2)))
DEEP = -50.0


def shaped(make, height, **attributes):
    """A tree with a shape on every body, over a floor at some height."""
    mb = make()
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, height)), attributes=attributes))
    for i, body in enumerate(mb.bodies):
        kind, size = SHAPES[i % len(SHAPES)]
        body.add_geometry(sc.Geometry("skin", kind, size, pose=sc.Pose(translation=(0.02, -0.03 * i, 0.01))))
    return mb


def standing(make, gap=1e-3, **attributes):
    """The same with the floor just below its lowest point, which moves down, and a scene without the pairs that begin
    in each other."""
    mb = shaped(make, DEEP)
    scene = sc.contact.Scene(mb)
    rows = scene.distances(mb.q)
    lowest = min((i for i, x in enumerate(rows) if "floor" in x.a + x.b), key=lambda i: rows.distance[i])
    down, rising = rows.distance[lowest], scene.gradient(rows)[lowest] @ mb.v > 0.0
    q, v = mb.q, -mb.v if rising else mb.v
    mb = shaped(make, DEEP + down - gap, **attributes)
    mb.set_state(q, v)
    scene = sc.contact.Scene(mb)
    for row in scene.distances(mb.q):
        if row.distance < 0.0:
            scene.exclude(row.a, row.b)
    return mb, scene


def resting():
    """Limits, some near, and dry friction of hinges of one dof."""
    cross = sc.Universal((1, 0, 0), (0, 1, 0))
    mb = tree([sc.Free(), sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0)), cross, sc.Pin((1, 0, 0))])
    q = mb.q
    for number, body in enumerate(mb.bodies[1:], 1):
        at = q[mb.layout.q_slices[number]]
        body.limits = sc.Limits(lower=at - 1e-3, upper=at + 0.5) if number % 2 else sc.Limits(at - 0.5, at + 1e-3)
        body.passive = sc.Passive(damping=0.2, friction=0.05 * number)
    return mb


MODELS = {
    "pins": lambda: tree([sc.Pin((0, 1, 0)), sc.Prismatic((0.2, 0, 1)), sc.Pin((1, 0, 0)), sc.Helical((0, 0, 1), 0.2)]),
    "quaternions": lambda: tree([sc.Free(), sc.Spherical(), sc.Gimbal(), sc.Spherical(), sc.Free()]),
    "products": lambda: tree(
        [sc.Planar(), sc.Cylindrical((1, 0, 0)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Weld(), sc.Pin((0, 1, 0))]
    ),
    "limits": resting,
}


METHODS = ["moreau", "moreau_midpoint"]


def run(make, steps=7, step=0.002, controls=False, floor=None, method="moreau", **laws):
    mb, scene = standing(make, **(floor or {}))
    p = sc.sim.Propagator(mb, integrator=method, step=step)
    touch = sc.sim.Contact(scene, tolerance=1e-13, **laws)  # so that the two agree as closely
    p.add(touch)
    if controls:
        p.control(mb.dof_names[0], ([0.0, 0.02, 0.05], [0.0, 3.0, -2.0]))
    return p.advance_to(steps * step), touch


def agree(run, other, step=0.002):
    """Coordinates, velocities, energies and works; what is divided by the step is so much less sure."""
    pairs = [(run.q, other.q, 1.0), (run.v, other.v, 1.0), (run.energy, other.energy, 1.0)]
    pairs.append((run.vdot, other.vdot, step))
    assert run.work.keys() == other.work.keys()
    energy = max(1.0, np.abs(other.energy).max())
    pairs += [(run.work[x] / energy, other.work[x] / energy, 1.0) for x in run.work]
    pairs += [(run.forces[x], other.forces[x], step) for x in run.forces]
    t = run.t[0] + 0.37 * (run.t[-1] - run.t[0])
    pairs += [(run.at(t).q, other.at(t).q, 1.0), (run.at(t).v, other.at(t).v, 1.0)]
    for x, y, scale in pairs:
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 / scale * max(1.0, np.abs(y).max()))


def same_contacts(touch, other):
    assert [x.pairs for x in touch.steps] == [x.pairs for x in other.steps]
    assert [x.state for x in touch.steps] == [x.state for x in other.steps]
    for x, y in zip(touch.steps, other.steps, strict=True):
        assert x.t == pytest.approx(y.t, abs=1e-12)
        for name in ("points", "impulses", "moments", "gap", "work", "factor"):
            np.testing.assert_allclose(getattr(x, name), getattr(y, name), rtol=1e-9, atol=1e-12, err_msg=name)
        assert x.unique == y.unique


@pytest.mark.parametrize("restitution", [0.0, 0.6])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_steps_of_trees(method, name, restitution, monkeypatch):
    """Every hinge, several shapes on one floor and on each other: states, work, forces and contacts."""
    r, touch = run(MODELS[name], restitution=restitution, controls=True, method=method)
    assert is_compiled(r)
    assert any(x.impulses.any() for x in touch.steps)
    in_python(monkeypatch)
    other, told = run(MODELS[name], restitution=restitution, controls=True, method=method)
    agree(r, other)
    same_contacts(touch, told)


@pytest.mark.parametrize("friction", [0.7, 0.0, (0.5, 0.01), (0.5, 0.02, 0.01)])
@pytest.mark.parametrize("method", METHODS)
def test_surfaces_and_their_pairs(method, friction, monkeypatch):
    """A conveyor, friction of a pair of bodies, a shape whose friction has priority; cones of one to six rows."""

    def made():
        belt = (0.0, 0.3, 0.0) if isinstance(friction, tuple) else (0.4, 0.1, 0.0)
        floor = {"surface_velocity": belt} | ({"friction": 0.2, "priority": 1} if friction == 0.7 else {})
        pairs = {("b0", "inertial/floor"): (0.9, 0.3)} if friction == 0.7 else None
        return run(MODELS["quaternions"], floor=floor, pairs=pairs, friction=friction, method=method)

    r, touch = made()
    assert is_compiled(r)
    assert any("slip" in x.state or "stick" in x.state for x in touch.steps)
    assert any(x.moments.any() for x in touch.steps) == isinstance(friction, tuple)
    in_python(monkeypatch)
    other, told = made()
    agree(r, other)
    same_contacts(touch, told)


@pytest.mark.parametrize("method", METHODS)
def test_restitution_that_would_gain_energy(method, monkeypatch):
    """A tilted rod with much friction: Newton's law, and the default one, which makes e smaller, as in Python."""

    def rod():
        mb = sc.Multibody(gravity=(0, 0, -9.81))
        mb.add_body("rod", None, sc.Free(), sc.Inertia(1.0, moment=np.diag([0.01, 0.3, 0.3])))
        mb.set_state([0, np.sin(0.45), 0, np.cos(0.45), 0, 0, 1.0], [0, 3.0, 0, -2.0, 0, -4.0])
        return mb

    for law in ("energy", "newton"):
        r, touch = run(rod, steps=8, restitution=0.9, friction=1.2, law=law, method=method)
        assert is_compiled(r)
        with monkeypatch.context() as python:
            in_python(python)
            other, told = run(rod, steps=8, restitution=0.9, friction=1.2, law=law, method=method)
        agree(r, other)
        same_contacts(touch, told)


def test_what_is_left_to_python():
    """The midpoint rule on a closed chain, and a motion in which nothing touches."""
    for method, why in (("moreau_midpoint", "on a closed chain is written in Python"), ("moreau", "steps: compiled")):
        p = sc.sim.Propagator(four_bar(), integrator=method, step=0.001)
        p.add(sc.sim.Contact())
        assert why in str(p.report())
    p = sc.sim.Propagator(MODELS["pins"](), integrator="moreau", step=0.001)
    assert "nothing touches" in str(p.report())


def test_scenes_that_change_are_followed(monkeypatch):
    """Between two calls: a pair left out of the scene, another friction of a shape."""

    def made():
        mb, scene = standing(MODELS["quaternions"])
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
        p.add(sc.sim.Contact(scene, tolerance=1e-13))
        p.advance_to(0.01)
        scene.exclude("b1", "inertial/floor")
        return p.advance_to(0.03)

    r = made()
    assert is_compiled(r)
    in_python(monkeypatch)
    agree(r, made())


def test_forces_that_overflow_are_refused():
    """A heavy ball: its impulse is a number, the force that it is over a step is none."""
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1e305)).add_geometry(
        sc.Geometry("skin", "sphere", (0.1,))
    )
    mb.set_state([0.1], [-10.0])
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-4)
    p.add(sc.sim.Contact())
    text = r"the force of contacts in the step of 0\.0001 s that ends at 0\.0001 s is not finite: entry 0 is inf"
    with pytest.raises(SimulationError, match=text):
        p.advance_to(1e-3)


@pytest.mark.parametrize("friction", [0.0, 0.5])
def test_a_spindle_that_touches_on_its_axis_goes_on_spinning(friction):
    """Turned about the normal of a tilted floor, it moves its point of contact by rounding alone."""
    rng, down = np.random.default_rng(1), np.array([0.0, 0.0, -1.0])
    for _ in range(8):
        floor, own = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
        floor, own = (x * np.linalg.det(x) for x in (floor, own))  # turns, not reflections
        mb = sc.Multibody("spindle", gravity=9.81 * floor @ down)
        mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(floor)))
        at, inertia = sc.Pose(own, floor @ [0.3, 0.7, 1.1]), sc.Inertia(1.0, (0, 0, 0), 0.004 * np.eye(3))
        body = mb.add_body("top", None, sc.Pin(own.T @ floor @ -down), inertia, at)
        body.add_geometry(sc.Geometry("tip", "sphere", (0.1,), pose=sc.Pose(translation=own.T @ floor @ down)))
        mb.set_state([0.0], [1.0])
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
        p.add(sc.sim.Contact(friction=friction))
        np.testing.assert_allclose(p.advance_to(0.1).v[-1], [1.0], rtol=1e-12)


def test_an_arm_in_the_plane_of_a_tilted_floor_moves_as_without_it():
    """Three pins along the normal, folded back over the base: all of them move the point that touches along the normal
    by rounding alone, and more of it the longer the links are.
    """
    rng, down = np.random.default_rng(2), np.array([0.0, 0.0, -1.0])
    for _ in range(6):
        floor = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        floor *= np.linalg.det(floor)  # a turn, not a reflection
        mb = sc.Multibody("arm", gravity=9.81 * floor @ down)
        mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(floor)))
        above, place = None, sc.Pose(floor, floor @ [0.0, 0.0, 0.1])
        for name, length in (("upper", 5.0), ("middle", 5.0), ("lower", 0.2)):
            rod = sc.Inertia(1.0, (0.5 * length, 0, 0), 0.1 * np.eye(3))
            above = mb.add_body(name, above, sc.Pin((0, 0, 1)), rod, place)
            place = sc.Pose(translation=(length, 0, 0))
        above.add_geometry(sc.Geometry("tip", "sphere", (0.1,), pose=place))
        mb.set_state([0.3, np.pi - 0.01, 0.4], [0.2, 0.5, -0.3])
        runs = []
        for touching in (True, False):
            p = sc.sim.Propagator(mb.copy(), integrator="moreau", step=0.01)
            if touching:
                p.add(sc.sim.Contact(friction=0.0))
            runs.append(p.advance_to(0.05))
        np.testing.assert_allclose(runs[0].v[-1], runs[1].v[-1], rtol=1e-9)


def bricks(columns=3, rows=3):
    """A wall, with one brick on top that is pushed to the side."""
    mb = sc.Multibody("wall", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    x, y, z = 0.4, 0.2, 0.2
    moment = np.diag([y * y + z * z, x * x + z * z, x * x + y * y]) / 12.0
    q, v = [], []
    for row in range(rows):
        for column in range(columns):
            body = mb.add_body(f"brick{row}{column}", None, sc.Free(), sc.Inertia(1.0, moment=moment))
            body.add_geometry(sc.Geometry("skin", "box", (x, y, z)))
            q += [0.0, 0.0, 0.0, 1.0, 0.41 * column + 0.2 * (row % 2), 0.01 * row, 0.1 + z * row]
            v += [0.0, 0.0, 0.0, 0.5 * (row == rows - 1 and column == 0), 0.0, 0.0]
    mb.set_state(q, v)
    return mb


def test_a_large_island(monkeypatch):
    """A wall is one island of many rows, solved by what they move; in Python by its whole matrix S."""

    def made():
        p = sc.sim.Propagator(bricks(), integrator="moreau", step=0.002)
        touch = sc.sim.Contact(friction=0.6, tolerance=1e-11)
        p.add(touch)
        return p.advance_to(0.006), touch

    r, touch = made()
    assert is_compiled(r)
    assert max(3 * len(x.pairs) for x in touch.steps) > 150
    assert max(x.residual for x in touch.steps) <= 1e-11
    in_python(monkeypatch)
    other, told = made()
    np.testing.assert_allclose(r.v, other.v, rtol=0, atol=1e-11)
    np.testing.assert_allclose(r.q, other.q, rtol=0, atol=1e-12)
    for x, y in zip(touch.steps, told.steps, strict=True):
        assert x.pairs == y.pairs
        assert x.unique == y.unique
        a, b = ((z.impulses if z.unique else on_bodies(z)) for z in (x, y))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-6 * np.abs(y.impulses).max())


def on_bodies(step):
    """The sum of the impulses on each body: it is what moves it, also where its parts are not unique."""
    names = sorted({name for pair in step.pairs for name in pair})
    total = np.zeros((len(names), 3))
    for (a, b), impulse in zip(step.pairs, step.impulses, strict=True):
        total[names.index(a)] -= impulse
        total[names.index(b)] += impulse
    return total


def balls_in_a_row(count=30):
    """On a floor, pushed together from both ends: the forces of the floor and of each other are too many by a few."""
    mb = sc.Multibody("row", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q, v = [], []
    for k in range(count):
        body = mb.add_body(f"ball{k}", None, sc.Free(), sc.Inertia(1.0, moment=0.004 * np.eye(3)))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        q += [0.0, 0.0, 0.0, 1.0, 0.2 * k, 0.0, 0.1]
        v += [0.0, 0.0, 0.0, 0.3 * ((k == 0) - (k == count - 1)), 0.0, 0.0]
    mb.set_state(q, v)
    return mb


def plate_and_balls(count=52):
    """A plate in free fall that balls fall on: each has a force of its own."""
    mb = sc.Multibody("plate", gravity=(0, 0, 0))
    plate = mb.add_body("plate", None, sc.Free(), sc.Inertia(10.0, moment=10.0 * np.eye(3)))
    plate.add_geometry(sc.Geometry("skin", "box", (20.0, 2.0, 0.2)))
    q, v = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0] * 6
    for k in range(count):
        body = mb.add_body(f"ball{k}", None, sc.Free(), sc.Inertia(1.0, moment=0.004 * np.eye(3)))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        q += [0.0, 0.0, 0.0, 1.0, 0.3 * (k - count / 2), 0.1 * (k % 5), 0.2]
        v += [0.0, 0.0, 0.0, 0.1 * (k % 3), 0.0, -1.0 - 0.01 * k]
    mb.set_state(q, v)
    return mb


@pytest.mark.parametrize(("make", "unique"), [(balls_in_a_row, False), (plate_and_balls, True)])
def test_whether_the_forces_of_a_large_island_are_the_only_ones(make, unique, monkeypatch):
    """Not by their number alone, which is less than that of the dofs."""

    def made():
        p = sc.sim.Propagator(make(), integrator="moreau", step=0.002)
        touch = sc.sim.Contact(friction=0.6, tolerance=1e-12)
        p.add(touch)
        return p.advance_to(0.002), touch.steps

    r, (step,) = made()
    assert is_compiled(r)
    assert 150 < 3 * len(step.pairs) < len(r.v[0])
    in_python(monkeypatch)
    other, (told,) = made()
    assert step.unique == told.unique == unique
    np.testing.assert_allclose(r.v, other.v, rtol=0, atol=1e-11)
    if unique:
        np.testing.assert_allclose(step.impulses, told.impulses, rtol=0, atol=1e-9)


def test_a_heap_settles_by_its_islands():
    """Three layers of balls, more rows than a dense problem takes: solved to the tolerance, the weight carried."""
    mb = sc.Multibody("heap", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q = []
    for i in range(300):
        body = mb.add_body(f"ball{i:03d}", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
        body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        q += [0.0, 0.0, 0.0, 1.0, 0.2 * (i % 10), 0.2 * (i // 10 % 10), 0.1 + 0.2 * (i // 100)]
    mb.set_state(q, np.zeros(mb.nv))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    touch = sc.sim.Contact(friction=0.5, tolerance=1e-8)
    p.add(touch)
    r = p.advance_to(0.004)
    assert is_compiled(r)
    last = touch.steps[-1]
    assert 3 * len(last.pairs) > 768
    assert last.residual <= 1e-8
    floor = [i for i, pair in enumerate(last.pairs) if "inertial/floor" in pair]
    assert abs(last.impulses[floor, 2].sum()) == pytest.approx(300 * 9.81 * 0.002, rel=1e-6)
    assert np.abs(r.v[-1]).max() < 1e-6


def test_a_stack_on_a_slope_sticks():
    """Statics: the floor holds the weight of both boxes, the lower one that of the upper; friction of a half holds a
    slope of a tenth at every point, whatever the points share."""
    weight, h = np.array([0.98, 0.0, -9.81]), 0.002
    mb = sc.Multibody("stack", gravity=weight)
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    for i, mass in enumerate((3.0, 2.0)):
        inertia = sc.Inertia(mass, (0, 0, 0), mass * np.eye(3) / 6)
        body = mb.add_body(f"box{i}", None, sc.Free(), inertia)
        body.add_geometry(sc.Geometry("skin", "box", (1.0, 1.0, 1.0)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.5, 0, 0, 0, 1, 0.1, 0.05, 1.5], np.zeros(12))
    p = sc.sim.Propagator(mb, integrator="moreau", step=h)
    touch = sc.sim.Contact(friction=0.5, tolerance=1e-13)
    p.add(touch)
    r = p.advance_to(4 * h)
    assert is_compiled(r)
    np.testing.assert_allclose(r.v, 0.0, atol=1e-12)
    for step in touch.steps:
        assert set(step.state) == {"stick"}
        for floor, mass in ((True, 5.0), (False, 2.0)):
            those = [("floor" in "".join(map(str, pair))) == floor for pair in step.pairs]
            np.testing.assert_allclose(np.abs(step.impulses[those].sum(axis=0)), np.abs(mass * h * weight), atol=1e-9)


def rocking(method, order, pieces, steps=240, step=1e-3):
    """Two tall boxes that rock on a floor, whose corners leave it and come back, in pieces of so many steps, each with
    a propagator of its own; coordinates by name, and whether corners press and leave in one step."""
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    for i in order:
        box = mb.add_body(f"box{i}", None, sc.Free(), sc.Inertia(1.0 + i, moment=np.diag([0.03, 0.03, 0.007])))
        box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.6)))
    tilts = {0: 0.08, 1: -0.12}
    high = {i: 0.3 * np.cos(x) + 0.1 * np.sin(abs(x)) for i, x in tilts.items()}
    q = [[0.0, np.sin(tilts[i] / 2), 0.0, np.cos(tilts[i] / 2), 1.0 * i, 0.0, high[i]] for i in order]
    mb.set_state(np.concatenate(q), np.zeros(12))
    mixed, left = False, steps
    while left:
        now = min(pieces, left)
        p = sc.sim.Propagator(mb, integrator=method, step=step)
        touch = sc.sim.Contact(friction=0.8)
        p.add(touch)
        assert is_compiled(p.advance_to(now * step))
        mixed = mixed or any({"open", "stick"} <= set(x.state) and not x.iterations for x in touch.steps)
        left -= now
    return {f"box{i}": (mb.pose(f"box{i}").translation, mb.pose(f"box{i}").rotation) for i in order}, mixed


@pytest.mark.parametrize("method", METHODS)
def test_what_a_step_begins_with_is_told_by_the_state(method):
    """Which corners leave is taken from the state at the start of a step: the same bits in pieces, in any order of the
    bodies."""
    whole, mixed = rocking(method, (0, 1), 240)
    assert mixed
    for order, pieces in (((0, 1), 7), ((1, 0), 240)):
        for name, (x, R) in rocking(method, order, pieces)[0].items():
            np.testing.assert_array_equal(x, whole[name][0])
            np.testing.assert_array_equal(R, whole[name][1])


@pytest.mark.parametrize("method", METHODS)
def test_the_way_out_is_that_of_python(method, monkeypatch):
    """Balls that strike the floor near the middle of a step, with limits near: by the rows of its smooth end or middle,
    and, where one is new at the end, by those of the end."""

    def made():
        mb = sc.Multibody(gravity=(0, 0, -9.81))
        mb.root.add_geometry(sc.Geometry("floor", "plane"))
        for i in range(3):
            pose = sc.Pose(translation=(0, i, 0))
            slide = mb.add_body(
                f"slide{i}", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)), inboard=pose
            )
            arm = mb.add_body(f"arm{i}", slide, sc.Pin((0, 1, 0)), sc.Inertia(0.5, (0.1, 0, 0), 0.01 * np.eye(3)))
            arm.limits = sc.Limits(-1.0, 0.002 * (i + 1))
            arm.add_geometry(sc.Geometry("skin", "sphere", (0.05,), pose=sc.Pose(translation=(0.2, 0, 0))))
        mb.set_state([0.0501, 0.0, 0.0508, 0.0, 0.0515, 0.0], [-1.0, 1.0, -1.2, 2.0, -0.9, 1.5])
        p = sc.sim.Propagator(mb, integrator=method, step=1e-3)
        touch = sc.sim.Contact(tolerance=1e-13)
        p.add(touch)
        return p.advance_to(0.012), touch

    run, touch = made()
    assert is_compiled(run)
    assert any(len(x.gap) and x.gap.min() < -1e-5 for x in touch.steps)
    in_python(monkeypatch)
    other, told = made()
    agree(run, other, 1e-3)
    same_contacts(touch, told)
