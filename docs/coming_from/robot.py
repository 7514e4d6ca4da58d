"""The robot of these pages: a floating body that carries an arm of two links, as URDF and as MJCF."""

import tempfile
from pathlib import Path

URDF = """
<robot name="drone">
  <link name="hull">
    <inertial><origin xyz="0.02 0 0.01"/><mass value="4.0"/>
      <inertia ixx="0.08" ixy="0.002" ixz="0" iyy="0.07" iyz="0" izz="0.12"/></inertial>
  </link>
  <link name="upper">
    <inertial><origin xyz="0 0 -0.15"/><mass value="0.6"/>
      <inertia ixx="0.006" ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.001"/></inertial>
  </link>
  <link name="fore">
    <inertial><origin xyz="0 0 -0.1"/><mass value="0.4"/>
      <inertia ixx="0.003" ixy="0" ixz="0" iyy="0.003" iyz="0" izz="0.0005"/></inertial>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute">
    <parent link="hull"/><child link="upper"/><origin xyz="0.05 0 -0.05"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="20" velocity="5"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="fore"/><origin xyz="0 0 -0.3"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="20" velocity="5"/>
  </joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0 0 -0.2"/></joint>
</robot>
"""
MJCF = """
<mujoco model="drone">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.80665"/>
  <worldbody>
    <body name="hull">
      <freejoint name="root"/>
      <inertial pos="0.02 0 0.01" mass="4.0" fullinertia="0.08 0.07 0.12 0.002 0 0"/>
      <body name="upper" pos="0.05 0 -0.05">
        <joint name="shoulder" axis="0 1 0"/>
        <inertial pos="0 0 -0.15" mass="0.6" diaginertia="0.006 0.006 0.001"/>
        <body name="fore" pos="0 0 -0.3">
          <joint name="elbow" axis="1 0 0"/>
          <inertial pos="0 0 -0.1" mass="0.4" diaginertia="0.003 0.003 0.0005"/>
          <site name="tool" pos="0 0 -0.2"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def written(text: str, name: str) -> str:
    """A file with the text, in a new folder."""
    path = Path(tempfile.mkdtemp()) / name
    path.write_text(text)
    return str(path)
