"""Geometry, materials, actuators, keyframes and plain records: read, refused, kept through edits, copied, pickled."""

import copy
import pickle

import numpy as np
import pytest

from soacraft.errors import ModelError, StaleError, StateError
from soacraft.model import (
    Actuator,
    Geometry,
    ImportReport,
    Keyframe,
    Limits,
    Material,
    Multibody,
    Passive,
    Record,
    random_tree,
    serial_chain,
)
from soacraft.model.hinges import Free, Pin, Prismatic, Spherical, Weld
from soacraft.model.tree.parts.records import KINDS, read_attributes
from soacraft.spatial import Inertia, Pose

SIZES = {"box": (1, 2, 3), "sphere": (1,), "cylinder": (1, 2), "capsule": (1, 2), "ellipsoid": (1, 2, 3)}


def refused(call, text, error=ModelError):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


# -- attributes ---------------------------------------------------------------------------------------------------


def test_attributes_are_plain_values_and_read_only():
    given = {
        "a": 1,
        "b": 2.5,
        "c": "x",
        "d": True,
        "e": [1, (2, "y")],
        "f": np.array([[1.0, 2.0]]),
        "g": np.int64(3),
        "h": np.float32(0.5),
        "i": np.True_,
    }
    read = read_attributes(given, "the attributes")
    assert dict(read) == {
        "a": 1,
        "b": 2.5,
        "c": "x",
        "d": True,
        "e": (1, (2, "y")),
        "f": ((1.0, 2.0),),
        "g": 3,
        "h": 0.5,
        "i": True,
    }
    assert [type(read[key]) for key in "adghi"] == [int, bool, int, float, bool]
    given["a"] = 7
    assert read["a"] == 1
    with pytest.raises(TypeError):
        read["a"] = 2
    assert dict(read_attributes(None, "the attributes")) == {}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([("a", 1)], "x must be a mapping from names to values, got [('a', 1)]."),
        ({1: 2}, "x must be a mapping from names to values, got {1: 2}."),
        ({"a": None}, "'a' in x must be a text, a number, a truth value or a tuple of those, got None."),
        ({"a": {"b": 1}}, "'a' in x must be a text, a number, a truth value or a tuple of those, got {'b': 1}."),
        ({"a": (1, 1j)}, "'a' in x must be a text, a number, a truth value or a tuple of those, got 1j."),
        ({"a": float("nan")}, "'a' in x must be finite, got nan."),
        ({"a": [1.0, np.inf]}, "'a' in x must be finite, got inf."),
    ],
)
def test_bad_attributes(given, text):
    refused(lambda: read_attributes(given, "x"), text)


# -- geometry -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_geometry(kind):
    size = SIZES.get(kind, ())
    shape = Geometry(
        "g", kind, size, Pose(translation=(1, 2, 3)), "visual", (1, 0, 0, 1), "red", "a.stl", {"density": 2}
    )
    assert shape.size == tuple(map(float, size))
    assert all(type(x) is float for x in shape.size)
    assert shape.rgba == (1.0, 0.0, 0.0, 1.0)
    assert shape == Geometry(
        "g",
        kind,
        np.array(size, dtype=float),
        Pose(translation=(1, 2, 3)),
        "visual",
        [1, 0, 0, 1],
        "red",
        "a.stl",
        {"density": 2},
    )
    assert shape != Geometry("g", kind, size)


def test_sizes_that_need_no_tuple():
    assert Geometry("", "sphere", 2).size == (2.0,)
    assert Geometry("", "plane").size == Geometry("", "plane", []).size == ()
    assert Geometry("", "plane", [1, 2]).size == (1.0, 2.0)
    assert Geometry("", "mesh", (1, -1, 1)).size == (1.0, -1.0, 1.0)  # a mirrored mesh


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            dict(kind="cone"),
            "the kind of geometry 'g' must be one of box, sphere, cylinder, capsule, ellipsoid, plane, mesh, "
            "heightfield, other; got 'cone'.",
        ),
        (dict(name=3), "the name of a geometry must be a string, got 3."),
        (dict(role="ghost"), "the role of geometry 'g' must be 'visual', 'collision' or 'both', got 'ghost'."),
        (dict(size=(1, 2)), "size of geometry 'g' (sphere) must have 1 number, got 2."),
        (dict(size=()), "size of geometry 'g' (sphere) must have 1 number, got 0."),
        (dict(kind="plane"), "size of geometry 'g' (plane) must have 0 or 2 numbers, got 1."),
        (dict(kind="box"), "size of geometry 'g' (box) must have 3 numbers, got 1."),
        (dict(size=-1.0), "size of geometry 'g' (sphere) must not be negative, got (-1,)."),
        (dict(size=np.nan), "size of geometry 'g' must be finite, got nan at index 0"),
        (dict(size="big"), "size of geometry 'g' must be real numbers, got text: ['big']"),
        (
            dict(pose=(0, 0, 1)),
            "the pose of geometry 'g' must be a Pose such as Pose(translation=(0, 0, 0.1)), got (0, 0, 1).",
        ),
        (dict(rgba=(1, 0, 0)), "rgba of geometry 'g' must have shape (4,), got shape (3,)"),
        (dict(material=None), "the material of geometry 'g' must be a string, got None."),
        (dict(mesh=5), "the mesh of geometry 'g' must be a string, got 5."),
        (dict(attributes=3), "the attributes of geometry 'g' must be a mapping from names to values, got 3."),
    ],
)
def test_bad_geometry(given, text):
    refused(lambda: Geometry(**{"name": "g", "kind": "sphere", "size": (1,), **given}), text)


def test_ragged_sizes_are_refused():
    with pytest.raises(ModelError, match="size of geometry 'g' must be an array of real numbers, got a ragged"):
        Geometry("g", "box", [[1], [1, 2]])


def test_geometry_on_frames():
    mb = serial_chain(2)
    version = mb.version
    link = mb["link1"]
    ball, named, third = (link.add_geometry(Geometry(name, "sphere", 1)) for name in ("", "geometry2", ""))
    assert link.geometries == (ball, named, third)
    assert link.geometries.names == ("geometry0", "geometry2", "geometry1")
    assert mb.root.geometries == mb["link2"].geometries == ()
    assert mb.root.add_geometry(Geometry("floor", "plane")).name == "floor"
    assert mb.version == version  # old states and expressions stay good
    link.remove_geometry("geometry2")
    link.remove_geometry(third)
    assert link.geometries == (ball,)
    link.remove_geometry("geometry0")
    assert link.geometries == ()


def test_bad_geometry_on_frames():
    mb = serial_chain(2)
    link = mb["link1"]
    link.add_geometry(Geometry("ball", "sphere", 1))
    refused(
        lambda: link.add_geometry(Geometry("ball", "plane")),
        "body 'link1' already has a geometry 'ball'; names are unique.",
    )
    refused(lambda: link.add_geometry("ball"), "add_geometry takes a Geometry(name, kind, size, ...), got 'ball'.")
    refused(lambda: link.remove_geometry("bal"), "there is no geometry 'bal'; did you mean 'ball'?")
    refused(lambda: mb.root.remove_geometry("ball"), "there is no geometry 'ball'; there are none.")
    with pytest.raises(ModelError, match="geometry Geometry"):
        link.remove_geometry(Geometry("ball", "plane"))
    assert link.geometries.names == ("ball",)
    gone = mb["link2"]
    mb.remove("link2")
    with pytest.raises(StaleError, match="body 'link2' was removed"):
        gone.add_geometry(Geometry("ball", "sphere", 1))
    with pytest.raises(StaleError, match="body 'link2' was removed"):
        gone.remove_geometry("ball")


# -- materials, actuators, records --------------------------------------------------------------------------------


def test_materials():
    mb = Multibody("shop")
    red = mb.add_material(Material("red", (1, 0, 0, 1), "red.png", {"shine": 0.5}))
    assert mb.materials["red"] is red
    assert red.rgba == (1.0, 0.0, 0.0, 1.0)
    refused(lambda: mb.add_material(Material("red")), "'shop' already has a material 'red'; names are unique.")
    refused(lambda: mb.add_material("red"), "Material(...) is wanted here, got 'red'.")
    refused(lambda: Material(""), "the name of a material must be a non-empty string, got ''.")
    refused(lambda: Material("m", texture=2), "the texture of material 'm' must be a string, got 2.")
    refused(lambda: Material("m", rgba="red"), "rgba of material 'm' must be real numbers, got text: 'red'")
    assert mb.materials == (red,)


def test_actuators():
    mb = serial_chain(3)
    version = mb.version
    motor = mb.add_actuator(Actuator("motor", "motor", {"link1": 50, "link2": -1.0}, {"site": "tool"}))
    assert dict(motor.gears) == {"link1": 50.0, "link2": -1.0}
    assert mb.actuators["motor"] is motor
    assert mb.version == version
    tendon = mb.add_actuator(Actuator("pull", "motor"))
    mb.remove_actuator(motor)
    assert mb.actuators == (tendon,)
    mb.remove_actuator("pull")
    assert mb.actuators == ()


def test_bad_actuators():
    mb = serial_chain(3)
    mb.add_actuator(Actuator("motor", "motor", {"link1": 50}))
    cases = {
        "'chain' already has an actuator 'motor'; names are unique.": Actuator("motor", "motor"),
        "actuator 'm': 'chain' has no dof, hinge or body 'knee'; it has 'link1', 'link2', 'link3'.": (
            Actuator("m", "motor", {"link1": 1, "knee": 1})
        ),
        "Actuator(...) is wanted here, got 3.": 3,
    }
    for text, given in cases.items():
        refused(lambda given=given: mb.add_actuator(given), text)
    refused(lambda: mb.remove_actuator("moter"), "there is no actuator 'moter'; did you mean 'motor'?")
    assert mb.actuators.names == ("motor",)
    refused(lambda: Actuator("", "motor"), "the name of an actuator must be a non-empty string, got ''.")
    refused(lambda: Actuator("m", ""), "the kind of actuator 'm' must be a non-empty string, got ''.")
    text = "the gears of actuator 'm' must be a mapping from dofs to numbers, got [1]."
    refused(lambda: Actuator("m", "motor", [1]), text)
    text = "the gear of actuator 'm' for 'a' must be finite, got nan"
    refused(lambda: Actuator("m", "motor", {"a": np.nan}), text)


def test_records_keep_their_order_and_may_share_names():
    mb = Multibody("shop")
    kept = [mb.add_record(Record(kind, name)) for kind, name in (("sensor", "imu"), ("camera", "imu"), ("sensor", ""))]
    assert mb.records == tuple(kept)
    assert mb.records["imu"] is kept[0]
    refused(lambda: mb.add_record({"kind": "sensor"}), "Record(...) is wanted here, got {'kind': 'sensor'}.")
    refused(lambda: Record("", "x"), "the kind of a record must be a non-empty string, got ''.")
    refused(lambda: Record("sensor", None), "the name of a record must be a string, got None.")
    text = "'a' in the attributes of sensor 'x' must be finite, got inf."
    refused(lambda: Record("sensor", "x", {"a": np.inf}), text)
    assert len(mb.records) == 3


def test_the_import_report_is_a_report():
    mb = Multibody("shop")
    assert mb.import_report is None
    mb.import_report = report = ImportReport()
    refused(lambda: setattr(mb, "import_report", "all fine"), "ImportReport(...) is wanted here, got 'all fine'.")
    assert mb.import_report is report
    mb.import_report = None
    assert mb.import_report is None


# -- keyframes ----------------------------------------------------------------------------------------------------


def test_keyframes():
    mb = random_tree(6, seed=3)
    q, v = mb.random_state(1)
    home = mb.add_keyframe(Keyframe("home", q, v, {"time": 1.5}))
    found = mb.keyframes["home"]
    np.testing.assert_array_equal(found.q, q)
    np.testing.assert_array_equal(found.v, v)
    assert found == home
    assert found.attributes["time"] == 1.5
    assert not found.q.flags.writeable
    assert found != Keyframe("home", q, v)
    assert found != Keyframe("home", q, v + 1, {"time": 1.5})


def test_bad_keyframes():
    mb = serial_chain(2)
    mb.add_keyframe(Keyframe("home", [0, 0], [0, 0]))
    text = "'chain' already has a keyframe 'home'; names are unique."
    refused(lambda: mb.add_keyframe(Keyframe("home", [1, 1], [0, 0])), text)
    text = "q of keyframe 'up' of 'chain' has 2 entries, got 3; by hinge: link1, link2."
    refused(lambda: mb.add_keyframe(Keyframe("up", [1, 1, 1], [0, 0])), text, StateError)
    text = "v of keyframe 'up' of 'chain' has 2 entries, got 1; by hinge: link1, link2."
    refused(lambda: mb.add_keyframe(Keyframe("up", [1, 1], [0])), text, StateError)
    refused(lambda: mb.add_keyframe("home"), "Keyframe(...) is wanted here, got 'home'.")
    refused(lambda: Keyframe("up", [1, np.nan], [0, 0]), "q of keyframe 'up' must be finite, got nan at index 1")
    refused(lambda: Keyframe("up", [[1]], [0]), "q of keyframe 'up' must have shape (any,), got shape (1, 1)")
    refused(lambda: Keyframe(None, [1], [0]), "the name of a keyframe must be a non-empty string, got None.")
    assert mb.keyframes.names == ("home",)
    np.testing.assert_array_equal(mb.keyframes["home"].q, [0, 0])


def test_a_keyframe_with_a_bad_quaternion_is_refused():
    mb = Multibody("ball")
    mb.add_body("ball", None, Spherical())
    with pytest.raises(StateError, match="q of keyframe 'up' of hinge 'ball'"):
        mb.add_keyframe(Keyframe("up", [0, 0, 0, 2], [0, 0, 0]))
    assert mb.keyframes == ()


def test_keyframes_survive_structural_edits():
    mb = Multibody("arm")
    for k in range(4):
        mb.add_body(f"b{k}", f"b{k - 1}" if k else None, Pin((0, 0, 1)), Inertia(1.0))
    mb.add_keyframe(Keyframe("home", [0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4]))
    mb.add_body("early", None, Spherical())
    mb.reattach("b0", "early", Pin((0, 0, 1)))  # the same hinge on another parent; the order of bodies changes
    mb.remove("b3")
    mb.reattach("b2", "b1", Prismatic((0, 0, 1)))  # another hinge of the same size
    assert [body.name for body in mb.bodies] == ["early", "b0", "b1", "b2"]
    home = mb.keyframes["home"]
    np.testing.assert_array_equal(home.q, [0, 0, 0, 1, 0.1, 0.2, 0])
    np.testing.assert_array_equal(home.v, [0, 0, 0, 1, 2, 0])
    mb.add_body("b3", "b2", Pin((0, 0, 1)))  # the name of one that was there is not it
    assert mb.keyframes["home"].q[-1] == 0.0
    mb.set_state(mb.keyframes["home"].q, mb.keyframes["home"].v)


# -- copies -------------------------------------------------------------------------------------------------------


def furnished():
    """A model with one of everything."""
    mb = Multibody("shop", gravity=(0, 0, -1))
    mb.root.add_node("dock", Pose(translation=(1, 0, 0)))
    mb.root.add_geometry(Geometry("floor", "plane"))
    base = mb.add_body("base", None, Free(), Inertia.sphere(2.0, 0.1))
    arm = mb.add_body("arm", base, Pin((0, 1, 0)), Inertia(1.0, (0.1, 0, 0)), hinge_name="elbow")
    arm.add_node("tip", Pose(translation=(0.5, 0, 0)))
    arm.add_geometry(Geometry("", "capsule", (0.1, 0.4), material="red"))
    arm.armature, arm.limits = 0.25, Limits(-1, 1, 2, 3)
    arm.passive = Passive(stiffness=4.0, damping=0.5, friction=0.1, rest=[0.2])
    base.passive = Passive(damping=[1, 2, 3, 4, 5, 6])
    mb.add_material(Material("red", (1, 0, 0, 1)))
    mb.add_actuator(Actuator("motor", "motor", {"elbow": 10.0}))
    mb.add_keyframe(Keyframe("home", [0, 0, 0, 1, 1, 2, 3, 0.5], np.arange(7.0), {"time": 2.0}))
    mb.add_record(Record("sensor", "imu", {"site": "tip"}))
    mb.close_loop("hook", "inertial/dock", "arm/tip", Spherical())
    mb.couple("gear", {"elbow": (1, 2)}, 0.5)
    mb.import_report = ImportReport()
    mb.set_state(*mb.random_state(3), np.arange(7.0))
    mb.set_force("arm/tip", [1, 2, 3, 4, 5, 6])
    return mb


@pytest.mark.parametrize(
    "duplicate",
    [Multibody.copy, copy.copy, copy.deepcopy, lambda mb: pickle.loads(pickle.dumps(mb))],
    ids=["copy", "copy.copy", "copy.deepcopy", "pickle"],
)
def test_a_copy_carries_everything(duplicate):
    mb = furnished()
    twin = duplicate(mb)
    assert twin.name == mb.name
    np.testing.assert_array_equal(twin.gravity, mb.gravity)
    assert twin.dof_names == mb.dof_names
    for one, other in zip((mb.root, *mb.bodies), (twin.root, *twin.bodies), strict=True):
        assert other.geometries == one.geometries
        assert [(node.name, node.pose) for node in other.nodes] == [(node.name, node.pose) for node in one.nodes]
    for one, other in zip(mb.bodies, twin.bodies, strict=True):
        assert other is not one
        assert (other.name, other.hinge, other.hinge_name, other.inertia) == (
            one.name,
            one.hinge,
            one.hinge_name,
            one.inertia,
        )
        assert (other.passive, other.limits) == (one.passive, one.limits)
        np.testing.assert_array_equal(other.armature, one.armature)
    for what in ("materials", "actuators", "keyframes", "records", "import_report"):
        assert getattr(twin, what) == getattr(mb, what), what
    assert list(map(repr, twin.loops)) == list(map(repr, mb.loops))
    assert list(map(repr, twin.couplings)) == list(map(repr, mb.couplings))
    assert twin.loops["hook"].b is twin["arm/tip"]
    assert twin.is_closed
    for now, then in ((twin.q, mb.q), (twin.v, mb.v), (twin.vdot, mb.vdot)):
        np.testing.assert_array_equal(now, then)
    ((frame, wrench),) = twin.current.forces
    assert frame is twin["arm/tip"]
    np.testing.assert_array_equal(np.asarray(wrench), [1, 2, 3, 4, 5, 6])


def test_changing_a_copy_leaves_the_model():
    mb = furnished()
    twin = mb.copy()
    twin["arm"].remove_geometry("geometry0")
    twin.root.add_geometry(Geometry("", "plane"))
    twin["arm"].armature = 0.0
    twin.remove_actuator("motor")
    twin.add_material(Material("blue"))
    twin.add_record(Record("sensor", "other"))
    twin.add_keyframe(Keyframe("up", twin.q, twin.v))
    fresh = furnished()
    assert mb["arm"].geometries == fresh["arm"].geometries
    assert mb.root.geometries == fresh.root.geometries
    np.testing.assert_array_equal(mb["arm"].armature, [0.25])
    for what in ("materials", "actuators", "keyframes", "records"):
        assert getattr(mb, what) == getattr(fresh, what), what


@pytest.mark.parametrize(
    "record",
    [
        Geometry("g", "sphere", 1.0, attributes={"a": (1, 2)}),
        Material("m", (0, 0, 0, 1)),
        Actuator("a", "motor", {"x": 1.0}),
        Keyframe("k", [1.0], [2.0], {"t": 0}),
        Record("sensor", "s", {"a": 1}),
        Limits(lower=-1),
        Passive(stiffness=[1, 2], rest=[0, 0]),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_copy_pickle_hash_and_stay_frozen(record):
    for twin in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert twin == record
        assert hash(twin) == hash(record)
        assert repr(twin) == repr(record)
    assert record != "something else"
    with pytest.raises(AttributeError if not isinstance(record, Limits | Passive) else ModelError):
        record.name = "new"
    if isinstance(record, Keyframe):
        assert not pickle.loads(pickle.dumps(record)).q.flags.writeable


@pytest.mark.parametrize(
    ("name", "number"), [("armature", 0.5), ("passive", Passive(damping=1.0)), ("limits", Limits(upper=1.0))]
)
def test_reattaching_drops_no_number_of_the_old_hinge(name, number):
    mb = Multibody("arm")
    arm = mb.add_body("arm", None, Pin((0, 0, 1)), Inertia(1.0))
    setattr(arm, name, number)
    version = mb.version
    text = "hinge 'arm' has armature, springs, dampers, friction or limits, which the new hinge would not have; take"
    with pytest.raises(ModelError, match=text):
        mb.reattach("arm", None, Weld())
    assert mb.version == version
    assert isinstance(arm.hinge, Pin)


def test_reattaching_keeps_the_shapes():
    mb = furnished()
    mb.remove_loop("hook")
    arm = mb.body("arm")
    arm.armature, arm.passive, arm.limits = 0, Passive(), Limits()
    assert mb.reattach("arm", None, Pin((0, 0, 1))) is arm
    assert len(arm.geometries) == 1
    mb.remove_coupling("gear")
    mb.remove_actuator("motor")
    assert mb.reattach("arm", None, Weld()).limits.lower.shape == (0,)


def test_truth_values_among_numbers_are_refused():
    """Flags are attributes, and lists of flags; a list of numbers with a flag in it would be read as 0 or 1."""
    assert read_attributes({"on": True, "which": (True, False), "gear": (1, 2.0)}, "it")["which"] == (True, False)
    with pytest.raises(ModelError, match=r"'gear' in it must be numbers or truth values, got both: \[1.0, True\]"):
        read_attributes({"gear": [1.0, True]}, "it")
