"""Models from bodies and joints: the same motion whatever the root, the order of the joints, their directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import FourBar, Z, comparable, near, project, rod, row_of_four_bars
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.loops import TreeAugmented, cut
from soacraft.model.hinges.base import pose_of
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.tree.joining.turning import turned

PIN, HERE = sc.Pin(Z), sc.Pose()


def at(x, y=0.0):
    return sc.Pose(translation=(x, y, 0))


def motion(mb):
    """Velocities and, under gravity and a wrench on each body, accelerations of all bodies in inertial axes."""
    names = sorted(body.name for body in mb.bodies)
    pulls = {name: np.linspace(-1.0, 1.0 + i, 6) for i, name in enumerate(names)}
    s = TreeAugmented(mb)
    vdot = s.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv), f_ext=pulls).vdot
    mb.set_state(vdot=vdot)
    return np.array([[*np.asarray(mb.velocity(name)), *np.asarray(mb.acceleration(name))] for name in names])


def give_velocities(mb, V):
    """The v at which the bodies, in the order of their names, have these velocities in inertial axes."""
    names = sorted(body.name for body in mb.bodies)
    J = np.concatenate([dyn.jacobian(mb, mb.q, name, expressed_in="inertial") for name in names])
    v = np.linalg.lstsq(J, V.ravel(), rcond=None)[0]
    near(J @ v, V.ravel(), 1e-9)
    mb.v = v


def put_in_motion(mb, seed):
    mb.v = project(mb, np.random.default_rng(seed).standard_normal(mb.nv))


def same_motion(models, seed=0):
    """All models stand and move alike; the first is put in motion."""
    first, *others = models
    put_in_motion(first, seed)
    expected = motion(first)
    for mb in others:
        for body in first.bodies:
            near(mb.pose(body.name).translation, first.pose(body.name).translation, 1e-9)
            near(mb.pose(body.name).rotation, first.pose(body.name).rotation, 1e-9)
        give_velocities(mb, expected[:, :6])
        near(motion(mb), expected, 1e-8)


def reversed_joint(joint, q):
    """The same joint told from b to a."""
    name, a, frame_a, b, frame_b, hinge = joint
    back = turned("test", hinge, name)
    return (name, b, frame_b, a, frame_a, back.hinge), back.q(hinge, np.atleast_1d(q))


# -- a four-bar and a five-bar --------------------------------------------------------------------------------------


def four_bar(theta):
    """`FourBar` as joints, its bodies and the coordinates of all joints."""
    bar = FourBar()
    beta, gamma = bar.angles(theta)
    joints = [
        ("crank", "inertial", HERE, "crank", HERE, PIN),
        ("elbow", "crank", at(bar.crank), "coupler", HERE, PIN),
        ("wrist", "coupler", at(bar.coupler), "rocker", at(bar.rocker), PIN),
        ("rocker", "inertial", at(bar.ground), "rocker", HERE, PIN),
    ]
    lengths = (bar.crank, bar.coupler, bar.rocker)
    bodies = {x: rod(m, l) for x, m, l in zip(("crank", "coupler", "rocker"), bar.masses, lengths, strict=True)}
    return joints, bodies, {"crank": theta, "elbow": beta - theta, "wrist": gamma - beta, "rocker": gamma}


@pytest.mark.parametrize("gone", ["crank", "elbow", "wrist", "rocker"])
def test_a_four_bar_whatever_is_cut(gone):
    joints, bodies, q = four_bar(0.8)
    mb = cut(joints, cut=[gone]).build(bodies, "four_bar", (0, -9.81, 0), q)
    assert (mb.name, mb.loops.names, mb.nv) == ("four_bar", (gone,), 3)
    same_motion([FourBar().build(0.8), mb])


@pytest.mark.parametrize("root", ["inertial", "crank", "coupler", "rocker"])
def test_a_four_bar_whatever_the_root_and_the_order(root):
    joints, bodies, q = four_bar(0.8)
    rng = np.random.default_rng(1)
    models = [FourBar().build(0.8)]
    for _ in range(4):
        shuffled = [joints[i] for i in rng.permutation(4)]
        models.append(cut(shuffled, root=root).build(bodies, gravity=(0, -9.81, 0), q=q))
    same_motion(models)


def test_the_acceleration_of_a_four_bar():
    """By Lagrange in the crank angle alone."""
    joints, bodies, q = four_bar(0.8)
    mb = cut(joints, keep=["crank"]).build(bodies, gravity=(0, -9.81, 0), q=q)
    i = mb.dof_names.index("crank")
    s = TreeAugmented(mb)
    v = s.project_velocity(mb.q, np.ones(3))
    force = np.zeros(3)
    force[i] = 2.5
    vdot = s.forward_dynamics(mb.q, v, force).vdot
    assert vdot[i] == pytest.approx(FourBar().acceleration(0.8, v[i], 2.5), rel=1e-9)


def five_bar():
    """A planar five-bar on legs of 1 m, symmetric: feet at 0 and 0.8, knees out, hands together."""
    leg, reach = np.deg2rad(110.0), at(1.0)
    knee = np.array([np.cos(leg), np.sin(leg)])
    hand = np.array([0.4, knee[1] + np.sqrt(1.0 - (0.4 - knee[0]) ** 2)])
    up = np.arctan2(*(hand - knee)[::-1])
    joints = [
        ("hip1", "inertial", HERE, "thigh1", HERE, PIN),
        ("hip2", "inertial", at(0.8), "thigh2", HERE, PIN),
        ("knee1", "thigh1", reach, "shank1", HERE, PIN),
        ("knee2", "thigh2", reach, "shank2", HERE, PIN),
        ("hand", "shank1", reach, "shank2", reach, sc.Spherical()),
    ]
    bodies = {name: rod(m, 1.0) for name, m in (("thigh1", 1.0), ("thigh2", 1.5), ("shank1", 0.7), ("shank2", 0.9))}
    turn = (np.pi - up) - up
    hand_q = [0, 0, np.sin(turn / 2), np.cos(turn / 2)]
    q = {"hip1": leg, "hip2": np.pi - leg, "knee1": up - leg, "knee2": leg - up, "hand": hand_q}
    return joints, bodies, q


@pytest.mark.parametrize("gone", ["hip1", "hip2", "knee1", "knee2", "hand"])
def test_a_five_bar_whatever_is_cut_and_the_root(gone):
    joints, bodies, q = five_bar()
    models = [cut(joints).build(bodies, gravity=(0, -9.81, 0), q=q)]
    assert models[0].loops.names == ("hand",)
    for root in ("inertial", "shank2"):
        models.append(cut(joints[::-1], cut=[gone], root=root).build(bodies, gravity=(0, -9.81, 0), q=q))
        assert models[-1].loops.names == (gone,)
    same_motion(models)


# -- random graphs --------------------------------------------------------------------------------------------------

HINGES = [sc.Pin((0.3, -0.5, 0.8)), sc.Prismatic((0.6, 0.2, -0.4)), sc.Helical((-0.2, 0.7, 0.4), 0.15),
          sc.Cylindrical((0.5, 0.1, 0.9)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Planar(), sc.Spherical(),
          sc.Gimbal()]  # fmt: skip


@st.composite
def graphs(draw, floating=False):
    """Bodies at random poses with random joints between them, all closed: each frame b is where its hinge leads."""
    n = draw(st.integers(2, 5))
    names = [f"body{k}" for k in range(n)]
    everything = names if floating else ["inertial", *names]
    poses = {"inertial": HERE, **{name: random_pose(draw(SEEDS)) for name in names}}
    ends = [(everything[draw(st.integers(0, i - 1))], everything[i]) for i in range(1, len(everything))]
    for _ in range(draw(st.integers(1, 2))):
        ends.append(tuple(draw(st.lists(st.sampled_from(everything), min_size=2, max_size=2, unique=True))))
    joints, q = [], {}
    for i, (a, b) in enumerate(ends):
        hinge, seed = draw(st.sampled_from(HINGES)), draw(SEEDS)
        x = np.asarray(hinge.random(np.random.default_rng(seed)), dtype=float)
        frame_a = random_pose(seed + 1)
        frame_b = poses[b].inv @ poses[a] @ frame_a @ pose_of(hinge, x)
        joints.append((f"joint{i}", a, frame_a, b, sc.Pose(frame_b.rotation, frame_b.translation), hinge))
        q[f"joint{i}"] = x
    return joints, {name: random_inertia(draw(SEEDS)) for name in names}, q, poses


def built(joints, bodies, q, seed, root):
    """The model with the joints in another order, some of them told from b to a."""
    rng = np.random.default_rng(seed)
    told, where = [], {}
    for i in rng.permutation(len(joints)):
        joint, x = joints[i], q[joints[i][0]]
        if rng.random() < 0.5:
            joint, x = reversed_joint(joint, x)
        told.append(joint)
        where[joint[0]] = x
    return cut(told, root=root).build(bodies, q=where)


@tries(15)
@given(graphs(), SEEDS, st.data())
def test_random_graphs_whatever_the_root_the_order_and_the_directions(graph, seed, data):
    joints, bodies, q, poses = graph
    first = cut(joints).build(bodies, q=q)
    for name in bodies:
        near(first.pose(name).translation, poses[name].translation, 1e-9)
        near(first.pose(name).rotation, poses[name].rotation, 1e-9)
    put_in_motion(first, seed)
    comparable(first, np.zeros(first.nv))
    roots = [data.draw(st.sampled_from(["inertial", *bodies])) for _ in range(2)]
    same_motion([first, *(built(joints, bodies, q, seed + i, root) for i, root in enumerate(roots))], seed)


@tries(10)
@given(graphs(floating=True), SEEDS, st.data())
def test_without_a_joint_to_the_ground_the_root_floats(graph, seed, data):
    joints, bodies, q, poses = graph
    models = []
    for i in range(2):
        root = data.draw(st.sampled_from(sorted(bodies)))
        mb = built(joints, bodies, q, seed + i, root)
        assert mb.body(root).hinge == sc.Free()
        coordinates = np.array(mb.q)
        coordinates[mb.body(root).q_slice] = [*poses[root].as_quaternion(), *poses[root].translation]
        mb.q = coordinates
        models.append(mb)
    put_in_motion(models[0], seed)
    comparable(models[0], np.zeros(models[0].nv))
    same_motion(models, seed)


# -- from a model ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [["crank0"], ["crank1", "coupler0"], ["coupler1", "loop0"], []])
def test_a_model_is_cut_as_it_is_told(gone):
    mb = row_of_four_bars(2)
    mb.v = np.zeros(5)
    other = cut(mb, cut=gone).build()
    assert other is not mb
    assert set(gone) <= set(other.loops.names)
    assert len(other.loops) == 2
    same_motion([mb, other])


def test_what_a_model_has_besides_is_kept():
    mb = FourBar().build(0.8)
    mb["coupler"].add_node("eye", at(0.2, 0.1))
    other = cut(mb, cut=["rocker"]).build()
    near(other.pose("coupler/eye").translation, mb.pose("coupler/eye").translation, 1e-12)
    near(other.gravity, mb.gravity, 0.0)


# -- refusals -------------------------------------------------------------------------------------------------------

JOINTS, BODIES, Q = four_bar(0.8)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cut(JOINTS).build(), ModelError, "bodies are given as {name: Inertia}, got None."),
        (lambda: cut(JOINTS).build([1]), ModelError, "bodies are given as {name: Inertia}, got [1]."),
        (
            lambda: cut(JOINTS).build({**BODIES, "moon": BODIES["crank"]}),
            ModelError,
            "no joint holds body 'moon'; the joints are of 'coupler', 'crank', 'rocker'.",
        ),
        (
            lambda: cut(JOINTS).build({"crank": BODIES["crank"], "rocker": BODIES["rocker"]}),
            ModelError,
            "body 'coupler' of the joints has no inertia; bodies are {name: Inertia} for all.",
        ),
        (
            lambda: cut(JOINTS).build({**BODIES, "crank": 1.0}),
            ModelError,
            "body 'crank' needs an Inertia(mass, com, moment), got 1.0.",
        ),
        (lambda: cut(JOINTS).build(BODIES, q=[0.0]), StateError, "q is given as {joint: coordinates}, got [0.0]."),
        (
            lambda: cut(JOINTS).build(BODIES, q={"knee": 0.0}),
            StateError,
            "q names 'knee', which is not one of the joints 'crank', 'rocker', 'elbow', 'wrist'.",
        ),
        (
            lambda: cut(JOINTS).build(BODIES, q={"elbow": [0.0, 1.0]}),
            StateError,
            "q of joint 'elbow' must have shape (1,), got shape (2,)",
        ),
        (
            lambda: cut([*JOINTS, ("loose", "crank", "rocker", sc.Free())]).build(BODIES),
            LoopError,
            "cut: joint 'loose' (Free()) closes nothing when it is cut; leave it out.",
        ),
        (
            lambda: cut([("x", "a", (0, 0, 0), "b", HERE, PIN)]),
            ModelError,
            "joint 'x': its frame on 'a' is given as a Pose, got (0, 0, 0).",
        ),
        (lambda: cut([("", "a", "b", PIN)]), ModelError, "a joint and its bodies have names, got "),
        (
            lambda: cut([("roll", "ball", "inertial", sc.RollingBall(0.5))]).build({"ball": sc.Inertia(1.0)}),
            ModelError,
            "cut: the hinge RollingBall(radius=0.5, normal=(0, 0, 1)) of 'roll' cannot be turned around.",
        ),
        (
            lambda: cut(FourBar().build(0.8)).build(BODIES),
            ModelError,
            "the name, bodies, gravity and state are those of 'four_bar'; build() takes none.",
        ),
        (
            lambda: cut(row_of_four_bars(2).subgraph(["crank0", "coupler0", "crank1"])).build(),
            ModelError,
            "build makes whole models, and ",
        ),
    ],
)
def test_refusals_of_build(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(text)


def test_a_model_that_changed_since_it_was_cut():
    mb = FourBar().build(0.8)
    found = cut(mb, cut=["crank"])
    mb.remove_loop("ring")
    with pytest.raises(LoopError, match="'four_bar' has changed since it was cut; cut it again"):
        found.build()
