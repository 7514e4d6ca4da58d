"""Pairs that may touch, their condim, friction and margins: the lists are those that MuJoCo works with."""

import mujoco
import numpy as np
import pytest
from tests.files.mjcf.peer import MODELS, InMujoco

import soacraft as sc
from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.errors import ModelError, SimulationError

FILES = [
    "agility_cassie/cassie_nomesh.xml", "anybotics_anymal_b/anymal_b_nomesh.xml",
    "dm_control_suite/humanoid_nomesh.xml", "franka_emika_panda/panda_nohand_nomesh.xml",
    *(f"gymnasium_mujoco/{x}.xml" for x in
      ("ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "swimmer", "walker2d")),
    "kuka_iiwa_14/iiwa14_nomesh.xml", "mujoco_model/arm26.xml", "mujoco_model/balloons.xml",
    "mujoco_model/humanoid.xml", "mujoco_model/slider_crank.xml", "robotiq_2f85/2f85_nomesh.xml",
    "shadow_hand/right_hand_nomesh.xml", "simple_humanoid/closed_chain_cassie.xml", "skydio_x2/x2_nomesh.xml",
    "unitree_a1/a1_nomesh.xml", "unitree_h1/h1_nomesh.xml", "universal_robots_ur5e/ur5e_nomesh.xml",
]  # fmt: skip


def peer_pairs(source):
    """The pairs that MuJoCo's collision function lists with a margin of a kilometre, over some poses (of long thin
    shapes its search fails at a few), with the number of rows of each contact."""
    peer, rng = InMujoco(source), np.random.default_rng(0)
    model, data = peer.model, peer.data
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    model.opt.o_margin = 1000.0
    pairs = {}
    for _ in range(8):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        pairs |= {frozenset((name(model, c.geom1), name(model, c.geom2))): int(c.dim) for c in data.contact}
        mujoco.mj_resetData(model, data)
        mujoco.mj_integratePos(model, data.qpos, 0.5 * rng.normal(size=model.nv), 1.0)
    return pairs


def name(model, geom):
    body = int(model.geom_bodyid[geom])
    carrier = "inertial" if body == 0 else model.body(body).name or f"body{body}"
    return f"{carrier}/{model.geom(int(geom)).name or f'geom{geom}'}"


@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass'")
@pytest.mark.parametrize("file", FILES)
def test_pairs_and_condim_are_those_of_mujoco(file):
    mb, pairs = sc.load(MODELS / file), peer_pairs(MODELS / file)
    scene = sc.contact.Scene(mb)
    assert {frozenset(x) for x in scene.pairs} == set(pairs)
    surfaces = Surfaces(scene)
    rows = {x: 1 + len(surfaces.of(*x)[0]) for x in map(tuple, pairs)}
    assert rows == {tuple(x): dim for x, dim in pairs.items()}


SEVERAL = """<mujoco>{more}<worldbody><body name="torso" pos="0 0 1"><freejoint/><geom name="t" size=".2"/>
  <body name="thigh"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/><joint name="z" axis="0 0 1"/>
    <geom name="h" type="capsule" fromto="0 0 0 0 0 -.3" size=".1"/>
    <body name="shin" pos="0 0 -.3"><joint name="knee"/><geom name="s" type="capsule" fromto="0 0 0 0 0 -.3" size=".1"/>
    </body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "more", ["", '<option><flag filterparent="disable"/></option>', '<option><flag contact="disable"/></option>']
)
def test_several_joints_and_flags(tmp_path, more):
    path = tmp_path / "leg.xml"
    path.write_text(SEVERAL.format(more=more))
    pairs = set(peer_pairs(SEVERAL.format(more=more)))
    assert {frozenset(x) for x in sc.contact.Scene(sc.load(path)).pairs} == pairs
    assert len(pairs) == {"": 1, "<option><flag f": 3, "<option><flag c": 0}[more[:15]]


def test_a_humanoid_begins_to_run():
    mb = sc.load(MODELS / "gymnasium_mujoco/humanoid.xml")
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact(limits=False))
    p.advance_to(0.005)


def test_the_cure_of_shapes_that_no_dof_moves_apart_is_to_leave_them_out():
    mb = sc.load(MODELS / "gymnasium_mujoco/humanoid.xml")
    contact = sc.sim.Contact(sc.contact.Scene(mb, adjacent=True), limits=False)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(contact)
    with pytest.raises(SimulationError) as caught:
        p.advance_to(0.001)
    assert "in each other, and no dof moves them apart; leave the pair out with contact.scene.exclude(" in str(
        caught.value
    )
    assert "penetration=" not in str(caught.value)
    for a, b in [("thigh", "pelvis"), ("shin", "thigh"), ("lower_arm", "upper_arm")]:
        for side in ("left", "right"):
            contact.scene.exclude(f"{side}_{a}", b if b == "pelvis" else f"{side}_{b}")
    p.advance_to(0.001)


PAIRS = """<mujoco>{defaults}<worldbody><geom name="floor" type="plane" size="1 1 1" margin="{m1}"
  friction=".3 .01 .002" gap="{gap}" contype="{mask}" conaffinity="{mask}"/><body name="ball" pos="0 0 1"><freejoint/>
  <geom name="skin" size=".1" margin="{m2}" condim="4" contype="{mask}" conaffinity="{mask}"/></body>
  </worldbody><contact>{contact}</contact></mujoco>"""
PAIR = '<pair geom1="floor" geom2="skin" {}/>'
CASES = {
    "no margins": {},
    "margins add up": {"m1": 0.02, "m2": 0.03},
    "gap": {"m1": 0.02, "gap": 0.01},
    "pair has its own": {"m1": 0.02, "m2": 0.03, "contact": PAIR.format('margin="0.01" condim="6"')},
    "pair has none": {"m1": 0.02, "m2": 0.03, "contact": PAIR.format("")},
    "pair of shapes with no mask": {"mask": 0, "contact": PAIR.format('margin="0.07"')},
    "defaults of pairs": {
        "contact": PAIR.format(""),
        "defaults": '<default><pair margin="0.06" condim="4" friction="2 2 .1 .2 .2"/></default>',
    },
    "excluded": {"contact": '<exclude body1="world" body2="ball"/>'},
}


@pytest.mark.parametrize("case", CASES)
def test_margins_and_numbers_of_pairs_are_those_of_mujoco(tmp_path, case):
    text = PAIRS.format(**({"m1": 0, "m2": 0, "gap": 0, "mask": 1, "contact": "", "defaults": ""} | CASES[case]))
    path = tmp_path / "ball.xml"
    path.write_text(text)
    mb, peer = sc.load(path), InMujoco(text)
    scene, height = sc.contact.Scene(mb), 0.1  # of touch
    q = np.array(mb.q)
    q[-1] = height - 0.001
    peer.put([0, 0, q[-1], 1, 0, 0, 0], np.zeros(6))
    contacts, rows = peer.data.contact, scene.distances(q)
    assert len(rows) == len(contacts)
    if len(rows):
        (one,) = contacts
        np.testing.assert_allclose(rows.distance, one.dist - one.includemargin, atol=1e-15)
        friction, _ = Surfaces(scene).of("ball/skin", "inertial/floor")
        np.testing.assert_allclose(friction, one.friction[: one.dim - 1])


def test_a_ball_rests_where_mujoco_lets_it_rest(tmp_path):
    """Two margins of 2 and 3 cm: both stay 5 cm above the floor."""
    text = PAIRS.format(m1=0.02, m2=0.03, gap=0, mask=1, contact="", defaults="")
    path = tmp_path / "ball.xml"
    path.write_text(text)
    mb, peer = sc.load(path), InMujoco(text)
    q = np.array(mb.q)
    q[-1] = 0.16
    mb.set_state(q)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(0.5)
    peer.data.qpos[2] = 0.16
    for _ in range(1000):
        mujoco.mj_step(peer.model, peer.data)
    assert mb.q[-1] == pytest.approx(0.15, abs=1e-6)
    assert peer.data.qpos[2] == pytest.approx(0.15, abs=1e-3)  # it is soft


def test_padding_adds_to_margins():
    mb = sc.Multibody()
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.5,), attributes={"margin": 0.1}))
    scene = sc.contact.Scene(mb)
    scene.set_padding(0.2, "ball")
    scene.set_padding(0.4, "ball", "inertial")
    assert scene.distances([0, 0, 0, 1, 0, 0, 2.0]).distance == pytest.approx([1.5 - 0.1 - 0.2 - 0.4])
    ball.remove_geometry("skin")
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.5,), attributes={"margin": -0.1}))
    with pytest.raises(ModelError, match=r"margin of shape 'ball/skin' is -0\.1; it must not be negative"):
        scene.distances([0, 0, 0, 1, 0, 0, 2.0])


def test_a_world_joins_a_base_to_what_has_several_joints_on_it(tmp_path):
    """A body of two joints on a body that is fixed touches it always, as one of one joint does."""
    path = tmp_path / "arm.xml"
    path.write_text(
        '<mujoco><worldbody><body name="base"><geom size=".2"/><body name="arm"><joint/><joint axis="1 0 0"/>'
        '<geom size=".1"/></body></body></worldbody></mujoco>'
    )
    world = sc.robot.World(sc.robot.Robot(sc.load(path)))
    assert world.touching(np.zeros(2)) == []


def held_box(hinge):
    """A box between two hands: it hangs from one, and a closure joins it to the other."""
    mb = sc.Multibody("held", gravity=(0, 0, -9.81))
    for side, y in (("left", 0.1), ("right", -0.1)):
        hand = mb.add_body(side, None, sc.Prismatic((0, 0, 1)), sc.Inertia.box(1.0, (0.1, 0.1, 0.1)),
                           sc.Pose(translation=(0.0, y, 0.0)))  # fmt: skip
        hand.add_geometry(sc.Geometry("pad", "box", (0.1, 0.1, 0.1)))
    box = mb.add_body("box", "left", sc.Weld(), sc.Inertia.box(2.0, (0.1, 0.1, 0.1)), sc.Pose(translation=(0, -0.1, 0)))
    box.add_geometry(sc.Geometry("skin", "box", (0.1, 0.1, 0.1)))
    mb["right"].add_node("grip", sc.Pose(translation=(0.0, 0.1, 0.0)))
    mb.close_loop("hold", "right/grip", "box", hinge)
    return mb


@pytest.mark.parametrize("hinge", [sc.Weld(), sc.Spherical()])
def test_a_closure_that_welds_two_bodies_leaves_their_shapes_out(hinge):
    """As a weld of the tree does; one that lets them turn leaves contact as it is, and so does one that is open."""
    mb = held_box(hinge)
    scene = sc.contact.Scene(mb)
    welded = isinstance(hinge, sc.Weld)
    pair, hands = frozenset(("box/skin", "right/pad")), frozenset(("left/pad", "right/pad"))
    assert (pair in {frozenset(x) for x in scene.pairs}) is not welded
    assert (hands in {frozenset(x) for x in scene.pairs}) is not welded  # the box is a part of the left hand
    scene.include("box", "right")
    assert pair in {frozenset(x) for x in scene.pairs}
    mb.remove_loop("hold")
    assert pair in {frozenset(x) for x in sc.contact.Scene(mb).pairs}
    mb.close_loop("hold", "right/grip", "box", hinge, active=False)
    assert pair in {frozenset(x) for x in sc.contact.Scene(mb).pairs}


def test_two_hands_and_the_box_between_them_fall_as_one():
    """Faces that a closure welds press on nothing: all fall freely, and every step is compiled."""
    mb = held_box(sc.Weld())
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    run = p.run(0.1)
    assert run.v[-1] == pytest.approx([-0.981, -0.981], abs=1e-9)
    assert not any(len(x.pairs) for x in run.contacts.steps)
