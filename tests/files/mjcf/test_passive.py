"""Springs, dampers, tendons and gravcomp of MJCF files act as they do in MuJoCo, and the report says so."""

import mujoco
import numpy as np
import pytest
from tests.files.mjcf.peer import InMujoco, distance

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.files.mjcf import read_mjcf

FLAGS = ["", "<flag spring='disable'/>", "<flag damper='disable'/>", "<flag spring='disable' damper='disable'/>",
         "<flag gravity='disable'/>"]  # fmt: skip
KINDS = ("hinge", "slide", "ball")
SPRINGLENGTHS = ("", "springlength='.1'", "springlength='-.2 .3'")
#: A hinge with a spring and a damper; 1 kg at 1 m.
PENDULUM = """<mujoco><compiler angle='radian'/><option gravity='0 0 -9.81'/><worldbody><body name='bob'>
<joint name='pin' axis='0 1 0' stiffness='3' damping='.5' springref='.2' frictionloss='.1'/>
<inertial pos='0 0 -1' mass='1' diaginertia='1e-9 1e-9 1e-9'/></body></worldbody></mujoco>"""


def numbers(rng, count, low=-1.0, high=1.0):
    return " ".join(f"{x:.5f}" for x in rng.uniform(low, high, count))


def chain(rng, flag=""):
    """Five bodies on joints of all kinds, the first free half of the time; two fixed and two spatial tendons."""
    bodies, scalar = f"<site name='s5' pos='{numbers(rng, 3)}'/>", []
    for i in range(5):
        kind = "free" if i == 0 and rng.random() < 0.5 else KINDS[rng.integers(3)]
        own = f"stiffness='{numbers(rng, 1, 1, 9)}' damping='{numbers(rng, 1, 0.1, 1)}'"
        if kind in ("hinge", "slide"):
            scalar.append(f"j{i}")
            own += f" axis='{numbers(rng, 3)}' ref='{numbers(rng, 1)}' springref='{numbers(rng, 1)}'"
        place = f"pos='{numbers(rng, 3)}' euler='{numbers(rng, 3)}'"
        carried = f"gravcomp='{numbers(rng, 1, 0.1, 1.5)}'" if i % 2 else ""
        at = "" if kind == "free" else f"pos='{numbers(rng, 3)}'"
        bodies += f"<body name='b{i}' {place} {carried}><joint name='j{i}' type='{kind}' {own} {at}/>"
        bodies += f"<geom type='box' size='.1 .2 .05' pos='{numbers(rng, 3)}' mass='{numbers(rng, 1, 0.5, 2)}'/>"
        bodies += f"<site name='s{i}' pos='{numbers(rng, 3)}' euler='{numbers(rng, 3)}'/>"
    tendons = ""
    for t in range(2):
        joints = "".join(f"<joint joint='{name}' coef='{numbers(rng, 1)}'/>" for name in scalar[t:])
        length = SPRINGLENGTHS[rng.integers(3)]
        if joints:
            tendons += f"<fixed name='t{t}' stiffness='{numbers(rng, 1, 1, 9)}' damping='.7' {length}>{joints}</fixed>"
        sites = "".join(f"<site site='s{i}'/>" for i in rng.permutation(6)[: 2 + t])
        length = ("", "springlength='.3'", "springlength='.2 1.5'")[rng.integers(3)]
        tendons += f"<spatial name='r{t}' stiffness='{numbers(rng, 1, 1, 9)}' damping='.6' {length}>{sites}</spatial>"
    return (
        f"<mujoco><compiler angle='radian'/><option gravity='1 -2 -9'>{flag}</option><worldbody>{bodies}"
        f"{'</body>' * 5}</worldbody><tendon>{tendons}</tendon></mujoco>"
    )


def read(folder, text):
    path = folder / "model.xml"
    path.write_text(text)
    return read_mjcf(path)


@pytest.mark.parametrize("seed", range(10))
def test_against_mujoco(tmp_path, seed):
    """qacc of mj_forward with contacts and constraints off, and qfrc_passive."""
    rng = np.random.default_rng(seed)
    text = chain(rng, FLAGS[seed % 5])
    mb, peer = read(tmp_path, text), InMujoco(text)
    off = mujoco.mjtDisableBit
    peer.model.opt.disableflags |= int(off.mjDSBL_CONTACT) | int(off.mjDSBL_CONSTRAINT)
    qpos, qvel = peer.random(rng)
    peer.put(qpos, qvel)
    parts = [j for j in range(peer.model.njnt) if peer.model.jnt_type[j] == 0]
    q, v, N, n = peer.in_ours(qpos, qvel, parts)
    assert distance(N @ dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv)) + n, peer.data.qacc) < 1e-11
    assert distance(dyn.passive_force(mb, q, v), N.T @ peer.data.qfrc_passive) < 1e-12


def test_a_pendulum(tmp_path):
    """I q'' = -m g l sin q - k (q - rest) - c q', as MuJoCo has it."""
    mb, peer = read(tmp_path, PENDULUM), InMujoco(PENDULUM)
    peer.model.dof_frictionloss[:] = 0.0
    peer.put([0.4], [0.7])
    expected = (-9.81 * np.sin(0.4) - 3.0 * (0.4 - 0.2) - 0.5 * 0.7) / (1.0 + 1e-9)
    assert float(peer.data.qacc[0]) == pytest.approx(expected, rel=1e-12)
    assert dyn.forward_dynamics(mb, [0.4], [0.7], [0.0]) == pytest.approx([expected], rel=1e-12)
    assert sc.analysis.linearize(mb, [0.2], [0.0], [0.0]).A[1, 1] == pytest.approx(-0.5, rel=1e-8)


def fates(mb, element, name=None):
    told = [x for x in mb.import_report.entries if x.element == element and name in (None, x.name)]
    return {x.attribute: (x.status, x.dynamic, x.note) for x in told}


def test_the_report_says_what_acts(tmp_path):
    told = fates(read(tmp_path, PENDULUM), "mujoco/body/joint")
    for name in ("stiffness", "damping", "springref"):
        assert told[name] == ("used", False, "acts: is in passive of the body")
    assert told["frictionloss"][:2] == ("recorded", True)


TENDONS = """<mujoco><default><tendon stiffness='4'/></default><worldbody><site name='s' pos='0 0 2'/>
<body><joint name='a'/><geom name='g' size='.1'/><site name='e' pos='1 0 0'/></body></worldbody><tendon>
<fixed name='pull' damping='2' range='0 1'><joint joint='a' coef='3'/></fixed>
<fixed name='plain' stiffness='0'><joint joint='a' coef='1'/></fixed>
<fixed stiffness='1'><joint joint='a' coef='1'/></fixed>
<spatial name='rope' damping='1'><site site='s'/><site site='e'/></spatial>
<spatial name='wrapped'><site site='s'/><geom geom='g' sidesite='s'/><site site='e'/></spatial></tendon></mujoco>"""


def test_tendons(tmp_path):
    """Fixed ones with a spring or a damper act, and spatial ones through sites; one around a geom is kept, and its
    default spring is said to be."""
    mb = read(tmp_path, TENDONS)
    assert [(x.name, dict(x.terms), x.stiffness, x.damping) for x in mb.tendons] == [
        ("pull", {"a": 3.0}, 4.0, 2.0),
        ("tendon2", {"a": 1.0}, 1.0, 0.0),
    ]
    assert [x.name for x in mb.records if x.kind == "tendon"] == ["pull", "plain", "", "rope", "wrapped"]
    fixed = [x for x in mb.import_report.entries if x.element == "mujoco/tendon/fixed" and x.name == "pull"]
    assert {x.attribute: x.status for x in fixed}["damping"] == "converted"
    assert {x.attribute: x.status for x in fixed}["range"] == "converted"
    (rope,) = mb.springs
    assert (rope.name, [x.name for x in rope.nodes], rope.stiffness, rope.damping) == ("rope", ["s", "e"], 4.0, 1.0)
    assert fates(mb, "mujoco/tendon/spatial", "rope")["damping"] == (
        "converted", False, "acts where its path is of sites alone: is in mb.springs",
    )  # fmt: skip
    wrapped = fates(mb, "mujoco/tendon/spatial", "wrapped")
    why = "its path has geoms or pulleys, or stays on one body: is kept, not simulated"
    assert wrapped["stiffness"] == ("recorded", True, why)
    assert fates(mb, "mujoco/default/tendon")["stiffness"] == (
        "converted", False, "acts where the tendon is fixed: is in mb.tendons",
    )  # fmt: skip
