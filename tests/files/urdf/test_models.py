"""Published numbers of the model files."""

import numpy as np
import pytest
from tests.files.urdf.models import FILES, MODELS

from soacraft import dynamics as dyn
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Free


@pytest.mark.parametrize(
    ("file", "mass"),
    [("simple_humanoid/simple_humanoid.urdf", 130.8), ("husky/husky.urdf", 44.003), ("husky/husky_clean.urdf", 44.003),
     ("minitaur/minitaur.urdf", 6.0)],
)  # fmt: skip
def test_total_mass(file, mass):
    for merge_fixed in (False, True):
        assert read_urdf(MODELS / file, merge_fixed=merge_fixed).total_mass == pytest.approx(mass, rel=1e-12)


def test_humanoid_at_rest():
    """The force that holds a free humanoid in its neutral configuration (Pinocchio's tests), g = 9.8."""
    expected = [
        *(0, 0, 1281.84, 0, -40.5132, 0), 4.4492, -1.5386, 0, -1.5386, -1.5386, 0, -4.4492, -1.5386, 0, -1.5386,
        -1.5386, 0, -37.436, 0, 0, -2.548, 0, 0, 0.392, 0, 0.392, 0, -2.548, 0, 0, 0.392, 0, 0.392, 0,
    ]  # fmt: skip
    mb = read_urdf(MODELS / "simple_humanoid" / "simple_humanoid.urdf", root=Free())
    mb.gravity = (0, 0, -9.8)
    force = dyn.inverse_dynamics(mb, mb.neutral(), np.zeros(mb.nv), np.zeros(mb.nv))
    base = mb.body("WAIST_LINK0").v_slice
    np.testing.assert_allclose([*force[base][3:], *force[base][:3]], expected[:6], atol=1e-10)
    rest = [float(force[mb.dof_names.index(name)]) for name in HUMANOID]
    np.testing.assert_allclose(rest, expected[6:], atol=1e-10)


LEG, ARM = "HIP_R HIP_P HIP_Y KNEE ANKLE_P ANKLE_R", "SHOULDER_P SHOULDER_R SHOULDER_Y ELBOW WRIST_Y WRIST_P WRIST_R"
HUMANOID = [
    *(f"{side}LEG_{joint}" for side in "LR" for joint in LEG.split()),
    *("WAIST_P", "WAIST_R", "CHEST"),
    *(f"{side}ARM_{joint}" for side in "LR" for joint in ARM.split()),
]
"""The joints in the order of the printed list."""


def test_pose_of_the_iiwa():
    """The end of the arm (Drake's benchmark)."""
    for file in ("kuka_iiwa_robot.urdf", "kuka_iiwa_robot_limits.urdf"):
        mb = read_urdf(MODELS / "drake_kuka_iiwa" / file)
        mb.q = np.radians([60, 30, 60, 30, 60, 30, 60])
        tip = mb.pose(mb.bodies[-1]).translation
        np.testing.assert_allclose(tip, [0.2970356451892219, 0.1727696964662288, 1.154681973689345], atol=1e-14)


def test_every_file_is_read():
    assert len(FILES) == 16
    assert {path.split("/")[0] for path in FILES} >= {"drake_acrobot", "husky", "minitaur", "strandbeest"}
