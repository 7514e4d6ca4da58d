"""An SDF file of ours that uses every element that is read."""

INERTIAL = """<inertial><pose relative_to='tool'>0 0 0.1 0.1 0 0</pose><mass>2</mass>
<inertia><ixx>0.3</ixx><iyy>0.3</iyy><izz>0.2</izz><ixy>0.01</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>"""
SHAPES = """<visual name='v'><pose relative_to='tool'>0 0 0 0 0 0</pose>
<geometry><box><size>1 1 1</size></box></geometry>
<material><diffuse>1 0 0 1</diffuse></material></visual>
<visual name='w'><geometry><plane><normal>0 1 1</normal><size>1 1</size></plane></geometry></visual>
<collision name='c'><geometry><capsule><radius>0.1</radius><length>1</length></capsule></geometry></collision>
<collision name='d'><geometry><mesh><uri>model://m/x.stl</uri><scale>1 1 2</scale></mesh></geometry></collision>
<collision name='e'><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
<sensor name='imu' type='imu'><update_rate>10</update_rate></sensor>"""
AXIS = """<axis><xyz expressed_in='tool'>0 0.6 0.8</xyz><limit><lower>-1</lower><upper>1</upper><effort>3</effort>
<velocity>4</velocity></limit><dynamics><damping>0.1</damping><friction>0.2</friction>
<spring_stiffness>1</spring_stiffness><spring_reference>0.1</spring_reference></dynamics></axis>"""
EVERYTHING = f"""<?xml version='1.0'?>
<sdf version='1.10'><world name='lab'><gravity>0 0 -9.8</gravity>
<model name='robot' canonical_link='a'><pose>0 0 1 0 0 0.5</pose>
<link name='a'>{INERTIAL}{SHAPES}</link>
<link name='b'><pose relative_to='a' rotation_format='quat_xyzw'>0 0 1 0 0 0.6 0.8</pose></link>
<link name='c'><pose relative_to='j1' degrees='true'>0 0 1 0 90 0</pose><inertial><mass>1</mass></inertial></link>
<link name='d'/><link name='e'/><link name='f'/><link name='g'/>
<frame name='tool' attached_to='b'><pose>0 0 1 0 0 0</pose></frame>
<frame name='deep' attached_to='tool'><pose relative_to='a'>0 0 1 0 0 0</pose></frame>
<joint name='root' type='fixed'><parent>world</parent><child>a</child></joint>
<joint name='j1' type='revolute'><pose relative_to='b'>0 0 0 0 0 0</pose>
<parent>a</parent><child>b</child>{AXIS}</joint>
<joint name='j2' type='prismatic'><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz><mimic joint='j1'>
<multiplier>2</multiplier><offset>0.1</offset><reference>0.2</reference></mimic></axis></joint>
<joint name='j3' type='universal'><parent>c</parent><child>d</child><axis><xyz>1 0 0</xyz></axis>
<axis2><xyz>0 1 0</xyz></axis2></joint>
<joint name='j4' type='ball'><parent>d</parent><child>e</child></joint>
<joint name='j5' type='screw'><parent>e</parent><child>f</child><axis><xyz>0 0 1</xyz></axis>
<screw_thread_pitch>0.1</screw_thread_pitch></joint>
<joint name='j6' type='continuous'><parent>f</parent><child>g</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name='loop' type='ball'><parent>d</parent><child>g</child></joint>
<joint name='gear' type='gearbox'><parent>a</parent><child>b</child><gearbox_ratio>2</gearbox_ratio></joint>
<model name='hand' placement_frame='palm'><pose relative_to='tool'>0 0 0 0 0 0</pose><link name='palm'/></model>
<include merge='false'><uri>part.sdf</uri><name>part</name><pose>1 0 0 0 0 0</pose><static>false</static></include>
<joint name='grip' type='fixed'><parent>c</parent><child>hand::palm</child></joint>
<plugin name='p' filename='p.so'><gain>1</gain></plugin></model>
<model name='wall'><static>true</static><link name='x'/></model></world></sdf>"""
PART = "<sdf version='1.9'><model name='thing'><link name='x'/><frame name='f'/></model></sdf>"
