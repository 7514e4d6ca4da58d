"""Every model file that MuJoCo can compile, in our hands and in its own."""

import shutil
import warnings
from xml.etree import ElementTree

import mujoco
import numpy as np
import pytest
from tests.files.mjcf.peer import FREE, MODELS, InMujoco, distances

from soacraft.errors import ModelFileError
from soacraft.files.mjcf import read_mjcf

TOLERANCE = 1e-9
FILES = sorted(MODELS.glob("*/*.xml"))
MASSES = {
    "agility_cassie/cassie.xml": 33.312, "anybotics_anymal_b/anymal_b.xml": 33.33055182, "unitree_a1/a1.xml": 12.453,
    "kuka_iiwa_14/iiwa14.xml": 30.61, "universal_robots_ur5e/ur5e.xml": 20.9949, "unitree_h1/h1.xml": 51.437,
    "franka_emika_panda/panda_nohand.xml": 16.691900787, "shadow_hand/right_hand.xml": 3.794,
    "robotiq_2f85/2f85_nomesh.xml": 0.9,
}  # fmt: skip
# files that cannot be read as they are here, and why
REFUSED = {
    "dm_control_suite/acrobot.xml": "acrobot.xml:9: <include>: the included file './common/visual.xml' is not there",
    "dm_control_suite/cheetah.xml": "the included file './common/skybox.xml' is not there",
    "dm_control_suite/fish.xml": "the included file './common/visual.xml' is not there",
    "dm_control_suite/humanoid.xml": "the included file './common/skybox.xml' is not there",
    "dm_control_suite/quadruped.xml": "the included file './common/skybox.xml' is not there",
    "dm_control_suite/swimmer.xml": "the included file './common/visual.xml' is not there",
    "robotiq_2f85/2f85.xml": "2f85.xml:60: <geom>: the inertia of body 'base_mount' comes from its shapes, and geom '' "
    "is the mesh 'base_mount', whose file 'assets/base_mount.stl' is not there",
}
# a colour that the file does not have keeps MuJoCo from reading it
REPAIRED = {"dm_control_suite/acrobot_nomesh.xml": ' material="target"'}


def key(path):
    return f"{path.parent.name}/{path.name}"


def in_mujoco(path):
    """MuJoCo's own, or None for a file whose meshes are not here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            repair = REPAIRED.get(key(path))
            return InMujoco(path if repair is None else path.read_text().replace(repair, ""))
        except ValueError as problem:
            if "Error opening file 'assets/" not in str(problem):
                raise
            return None


def worst(mb, peer, states=3):
    rng = np.random.default_rng(7)
    m = peer.model
    free = [j for j in range(m.njnt) if m.jnt_type[j] == FREE]
    parts = [j for j in free if m.dof_armature[m.jnt_dofadr[j]] or m.jnt_stiffness[j]]
    found = [distances(mb, peer, rng, parts) for _ in range(states)]
    return {name: max(each[name] for each in found) for name in found[0]}


@pytest.mark.parametrize("path", [x for x in FILES if key(x) not in REFUSED], ids=key)
def test_dynamics(path):
    mb = read_mjcf(path)
    peer = in_mujoco(path)
    if peer is None:  # its meshes are not here: the same file without them
        peer = in_mujoco(path.with_name(f"{path.stem}_nomesh.xml"))
    far = {name: d for name, d in worst(mb, peer).items() if not d <= TOLERANCE}
    assert not far
    assert mb.total_mass == pytest.approx(float(peer.model.body_mass.sum()), rel=1e-12)
    assert not mb.import_report.lost


@pytest.mark.parametrize(("name", "mass"), MASSES.items())
def test_total_mass(name, mass):
    assert read_mjcf(MODELS / name).total_mass == pytest.approx(mass, abs=1e-6)


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_refused(name, why):
    with pytest.raises(ModelFileError) as caught:
        read_mjcf(MODELS / name)
    assert why in str(caught.value)


def test_every_file_is_read_or_refused_for_a_reason():
    assert len(FILES) == 41
    assert {key(path) for path in FILES} >= REFUSED.keys() | MASSES.keys()


def everything(folder, here):
    """The file with one of everything, without the assets that are not there."""
    shutil.copytree(here / "data", folder, dirs_exist_ok=True)
    tree = ElementTree.parse(folder / "everything.xml")
    root = tree.getroot()
    for parent in list(root.iter()):
        for child in list(parent):
            name = child.get("name")
            if child.tag in ("skin", "layer", "texture") or name in ("seen", "trunk", "plain", "layered"):
                parent.remove(child)
            child.attrib.pop("material", None)
            if child.tag == "spatial":  # recorded, not simulated
                child.attrib.pop("stiffness", None)
                child.attrib.pop("damping", None)
    root.find("compiler").attrib.pop("fusestatic")
    tree.write(folder / "plain.xml")
    return folder / "plain.xml"


@pytest.fixture(scope="module")
def both(tmp_path_factory, request):
    path = everything(tmp_path_factory.mktemp("everything"), request.path.parent)
    return read_mjcf(request.path.parent / "data" / "everything.xml"), InMujoco(path)


def test_everything(both):
    """Joints in chains, off their body's origin and with ref; balls; attached and repeated bodies; a mesh's inertia;
    a free joint with armature and a spring."""
    mb, peer = both
    far = {name: d for name, d in worst(mb, peer, 5).items() if not d <= TOLERANCE}
    assert not far


def test_sites_are_where_they_are(both):
    mb, peer = both
    rng = np.random.default_rng(3)
    qpos, qvel = peer.random(rng)
    peer.put(qpos, qvel)
    mb.set_state(*peer.in_ours(qpos, qvel, parts=[peer.model.joint("drift").id])[:2])
    for site in range(peer.model.nsite):
        name = peer.model.site(site).name
        carrier = peer.model.body(peer.model.site_bodyid[site])
        frame = f"{'inertial' if carrier.id == 0 else carrier.name or f'body{carrier.id}'}/{name}"
        pose = mb.pose(frame)
        assert pose.translation == pytest.approx(peer.data.site_xpos[site], abs=1e-12)
        assert pose.rotation == pytest.approx(peer.data.site_xmat[site].reshape(3, 3), abs=1e-12)


def test_loops_are_mujocos_residuals(both):
    """The gap between the two nodes of a loop is what MuJoCo's equality measures."""
    mb, peer = both
    m, d = peer.model, peer.data
    qpos, qvel = peer.random(np.random.default_rng(4))
    m.opt.disableflags = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    d.eq_active[:] = 1
    peer.put(qpos, qvel)
    mb.set_state(*peer.in_ours(qpos, qvel, parts=[m.joint("drift").id])[:2])
    for loop in mb.loops:
        number = m.equality(loop.name).id
        rows = np.flatnonzero((d.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (d.efc_id == number))
        a, b = mb.pose(loop.a), mb.pose(loop.b)
        assert d.efc_pos[rows[:3]] == pytest.approx(a.translation - b.translation, abs=1e-12)
        assert len(rows) == 6 - loop.hinge.nv
        if len(rows) == 6:  # sin(angle/2) of the turn between them, times torquescale
            turn = np.linalg.norm(d.efc_pos[rows[3:]])
            cosine = (np.trace(a.rotation.T @ b.rotation) - 1.0) / 2.0
            assert turn == pytest.approx(np.sqrt((1.0 - cosine) / 2.0), abs=1e-12)
    for coupling in mb.couplings:
        number = m.equality(coupling.name).id
        rows = np.flatnonzero((d.efc_type == int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)) & (d.efc_id == number))
        q = dict(zip(mb.dof_names, d.qvel * 0.0, strict=True))
        for name in coupling.terms:
            joint = m.joint(name)
            q[name] = qpos[joint.qposadr[0]] - m.qpos0[joint.qposadr[0]]
        ours = sum(c * q[dof] ** k for dof, cs in coupling.terms.items() for k, c in enumerate(cs, 1)) - coupling.offset
        assert d.efc_pos[rows] == pytest.approx([ours], abs=1e-12)
