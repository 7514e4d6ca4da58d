"""Files that mean harm, through `load`: a clear answer in bounded time and memory, and nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import soacraft as sc
from soacraft.errors import ModelFileError
from soacraft.files.native import to_json

SECONDS = 60
MEGABYTES = 500
LINK = "<link name='a'/>"
INERTIAL = (
    "<inertial><mass value='{}'/><inertia ixx='{}' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"  # of a link
)
LAUGHS = "<!DOCTYPE lol [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {new} '{10 * f'&{old};'}'>" for old, new in zip("abcdefghi", "bcdefghij", strict=True)
)


def urdf(inside="", head=""):
    return f"{head}<robot name='r'>\n{inside}\n</robot>"


def mjcf(inside="", head=""):
    return f"{head}<mujoco>\n{inside}\n</mujoco>"


def body(inside):
    return mjcf(f"<worldbody>\n\n{inside}\n</worldbody>")


def native(**changes):
    """A sound model with some of its members changed; those that are None are left out."""
    mb = sc.Multibody("arm")
    mb.add_body("upper", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 1), None))
    mb.add_body("lower", "upper", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 1), None))
    document = json.loads(to_json(mb)) | changes
    return json.dumps({key: value for key, value in document.items() if value is not None})


def bodies(**changes):
    """The sound model with the second body changed."""
    both = json.loads(native())["bodies"]
    return native(bodies=[both[0], both[1] | changes])


def joint(name, parent, child, inside=""):
    return f"<joint name='{name}' type='revolute'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>"


def linked(*joints, names="ab"):
    """Links of one letter, and joints on lines 3 and on."""
    return urdf("".join(f"<link name='{name}'/>" for name in names) + "\n" + "\n".join(joints))


def asset(path):
    """A mesh, and a body whose inertia comes from it."""
    ball = "<worldbody><body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>"
    return mjcf(f"<asset>\n<mesh name='m' file='{path}'/></asset>{ball}")


def include(path):
    return mjcf(f"<include file='{path}'/>")


WRONG = {
    # -- entities and declarations
    "entities, URDF": ("m.urdf", LAUGHS + "]>\n" + urdf("<link name='&j;'/>"), "m.urdf:1: a document type declaration"),
    "entities, MJCF": ("m.xml", LAUGHS + "]>\n" + mjcf("&j;"), "m.xml:1: a document type declaration ('lol')"),
    "a file as an entity": (
        "m.urdf",
        urdf("&x;", "<!DOCTYPE r [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"),
        "m.urdf:1: a document type declaration",
    ),
    "a DTD from elsewhere": ("m.xml", mjcf(head="\n<!DOCTYPE m SYSTEM 'http://x/y'>"), "m.xml:2: a document type"),
    "an unknown entity": ("m.urdf", urdf("<link name='&x;'/>"), "m.urdf:2: is not well-formed XML inside <robot"),
    "an instruction": ("m.urdf", urdf("<?php x ?>"), "m.urdf:2: the processing instruction <?php ...?> is not read"),
    # -- what is no text
    "broken UTF-8, URDF": (
        "m.urdf",
        urdf("\ud800").encode("utf-8", "surrogatepass"),
        "m.urdf:2: byte 17 (0xed) is not",
    ),
    "broken UTF-8, MJCF": ("m.xml", b"<mujoco>\n\n<\xff/></mujoco>", "m.xml:3: byte 11 (0xff) is not UTF-8"),
    "broken UTF-8, native": ("m.json", native().encode().replace(b"upper", b"\xff"), "m.json: is not UTF-8"),
    "UTF-16": ("m.urdf", urdf(LINK).encode("utf-16"), "m.urdf:1: byte 0 (0xff) is not UTF-8"),
    "another encoding": (
        "m.urdf",
        urdf(LINK, "<?xml version='1.0' encoding='latin-1'?>"),
        "m.urdf:1: the encoding 'latin-1' is not read",
    ),
    "NUL": ("m.urdf", urdf("\0"), "m.urdf:2: is not well-formed XML"),
    "nothing, URDF": ("m.urdf", "", "m.urdf: is empty"),
    "nothing, MJCF": ("m.xml", " \n ", "m.xml: is empty"),
    "nothing, native": ("m.json", "", "m.json: Input data was truncated"),
    # -- nesting
    "deep, URDF": ("m.urdf", "<a>" * 100_000, "m.urdf:1: <a>: elements are nested more than 256 deep"),
    "deep, MJCF": ("m.xml", body("<body>" * 100_000), "m.xml:4: <body>: elements are nested more than 256 deep"),
    "deep arrays": ("m.json", native()[:-1] + ', "x": ' + "[" * 100_000, "m.json: is nested too deeply"),
    "deep objects": ("m.json", native()[:-1] + ', "x": ' + '{"a":' * 100_000, "m.json: is nested too deeply"),
    "deep attributes": (
        "m.json",
        native(records=[{"kind": "k", "name": "", "attributes": {"x": 0}}]).replace(
            '"x": 0', f'"x": {"[" * 900}{"]" * 900}'
        ),
        "m.json: is nested too deeply",
    ),
    # -- numbers
    "nan, URDF": ("m.urdf", linked(joint("j", "a", "b", "<origin xyz='0 nan 0'/>")), 'm.urdf:3: <origin>: xyz="0 nan'),
    "nan, MJCF": ("m.xml", body("<geom pos='0 nan 0'/>"), 'm.xml:4: <geom>: pos="0 nan 0" must be finite numbers'),
    "nan, native": ("m.json", native(gravity=[0, float("nan"), 0]), "m.json: JSON is malformed"),
    "inf, URDF": ("m.urdf", linked(joint("j", "a", "b", "<origin rpy='inf 0 0'/>")), 'm.urdf:3: <origin>: rpy="inf'),
    "inf, MJCF": ("m.xml", body("<body><joint armature='inf'/></body>"), 'm.xml:4: <joint>: armature="inf" must be'),
    "inf, native": ("m.json", native(gravity=[0, float("inf"), 0]), "m.json: JSON is malformed"),
    "too large, URDF": ("m.urdf", linked(joint("j", "a", "b", "<axis xyz='0 1e999 0'/>")), 'm.urdf:3: <axis>: xyz="0'),
    "too large, MJCF": ("m.xml", body("<geom size='1e999'/>"), 'm.xml:4: <geom>: size="1e999" must be finite numbers'),
    "too large, native": ("m.json", native(gravity=[0, 10**400, 0]), "m.json: at $.gravity[1]: "),
    "a number of many digits": ("m.json", native().replace("9.8", "9" * 5000 + "."), "out of range"),
    "a far centre of mass": (
        "m.json",
        bodies(inertia={"mass": 1, "com": [1e200, 0, 0]}),
        "m.json: at $.bodies[1].inertia: com of an Inertia is too far away",
    ),
    "no number": ("m.urdf", linked(joint("j", "a", "b", "<axis xyz='0 one 0'/>")), "must be finite numbers, got 'one'"),
    # -- names
    "no name, URDF": ("m.urdf", urdf("<link/>"), "m.urdf:2: <link>: needs the attribute 'name'"),
    "no name, native": ("m.json", bodies(name=""), "m.json: at $.bodies[1]: the name of a body must not be empty"),
    "a name twice, URDF": (
        "m.urdf",
        urdf(f"{LINK}\n{LINK}"),
        "m.urdf:3: <link name='a'>: there is a link of this name",
    ),
    "a name twice, MJCF": (
        "m.xml",
        body("<body name='a'/>\n<body name='a'/>"),
        "m.xml:5: <body name='a'>: MuJoCo refuse",
    ),
    "a name twice, native": (
        "m.json",
        bodies(name="upper"),
        "m.json: at $.bodies[1].name: there is a body 'upper' alr",
    ),
    "a key twice": (
        "m.json",
        native().replace('"name"', '"name": "x", "name"', 1),
        "the name 'name' occurs twice in one",
    ),
    "the name of the inertial frame": (
        "m.json",
        bodies(name="inertial"),
        "m.json: at $.bodies[1]: the body name 'inertial' belongs to the inertial frame",
    ),
    "a long name, URDF": ("m.urdf", urdf(f"<link name='{'x' * 5000}'/>"), "has 5000 characters, more than 4096"),
    "a long name, MJCF": ("m.xml", body(f"<body name='{'x' * 5000}'/>"), "m.xml:4: <body name='xxx"),
    "a long tag": ("m.urdf", urdf(f"<{'x' * 5000}/>"), "has a name of more than 200 characters"),
    "a long key": ("m.json", native(**{"x" * 5000: 1}), "m.json: Object contains unknown field `xxx"),
    "a format for printing": (
        "m.xml",
        body("<geom class='%s%n%x' size='1'/>"),
        "m.xml:4: <geom>: class='%s%n%x' holds '%', which MuJoCo cannot take",
    ),
    # -- topology
    "own parent, URDF": (
        "m.urdf",
        linked(joint("j", "b", "b")),
        "m.urdf:3: <joint name='j'>: link 'b' is its own parent",
    ),
    "own parent, native": (
        "m.json",
        bodies(parent="lower"),
        "m.json: at $.bodies[1].parent: the parents of the bodies form",
    ),
    "cycle, URDF": (
        "m.urdf",
        linked(joint("j", "a", "b"), joint("k", "b", "a")),
        "the parents of the links form a circle",
    ),
    "cycle, native": (
        "m.json",
        native(
            bodies=[x | {"parent": y} for x, y in zip(json.loads(native())["bodies"], ("lower", "upper"), strict=True)]
        ),
        "m.json: at $.bodies[0].parent: the parents of the bodies form a circle (upper -> lower -> upper)",
    ),
    "two parents": (
        "m.urdf",
        linked(joint("j", "a", "c"), joint("k", "b", "c"), names="abc"),
        "m.urdf:4: <joint name='k'",
    ),
    "no parent, URDF": (
        "m.urdf",
        linked(joint("j", "x", "b")),
        "m.urdf:3: <joint name='j'>: its parent link 'x' is not",
    ),
    "no parent, native": ("m.json", bodies(parent="x"), "m.json: at $.bodies[1].parent: there is no body 'x'"),
    "no root": ("m.urdf", urdf(), "m.urdf:1: <robot name='r'>: has no <link>"),
    "mimics in a circle": (
        "m.urdf",
        linked(joint("j", "a", "b", "<mimic joint='j'/>")),
        "m.urdf:3: <mimic>: joints follow",
    ),
    # -- mass
    "negative mass, URDF": (
        "m.urdf",
        urdf(f"<link name='a'>{INERTIAL.format(-1, 1)}</link>"),
        "m.urdf:2: <mass>: a mass",
    ),
    "negative mass, MJCF": (
        "m.xml",
        body("<body><inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/></body>"),
        'm.xml:4: <inertial>: mass="-1" must not be negative',
    ),
    "negative mass, native": (
        "m.json",
        bodies(inertia={"mass": -1}),
        "m.json: at $.bodies[1].inertia: mass of an Inertia",
    ),
    "negative moment": (
        "m.urdf",
        urdf(f"<link name='a'>{INERTIAL.format(1, -1)}</link>"),
        "m.urdf:2: <inertial>: link 'a' cannot have this inertia: moment",
    ),
    "half an inertia": ("m.urdf", urdf("<link name='a'><inertial/></link>"), "m.urdf:2: <inertial>: needs a <mass>"),
    "no mass, MJCF": (
        "m.xml",
        body("<body><joint/></body>"),
        "m.xml:4: <body>: MuJoCo refuses it: mass and inertia of",
    ),
    # -- types that are others
    "a list for a name": ("m.json", native(name=[1]), "m.json: at $.name: Expected `str`, got `array`"),
    "a text for bodies": ("m.json", native(bodies="x"), "m.json: at $.bodies: Expected `array`, got `str`"),
    "an object for a number": (
        "m.json",
        native(gravity=[0, {}, 0]),
        "m.json: at $.gravity[1]: Expected `float`, got `obj",
    ),
    "null for a hinge": ("m.json", bodies(hinge=None), "m.json: at $.bodies[1].hinge: Expected `object`, got `null`"),
    "many screws": (
        "m.json",
        bodies(hinge={"kind": "Screws", "screws": [[0, 0, 1, 0, 0, 0]] * 7}),
        "m.json: at $.bodies[1].hinge.screws: Expected `array` of length <= 6",
    ),
    "a list for a model": ("m.json", "[]", "m.json: is not a soacraft model"),
    "a number for a model": ("m.json", "1", "m.json: is not a soacraft model"),
    "another version": ("m.json", native(format="soacraft-model/9"), "m.json: is of the format 'soacraft-model/9'"),
    # -- paths
    "include above": ("m.xml", include("../m.xml"), "m.xml:2: <include>: the path '../m.xml' leads out of the folders"),
    "absolute include": ("m.xml", include("/etc/passwd"), "m.xml:2: <include>: the path '/etc/passwd' is absolute"),
    "include of itself": ("m.xml", include("m.xml"), "m.xml:2: <include>: 'm.xml' includes itself"),
    "include of a folder": ("m.xml", include("."), "m.xml:2: <include>: the included file '.' is not there"),
    "attached to itself": ("m.xml", mjcf("<asset><model file='m.xml'/></asset>"), "m.xml:2: <model>: 'm.xml' attaches"),
    "a plugin": (
        "m.xml",
        mjcf("<extension><plugin plugin='x'/></extension>"),
        "m.xml:2: <plugin>: plugins are programs",
    ),
    # -- sizes
    "many copies": ("m.xml", body("<replicate count='1e9'><geom size='1'/></replicate>"), 'count="1e9" is more than'),
    "many attributes": (
        "m.urdf",
        urdf("<a " + " ".join(f"b{i}=''" for i in range(100)) + "/>"),
        "m.urdf:2: <a>: has 100",
    ),
    "many numbers": (
        "m.urdf",
        linked(joint("j", "a", "b", f"<axis xyz='{'1 ' * 10**6}'/>")),
        "must be 3 numbers, got more",
    ),
    # -- which reader
    "neither": (
        "m.xml",
        "<svg/>",
        "m.xml: its outermost element is <svg>; an .xml model is <mujoco> (MJCF), <robot> (URDF) or <sdf>",
    ),
    "MJCF in .urdf": ("m.urdf", mjcf(), "m.urdf:1: <mujoco>: the root element of a URDF file is <robot>"),
    "JSON in .xml": ("m.xml", native(), "m.xml:1: is not well-formed XML"),
    "XML in .json": ("m.json", urdf(), "m.json: JSON is malformed"),
    "another suffix": ("m.step", "<sdf/>", "it has suffix '.step'; model files are .urdf, .xacro, .sdf, .xml (MJCF,"),
}


@pytest.fixture(autouse=True)
def watchdog():
    """No case may take long; a hang ends in an error."""

    def late(*_):
        raise TimeoutError(f"not done after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder to work in, inside another."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def refusal(path, **options):
    with pytest.raises(ModelFileError) as caught:
        sc.load(path, **options)
    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 2000
    return str(caught.value)


@pytest.mark.parametrize("case", WRONG)
def test_refused_with_file_line_and_element(home, case):
    name, text, message = WRONG[case]
    path = home / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = path.read_bytes()
    assert message in refusal(path)
    assert refusal(path, strict=True) == refusal(path)
    assert path.read_bytes() == before
    assert os.listdir(home) == [name]  # no temporary file, no MUJOCO_LOG.TXT


@pytest.mark.parametrize("suffix", [".urdf", ".xml", ".json"])
def test_what_is_no_plain_file(home, suffix):
    (home / f"folder{suffix}").mkdir()
    os.mkfifo(home / f"pipe{suffix}")
    (home / f"zero{suffix}").symlink_to("/dev/zero")
    (home / f"self{suffix}").symlink_to(home / f"self{suffix}")
    (home / f"dangling{suffix}").symlink_to(home / "nothing")
    with open(home / f"huge{suffix}", "wb") as file:
        file.truncate(2**33)
    reasons = {
        "folder": "is a folder", "pipe": "is a pipe, socket or device", "zero": "is a pipe, socket or device",
        "self": "cannot be read: Too many levels of symbolic links", "dangling": "there is no such file",
        "none": "there is no such file", "huge": f"has {2**33} bytes, but at most {64 * 2**20} are read",
    }  # fmt: skip
    for name, reason in reasons.items():
        assert refusal(home / f"{name}{suffix}").startswith(f"{home / name}{suffix}: {reason}")
    assert "cannot be read: File name too long" in refusal(home / f"{'x' * 300}{suffix}")


def test_an_unreadable_file(home, monkeypatch):
    """The superuser may read everything, so the system is made to refuse."""

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    path = home / "m.urdf"
    path.write_text(urdf(LINK))
    monkeypatch.setattr(os, "open", denied)
    assert refusal(path) == f"{path}: cannot be read: Permission denied."


def test_a_chain_of_links_to_a_file_is_followed(home):
    (home / "real.urdf").write_text(urdf(LINK))
    for i in range(20):
        (home / f"m{i}.urdf").symlink_to(home / (f"m{i - 1}.urdf" if i else "real.urdf"))
    assert len(sc.load(home / "m19.urdf")) == 1


def test_links_that_lead_out(home):
    (home.parent / "secret.xml").write_text("<mujoco/>")
    (home.parent / "secret.stl").touch()
    (home / "folder").symlink_to(home.parent)
    (home / "one.xml").symlink_to(home / "two.xml")
    (home / "two.xml").symlink_to(home.parent / "secret.xml")
    for name, text in (
        ("a.xml", include("one.xml")), ("a.xml", include("folder/secret.xml")),
        ("a.xml", asset("folder/secret.stl")),
    ):  # fmt: skip
        (home / name).write_text(text)
        assert "leads out of the folders that may be read" in refusal(home / name)
    (home / "robot.yaml").symlink_to(home.parent / "secret.xml")
    (home / "a.urdf").write_text(urdf(LINK))
    assert "robot.yaml: the path 'robot.yaml' leads out of the folders" in refusal(home / "a.urdf")


def test_includes_in_a_circle(home):
    for i in range(3):
        (home / f"m{i}.xml").write_text(include(f"m{(i + 1) % 3}.xml"))
    assert "m2.xml:2: <include>: 'm0.xml' includes itself" in refusal(home / "m0.xml")


def test_includes_that_double(home):
    for i in range(30):
        (home / f"m{i}.xml").write_text(mjcf(f"<include file='m{i + 1}.xml'/>\n" * 2))
    (home / "m30.xml").write_text(mjcf())
    assert "is included twice" in refusal(home / "m0.xml")


YAML = {
    "aliases that grow": (
        "a: &a [x, x]\nb: &b [*a, *a]\nclosed_loop: [*b, *b]",
        "robot.yaml:1: anchors, aliases and tags",
    ),
    "code": (
        "a: 1\nb: !!python/object/apply:os.system ['true']",
        "robot.yaml:2: anchors, aliases and tags are not read",
    ),
    "merge": ("<<: {closed_loop: []}", "robot.yaml:1: a merge key (<<) is not read; write the values out"),
    "deep": ("a: " + "[" * 10_000, "robot.yaml:1: is nested more than 16 deep"),
    "huge": ("a: " + "x" * 10**6, "robot.yaml: has 1000003 bytes, but at most 65536 are read"),
    "no text": (b"a: \xff", "robot.yaml: is not YAML that can be read"),
    "no keys": ("[1, 2]", "robot.yaml: must hold keys such as closed_loop"),
    "a number for a key": ("1: 2", "robot.yaml: must hold keys such as closed_loop"),
    "a key twice": ("type: []\ntype: []", "robot.yaml:2: <key name='type'>: occurs twice"),
    "a text for loops": ("closed_loop: x", "robot.yaml: Expected `array`, got `str`"),
    "a loop of one": ("closed_loop: [[a]]\ntype: [6d]", "robot.yaml: Expected `array` of length 2"),
    "a loop of nothing": (
        "type: [6d]\nclosed_loop: [[a, x]]",
        "robot.yaml:2: <closed_loop>: there is no joint or link 'x'",
    ),
    "a loop of one body": ("closed_loop: [[a, a]]\ntype: [6d]", "robot.yaml:1: <closed_loop>: loop 'a-a'"),
    "types for no loops": ("type: [6d]", "robot.yaml:1: <type>: 1 types for 0 loops"),
    "a motor of nothing": ("name_mot: [x]", "robot.yaml:1: <name_mot>: 'x' is no joint with one dof"),
}


@pytest.mark.parametrize("case", YAML)
def test_closures_beside_a_file(home, case):
    text, message = YAML[case]
    (home / "m.urdf").write_text(linked(joint("j", "a", "b")))
    (home / "robot.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert message in refusal(home / "m.urdf")


# -- time and memory -----------------------------------------------------------------------------------------

PROGRAM = """
import signal, sys
from pathlib import Path
import soacraft as sc
signal.alarm(60)
try:
    print(repr(sc.load(sys.argv[1])))
except sc.errors.ModelFileError as problem:
    print(str(problem)[:500])
print(int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024)
"""


def outcome(path):
    """What a fresh interpreter says of a file; it must end well, with bounded memory."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, path], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    text, megabytes = run.stdout.rsplit("\n", 2)[:2]
    assert int(megabytes) < MEGABYTES
    return text


HEAD = '{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, 1], '
RECORD = HEAD + '"records": [{"kind": "k", "name": "n", "attributes": {"x": [%]}}]}'
PINS = ",".join(f'{{"name": "b{i}", "parent": "inertial", "hinge": {{"kind": "Weld"}}}}' for i in range(9_000))
LARGE = {
    "leaves": ("m.urdf", lambda: urdf("<a/>" * 1_000_100), r"m.urdf:2: <a>: the file has more than 1000000 elements"),
    "text": ("m.urdf", lambda: urdf(LINK + "x" * (30 << 20) + "\U0001d538"), "Multibody 'r': 1 body, 0 dofs"),
    "long paths": (
        "m.urdf",
        lambda: urdf(LINK + f"<{'t' * 190}>" * 250 + "<a/>" * 200_000 + f"</{'t' * 190}>" * 250),
        "Multibody 'r': 1 body, 0 dofs",
    ),
    "frames": ("m.urdf", lambda: urdf(LINK + "<gazebo/>" * 210_000), "m.urdf:1: <robot name='r'>: makes the model too"),
    "classes": (
        "m.xml",
        lambda: mjcf("<default>" + "".join(f"<default class='{i}'/>" for i in range(70_000)) + "</default>"),
        "m.xml:2: <default>: makes the model too large to read",
    ),
    "vertices": (
        "m.xml",
        lambda: mjcf(f"<asset>\n<mesh name='m' vertex='{'1 ' * (5 << 20)}'/></asset>"),
        "m.xml:3: <mesh name='m'>: vertex has 10485760 characters, more than 8388608",
    ),
    "arrays": ("m.json", lambda: RECORD.replace("%", "[]," * 1_000_100 + "[]"), "m.json: has more than 1000000 arrays"),
    "numbers": ("m.json", lambda: RECORD.replace("%", "1," * 4_000_100 + "1"), "m.json: has more than 4000000 entries"),
    "members": (
        "m.json",
        lambda: HEAD + ",".join(f'"{i}":0' for i in range(1_500_100)) + "}",
        "has more than 1500000 mem",
    ),
    "bodies": (
        "m.json",
        lambda: HEAD + '"bodies": [' + ",".join([PINS] * 12) + "]}",
        "m.json: the model is too large: more than 100000 bodies",
    ),
    "a long cycle": (
        "m.json",
        lambda: HEAD + '"bodies": [' + re.sub(r'"b(\d+)", "parent": "inertial"', _previous, PINS) + "]}",
        "m.json: at $.bodies[0].parent: the parents of the bodies form a circle (b0 -> b8999 -> b8998 -> b8997 -> ...",
    ),
    "shapes without names": (
        "m.json",
        lambda: HEAD + '"root": {"geometries": [' + ",".join(['{"name": "", "kind": "plane"}'] * 60_000) + "]}}",
        "Multibody 'x': 0 bodies, 0 dofs",
    ),
}


def _previous(match):
    return f'"b{match[1]}", "parent": "b{(int(match[1]) - 1) % 9000}"'


@pytest.mark.parametrize("case", LARGE)
def test_large_files_take_bounded_time_and_memory(home, case):
    name, text, message = LARGE[case]
    (home / name).write_text(text())
    assert message in outcome(str(home / name))
    assert os.listdir(home) == [name]


def test_what_is_too_large_to_be_read_is_not_written(home, monkeypatch):
    mb = sc.serial_chain(3)
    monkeypatch.setattr("soacraft.files.native._MOST_PARTS", 5)
    with pytest.raises(ModelFileError, match=r"cannot write '.*m.json': the model is too large: more than 2 bodies"):
        sc.save(mb, home / "m.json")
    monkeypatch.undo()
    monkeypatch.setattr("soacraft.files.native._MOST", {b"{": (5, "objects")})
    with pytest.raises(ModelFileError, match=r"cannot write '.*m.json': has more than 5 objects, too many to read"):
        sc.save(mb, home / "m.json")
    assert os.listdir(home) == []


@pytest.mark.parametrize(("bodies", "keyframes", "large"), [(1, 40, 1), (1, 20, 0), (8, 14, 1), (8, 3, 0)])
def test_keyframes_count_as_parts_for_the_bodies_that_they_place(home, monkeypatch, bodies, keyframes, large):
    mb = sc.serial_chain(bodies)
    for k in range(keyframes):
        mb.add_keyframe(sc.Keyframe(f"k{k}", mb.q, mb.v))
    monkeypatch.setattr("soacraft.files.native._MOST_PARTS", 35)
    if large:
        with pytest.raises(ModelFileError, match="the model is too large"):
            sc.save(mb, home / "m.json")
    else:
        sc.save(mb, home / "m.json")
