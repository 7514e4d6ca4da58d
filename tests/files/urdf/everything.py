"""One file with every element that is handled."""

SHAPE = """
<{role} name="shape"><origin xyz="0 0 0.1" rpy="0 0 0.1"/><geometry><{kind} {size}/></geometry>
<material name="m"><color rgba="1 0 0 1"/><texture filename="m.png"/></material></{role}>"""
SIZES = {
    "box": 'size="1 1 1"',
    "sphere": 'radius="1"',
    "cylinder": 'radius="1" length="1"',
    "capsule": 'radius="1" length="1"',
    "mesh": 'filename="m.stl" scale="1 1 1"',
}
SHAPES = "".join(
    SHAPE.format(role=role, kind=kind, size=size) for role in ("visual", "collision") for kind, size in SIZES.items()
)

EVERYTHING = f"""<robot name="all">
<material name="paint"><color rgba="0 1 0 1"/><texture filename="p.png"/></material>
<link name="base"><inertial><origin xyz="0 0 0.1" rpy="0.1 0 0"/><mass value="1"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>{SHAPES}
<contact><lateral_friction value="1"/></contact><gazebo><a b="1"/></gazebo><sensor name="s"/></link>
<link name="arm"/><link name="hand"/>
<joint name="elbow" type="revolute"><origin xyz="0 0 1" rpy="0 0 0"/><parent link="base"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/><dynamics damping="1" friction="1"/>
<safety_controller k_velocity="1"/><calibration rising="0"/><gazebo><a/></gazebo></joint>
<joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/><mimic joint="elbow" multiplier="2"/>
<joint_properties damping="1" friction="0"/></joint>
<transmission name="t"><joint name="elbow"/><actuator name="m"/></transmission>
<frame name="f" link="arm" xyz="0 0 0" rpy="0 0 0"/>
<loop_joint name="l" type="continuous"><axis xyz="0 1 0"/><link1 link="base" xyz="0 0 0" rpy="0 0 0"/>
<link2 link="hand" xyz="0 0 0" rpy="0 0 0"/></loop_joint>
<gazebo reference="arm"><b>1</b></gazebo><sensor name="eye"/><ros2_control name="c"/>
<unknown what="1"><deeper/></unknown>
</robot>
"""
