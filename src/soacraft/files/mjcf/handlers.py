"""The handlers of MJCF: for each element, by its path, what becomes of it and of its attributes.

An element without a handler is not given to MuJoCo and shows in the report as ignored; so does an attribute that its
handler does not know.
"""

from __future__ import annotations

from collections.abc import Callable

from soacraft.files.mjcf import assets
from soacraft.files.mjcf.actuation import ACTUATOR_HANDLERS
from soacraft.files.mjcf.cameras import camera, default_camera
from soacraft.files.mjcf.guards import refuse_plugin
from soacraft.files.mjcf.rules import rule
from soacraft.files.mjcf.walk import Walk
from soacraft.files.xml_tree import Element

Handler = Callable[[Element, Walk], dict[str, str] | None]

SOFTNESS = "softness is kept; here the constraint is met exactly"
_TURN = "quat axisangle euler xyaxes zaxis"
_SOFT = "solref solimp"
_SHAPE = f"class type size fromto pos {_TURN} mass density shellinertia group mesh hfield fitscale"
_TOUCH = f"friction condim margin gap {_SOFT} solmix priority surfacevel fluidshape fluidcoef"
_PAIR = "condim friction solref solimp solreffriction margin gap"
_SOLVER = "solreflimit solimplimit solreffriction solimpfriction"
_KEPT = f"range limited frictionloss {_SOLVER} actuatorfrclimited"
_JOINT_EFFECTS = "springyield actuatorgravcomp"
_JOINT = "type pos axis armature damping stiffness springref springdamper"
_PULL = "stiffness damping springlength"
_TENDON = "springyield frictionloss armature margin"
_BOUNDS = f"limited {_SOLVER} actuatorfrclimited"
_LIMITS = dict.fromkeys(("range", "limited"), "acts in sc.sim.Contact and sc.sim.JointLimit")
_RIGID = dict.fromkeys((*_SOLVER.split(), *_SOFT.split(), "solmix"), SOFTNESS)
_ACTS = dict.fromkeys(("stiffness", "damping", "springref", "springdamper"), "acts: is in passive of the body")
_PULLS = dict.fromkeys(_PULL.split(), "acts where the tendon is fixed: is in mb.tendons") | _LIMITS | _RIGID
_SPANS = dict.fromkeys(_PULL.split(), "acts where its path is of sites alone: is in mb.springs") | _LIMITS | _RIGID
_COORDINATE = {"ref": "coordinate = qpos - ref"} | _LIMITS | _ACTS | _RIGID
_HARD = dict.fromkeys(("solref", "solimp", "torquescale"), SOFTNESS)
_FREE = {"align": "as MuJoCo does"}

_SETTINGS = (
    "timestep integrator solver iterations tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance "
    "ccd_iterations ccd_tolerance mpr_iterations mpr_tolerance sdf_initpoints sdf_iterations sleep_tolerance cone "
    "jacobian impratio magnetic apirate wind o_friction o_margin o_solimp o_solref"
)
_MESH = "class inertia maxhullvert scale"
_MESH_FILE = f"name {_MESH} builtin params content_type vertex face normal texcoord refpos refquat smoothnormal"
_SENSORS = (
    "touch accelerometer velocimeter gyro force torque magnetometer camprojection rangefinder jointpos jointvel "
    "tendonpos tendonvel actuatorpos actuatorvel actuatorfrc jointactuatorfrc tendonactuatorfrc ballquat ballangvel "
    "jointlimitpos jointlimitvel jointlimitfrc tendonlimitpos tendonlimitvel tendonlimitfrc framepos framequat "
    "framexaxis frameyaxis framezaxis framelinvel frameangvel framelinacc frameangacc subtreecom subtreelinvel "
    "subtreeangmom insidesite distance normal fromto contact e_potential e_kinetic clock tactile user"
).split()

_nothing = rule("ignored", rest="ignored", given=False, note="has no effect on motion")
_section = rule("used")
_plugin = rule(before=refuse_plugin)
_record_only = rule("recorded", rest="recorded", given=False)

HANDLERS: dict[str, Handler] = {
    "mujoco": rule(used="model"),
    "include": rule(used="file", given=False, note="its elements take its place"),
    "compiler": rule(
        used="angle autolimits balanceinertia boundinertia boundmass eulerseq inertiafromgeom inertiagrouprange "
        "settotalmass alignfree coordinate fitaabb conflict assetdir meshdir texturedir strippath",
        held="assetdir meshdir texturedir strippath",
        ignored="discardvisual fusestatic usethread savecanonical savecompiled saveinertial passthrough",
        notes={"fusestatic": "fixed bodies are kept apart", "discardvisual": "visual shapes are kept"},
    ),
    "compiler/lengthrange": rule("recorded", rest="recorded", given=False, before=assets.recorded("lengthrange")),
    "option": rule(
        later="gravity", effects="density viscosity actuatorgroupdisable",
        recorded=_SETTINGS, held=f"{_SETTINGS} density viscosity actuatorgroupdisable",
        notes=dict.fromkeys(("density", "viscosity"), "forces of the medium are not simulated"),
        before=assets.option,
    ),
    "option/flag": rule(
        used="gravity equality constraint spring damper passive frictionloss contact",
        recorded="autoreset diagexact energy eulerdamp filterparent fwdinv invdiscrete ipc "
        "island midphase multiccd nativeccd refsafe sensor sleep speculative warmstart",
        later="actuation clampctrl limit override",
        held="actuation autoreset clampctrl diagexact energy eulerdamp filterparent fwdinv invdiscrete ipc "
        "island midphase multiccd nativeccd override refsafe sensor sleep speculative warmstart",
        before=assets.flag,
    ),
    "size": rule("ignored", rest="ignored", given=False, note="sizes follow from the model"),
    "statistic": _nothing,
    "visual": _nothing,
    **{f"visual/{tag}": _nothing for tag in "global quality headlight map scale rgba".split()},
    # -- defaults
    "default": rule(used="class"),
    "default/mesh": rule(used=_MESH),
    "default/texture": _nothing,
    "default/material": rule(recorded="rgba emission metallic reflectance roughness shininess specular",
                             ignored="texrepeat texuniform texture"),
    "default/material/layer": _nothing,
    "default/joint": rule(used=_JOINT, converted="ref", ignored="group user",
                          effects=f"{_JOINT_EFFECTS}", recorded=f"{_KEPT} actuatorfrcrange margin", notes=_COORDINATE),
    "default/geom": rule(used=_SHAPE, recorded=f"material rgba contype conaffinity {_TOUCH}", effects="adhesion",
                         ignored="user castshadow", notes=_RIGID),
    "default/site": rule(used=f"pos {_TURN} fromto", seen="type size", ignored="rgba material group user"),
    "default/camera": default_camera(),
    "default/light": _nothing,
    "default/pair": rule(recorded=_PAIR, effects="adhesion", notes=_RIGID),
    "default/equality": rule(used="active", recorded=_SOFT, notes=_HARD),
    "default/tendon": rule(recorded=f"range actuatorfrcrange {_BOUNDS}", ignored="group material rgba width user",
                           converted=_PULL, effects=_TENDON, notes=_PULLS),
    # -- assets
    "asset": _section,
    "asset/mesh": rule(used=_MESH_FILE, ignored="material", later="file", before=assets.mesh),
    "asset/mesh/plugin": _plugin,
    "asset/hfield": rule("recorded", used="name size", recorded="nrow ncol file elevation content_type",
                         held="file elevation content_type", before=assets.hfield),
    "asset/texture": rule("recorded", rest="recorded", given=False, before=assets.texture),
    "asset/skin": rule("recorded", rest="recorded", given=False, before=assets.skin),
    "asset/skin/bone": _record_only,
    "asset/material": rule("recorded", used="name class", held="texture", ignored="texrepeat texuniform",
                           recorded="rgba emission metallic reflectance roughness shininess specular texture",
                           before=assets.material),
    "asset/material/layer": rule("recorded", recorded="role texture", given=False),
    "asset/model": rule(used="name file content_type", before=assets.model),
    # -- bodies
    "worldbody": rule(used="childclass"),
    "body": rule(
        used=f"name childclass pos {_TURN}", converted="mocap gravcomp", ignored="user simple fuse sleep",
        notes={"mocap": "is fixed where it is", "fuse": "fixed bodies are kept apart",
               "gravcomp": "acts: is gravity_compensation of the body"},
    ),
    "frame": rule(used=f"name childclass pos {_TURN} scale massscale"),
    "replicate": rule("converted", used=f"count sep offset childclass {_TURN}", note="is repeated"),
    "body/inertial": rule(used=f"pos {_TURN} mass diaginertia fullinertia", before=assets.inertial),
    "body/joint": rule(
        used=f"name class {_JOINT}", converted="ref", recorded=_KEPT, ignored="group user",
        effects=_JOINT_EFFECTS, later="actuatorfrcrange margin", notes=_COORDINATE,
    ),
    "body/freejoint": rule(used="name align", ignored="group", notes=_FREE),
    "body/geom": rule(used=f"name {_SHAPE}", recorded=f"material rgba contype conaffinity {_TOUCH}", effects="adhesion",
                      ignored="user castshadow", notes=_RIGID),
    "body/geom/plugin": _plugin,
    "body/attach": rule("converted", used="model body frame prefix", note="is put in its place"),
    "body/site": rule("converted", used=f"name class pos {_TURN} fromto", note="is a node",
                      seen="type size mesh", ignored="rgba material group user"),
    "body/camera": camera(assets.recorded("camera")),
    "body/light": rule("recorded", rest="recorded", given=False, before=assets.recorded("light")),
    "body/plugin": _plugin,
    # -- what ties bodies together
    "contact": _section,
    "contact/pair": rule("recorded", used="name class geom1 geom2", recorded=_PAIR, effects="adhesion",
                         note="acts in sc.sim.Contact", notes=_RIGID),
    "contact/exclude": rule("recorded", used="name body1 body2", note="acts in sc.contact.Scene"),
    "tendon": _section,
    "tendon/spatial": rule("recorded", used="name class", converted=_PULL, effects=_TENDON,
                           recorded=_BOUNDS, later="range actuatorfrcrange", notes=_SPANS,
                           ignored="group material rgba width user"),
    "tendon/spatial/site": rule("recorded", recorded="site"),
    "tendon/spatial/geom": rule("recorded", recorded="geom sidesite"),
    "tendon/spatial/pulley": rule("recorded", recorded="divisor"),
    "tendon/fixed": rule("recorded", used="name class", converted=_PULL, effects=_TENDON,
                         recorded=_BOUNDS, later="range actuatorfrcrange", ignored="group user", notes=_PULLS),
    "tendon/fixed/joint": rule(used="joint coef"),
    "equality": _section,
    "equality/connect": rule("converted", used="name class active body1 body2 anchor site1 site2", recorded=_SOFT,
                             note="is a loop with a spherical hinge", notes=_HARD),
    "equality/weld": rule("converted", used="name class active body1 body2 anchor relpose site1 site2",
                          recorded=f"{_SOFT} torquescale", note="is a loop with a weld", notes=_HARD),
    "equality/joint": rule("converted", used="name class active joint1 joint2 polycoef", recorded=_SOFT,
                           note="is a coupling of coordinates", notes=_HARD),
    "equality/tendon": rule("converted", used="name class active tendon1 tendon2 polycoef", recorded=_SOFT,
                            note="is a coupling of coordinates where it is linear", notes=_HARD),
    **ACTUATOR_HANDLERS,
    # -- what is kept by name
    "sensor": _section,
    **{f"sensor/{tag}": rule("recorded", rest="recorded", given=False, before=assets.recorded("sensor"))
       for tag in _SENSORS},
    "sensor/plugin": _plugin,
    "custom": _section,
    "custom/numeric": rule("recorded", rest="recorded", given=False, before=assets.recorded("numeric")),
    "custom/text": rule("recorded", rest="recorded", given=False, before=assets.recorded("text")),
    "custom/tuple": rule("recorded", rest="recorded", given=False, before=assets.recorded("tuple")),
    "custom/tuple/element": _record_only,
    "keyframe": _section,
    "keyframe/key": rule(
        "converted", used="name", converted="qpos qvel", recorded="time act ctrl mpos mquat", ignored="plastic",
        note="is a keyframe in our coordinates",
        notes={"qpos": "quaternions are [x, y, z, w], coordinate = qpos - ref",
               "qvel": "a free hinge has [omega; v] in its own axes"},
    ),
    "extension": _section,
    "extension/plugin": _plugin,
    "deformable": _section,
    "deformable/skin": rule("recorded", rest="recorded", given=False, before=assets.skin),
    "deformable/skin/bone": _record_only,
}  # fmt: skip
