"""The URDF files of the tests, and small ones made of text."""

from pathlib import Path

from soacraft.model.hinges import Free, Weld

MODELS = Path(__file__).parents[2] / "data" / "models"
FILES = sorted(path.relative_to(MODELS).as_posix() for path in MODELS.glob("*/*.urdf"))
ON_WORLD = {"drake_acrobot/acrobot.urdf", "drake_acrobot/acrobot_limits.urdf"}
CASES = [(file, root) for file in FILES for root in (Weld(), Free()) if file not in ON_WORLD or isinstance(root, Weld)]
"""Every file with a fixed and a free base; what hangs on an undeclared world has no free base."""

INERTIAL = """<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.4 0.5 -0.6"/><mass value="2"/>
<inertia ixx="0.5" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.3"/></inertial>"""


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>\n'


def joint(name, kind, parent, child, inside=""):
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>\n'


def robot(*parts, name="test"):
    return f'<robot name="{name}">\n{"".join(parts)}</robot>\n'


def two_links(inside="", kind="revolute", base=INERTIAL, tip=INERTIAL):
    """A base and a tip, joined by one joint with something inside."""
    return robot(link("base", base), link("tip", tip), joint("j", kind, "base", "tip", inside))


def write(folder, text, name="robot.urdf"):
    """The text as a file in a folder."""
    path = folder / name
    path.write_text(text) if isinstance(text, str) else path.write_bytes(text)
    return path
