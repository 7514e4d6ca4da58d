"""One table: what each attribute of MJCF does to the motion here.

    acts       the motion changes with it as in MuJoCo
    declared   it would change the motion and does not act, or not in every model: then the report's `not_simulated`
               has a line
    rigid      softness of MuJoCo's solver: here limits, closures and contacts are met exactly, and the report says so
    without    no effect on motion: names, looks, sensors, settings of MuJoCo's own methods and files

Attributes of `<default>` do what those of their elements do. A test reads MuJoCo's own schema, and fails for an
attribute without a row.
"""

from __future__ import annotations

from typing import NamedTuple

_TURN = "quat axisangle euler xyaxes zaxis"
_SOFT = "solref solimp"
_SOFT_LIMIT = "solreflimit solimplimit solreffriction solimpfriction"


class Effects(NamedTuple):
    """The attributes of an element by what they do."""

    acts: str = ""
    declared: str = ""
    rigid: str = ""
    without: str = ""


_ACTUATOR = Effects(
    acts="joint jointinparent tendon gear ctrllimited ctrlrange forcelimited forcerange inheritrange armature damping "
    "kp kv dampratio biastype gainprm biasprm class",
    declared="site refsite body slidersite cranksite cranklength delay nsample interp dyntype gaintype dynprm actdim "
    "actearly actlimited actrange lengthrange timeconst tausmooth area diameter bias range force scale lmin lmax vmax "
    "fpmax fvmax gain ki imax slewmax posrange input ffrange velrange motorconst resistance inductance nominal "
    "saturation cogging controller lugre thermal",
    without="name group user",
)
_TENDON = Effects(
    acts="class limited range stiffness damping springlength actuatorfrclimited actuatorfrcrange",
    declared="frictionloss armature springyield margin",
    rigid=_SOFT_LIMIT,
    without="name group user material rgba width",
)
TABLE: dict[str, Effects] = {
    "mujoco": Effects(without="model"),
    "compiler": Effects(
        acts="angle autolimits balanceinertia boundinertia boundmass eulerseq inertiafromgeom inertiagrouprange "
        "settotalmass alignfree coordinate conflict",
        without="assetdir meshdir texturedir strippath discardvisual fusestatic usethread savecanonical savecompiled "
        "saveinertial passthrough fitaabb",
    ),
    "option": Effects(
        acts="gravity",
        declared="density viscosity wind actuatorgroupdisable",
        without="timestep integrator solver iterations tolerance ls_iterations ls_tolerance noslip_iterations "
        "noslip_tolerance ccd_iterations ccd_tolerance sdf_initpoints sdf_iterations sleep_tolerance cone jacobian "
        "impratio magnetic o_friction o_margin o_solimp o_solref",
    ),
    "option/flag": Effects(
        acts="gravity equality constraint spring damper frictionloss contact filterparent",
        declared="actuation clampctrl limit override",
        without="autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase multiccd nativeccd "
        "refsafe sensor sleep speculative warmstart",
    ),
    "default": Effects(acts="class"),
    "asset/mesh": Effects(
        acts="class file inertia scale vertex face refpos refquat builtin params",
        without="name maxhullvert content_type normal texcoord smoothnormal material",
    ),
    "asset/hfield": Effects(acts="size elevation nrow ncol", without="name file content_type"),
    "asset/model": Effects(acts="file", without="name content_type"),
    "worldbody": Effects(acts="childclass"),
    "body": Effects(acts=f"childclass pos {_TURN} gravcomp mocap", without="name user simple fuse sleep"),
    "frame": Effects(acts=f"childclass pos {_TURN} scale massscale", without="name"),
    "replicate": Effects(acts=f"count sep offset childclass {_TURN}"),
    "body/inertial": Effects(acts=f"pos {_TURN} mass diaginertia fullinertia"),
    "body/joint": Effects(
        acts="class type pos axis ref armature damping stiffness springref springdamper range limited "
        "actuatorfrcrange actuatorfrclimited",
        declared="frictionloss margin springyield actuatorgravcomp",
        rigid=_SOFT_LIMIT,
        without="name group user",
    ),
    "body/freejoint": Effects(acts="align", without="name group"),
    "body/geom": Effects(
        acts=f"class type size fromto pos {_TURN} mass density shellinertia mesh hfield fitscale group friction condim "
        "margin contype conaffinity priority surfacevel",
        declared="adhesion fluidshape fluidcoef",
        rigid=f"{_SOFT} solmix",
        without="name material rgba user castshadow gap",
    ),
    "body/attach": Effects(acts="model body frame prefix"),
    "body/site": Effects(acts=f"class pos {_TURN} fromto", without="name type size mesh rgba material group user"),
    "contact/pair": Effects(
        acts="class geom1 geom2 condim friction margin", declared="adhesion", rigid=f"{_SOFT} solreffriction",
        without="name gap",
    ),
    "contact/exclude": Effects(acts="body1 body2", without="name"),
    "tendon/spatial": _TENDON,
    "tendon/fixed": _TENDON,
    "tendon/spatial/site": Effects(acts="site"),
    "tendon/spatial/geom": Effects(declared="geom sidesite"),
    "tendon/spatial/pulley": Effects(declared="divisor"),
    "tendon/fixed/joint": Effects(acts="joint coef"),
    "equality/connect": Effects(acts="class active body1 body2 anchor site1 site2", rigid=_SOFT, without="name"),
    "equality/weld": Effects(
        acts="class active body1 body2 anchor relpose site1 site2", rigid=f"{_SOFT} torquescale", without="name"
    ),
    "equality/joint": Effects(acts="class active joint1 joint2 polycoef", rigid=_SOFT, without="name"),
    "equality/tendon": Effects(acts="class active tendon1 tendon2 polycoef", rigid=_SOFT, without="name"),
    "actuator": _ACTUATOR,
    "keyframe/key": Effects(without="name qpos qvel time act ctrl mpos mquat plastic"),
}  # fmt: skip
WITHOUT = (
    "visual", "statistic", "size", "sensor", "custom", "compiler/lengthrange", "asset/texture", "asset/skin",
    "asset/material", "deformable/skin", "default/texture", "default/material", "default/camera", "default/light",
    "body/camera", "body/light",
)  # fmt: skip
"""Elements without any effect on motion, with all that is inside them."""
DECLARED = ("deformable/flex", "body/flexcomp", "equality/flex", "equality/flexstrain", "extension")
"""Elements that are not simulated at all; so are plugins, which are refused, or with `lenient` declared."""
_DEFAULTS = {"joint": "body", "geom": "body", "site": "body", "pair": "contact", "mesh": "asset"}


def effect_of(key: str, attribute: str) -> str | None:
    """The effect of an attribute of an element, by the key of its handler; None without a row.

    >>> effect_of("body/joint", "stiffness"), effect_of("default/joint", "margin"), effect_of("body/joint", "colour")
    ('acts', 'declared', None)
    """
    if any(key == each or key.startswith(f"{each}/") for each in WITHOUT):
        return "without"
    if "plugin" in key.split("/") or any(key == each or key.startswith(f"{each}/") for each in DECLARED):
        return "declared"
    for row in _rows(key):
        for effect, names in row._asdict().items():
            if attribute in names.split():
                return str(effect)
    return None


def _rows(key: str) -> list[Effects]:
    """The rows of an element: of one in <default> those of what it is the default of."""
    section, _, tag = key.partition("/")
    if section == "default" and tag in _DEFAULTS:
        return [TABLE[f"{_DEFAULTS[tag]}/{tag}"]]
    if section == "default" and tag in ("equality", "tendon"):
        return [row for each, row in TABLE.items() if each.startswith(f"{tag}/")]
    if tag and "/" not in tag and section in ("default", "actuator"):
        return [_ACTUATOR]
    return [TABLE[key]] if key in TABLE else []
