"""Building a model: names, frames, order, and everything that is refused, by its text."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StaleError
from soacraft.model import Body, Multibody, Node, Root, random_tree, serial_chain
from soacraft.model.hinges import Free, Hinge, Pin, Prismatic, Spherical, Universal, Weld
from soacraft.spatial import Inertia, Pose


def arm():
    mb = Multibody("arm", gravity=(0, 0, -9.80665))
    upper = mb.add_body(
        "upper",
        parent=None,
        hinge=Pin(axis=(0, 0, 1)),
        inertia=Inertia(mass=2.0, com=(0, 0, 0.2), moment=np.diag([0.1, 0.1, 0.02])),
        inboard=Pose(translation=(0, 0, 0.1)),
        outboard=Pose(),
    )
    upper.add_node("tool", Pose(translation=(0, 0, 0.4)))
    mb.add_body("lower", upper, Universal((1, 0, 0), (0, 1, 0)), Inertia(1.0), hinge_name="elbow")
    return mb


def test_the_listing_of_the_issue():
    mb = arm()
    upper, lower = mb.bodies
    tool = mb["upper/tool"]
    assert (mb.nq, mb.nv, len(mb)) == (3, 3, 2)
    assert mb["upper"] is upper
    assert isinstance(upper, Body)
    assert isinstance(tool, Node)
    assert tool.body is upper
    assert tool.full_name == "upper/tool"
    assert upper.nodes == (tool,)
    assert upper.children == (lower,)
    assert lower.parent is upper
    assert isinstance(mb.root, Root)
    assert mb["inertial"] is mb.root
    assert mb.root.children == (upper,)
    assert upper.parent is mb.root
    assert mb.dof_names == ("upper", "elbow.0", "elbow.1")
    assert (upper.hinge_name, lower.hinge_name) == ("upper", "elbow")
    assert (lower.q_slice, lower.v_slice) == (slice(1, 3), slice(1, 3))
    assert mb.total_mass == 3.0
    assert lower.inboard == lower.outboard == Pose()
    np.testing.assert_array_equal(mb.neutral(), np.zeros(3))


def test_membership_and_iteration():
    mb, other = arm(), arm()
    assert "upper" in mb
    assert "upper/tool" in mb
    assert "inertial" in mb
    assert mb["upper"] in mb
    assert "tool" not in mb
    assert "upper/elbow" not in mb
    assert 3 not in mb
    assert other["upper"] not in mb
    assert [body.name for body in mb] == ["upper", "lower"]


def test_root_nodes():
    mb = arm()
    dock = mb.root.add_node("dock", Pose(translation=(1, 2, 3)))
    assert mb["inertial/dock"] is dock
    assert dock.body is mb.root
    np.testing.assert_array_equal(mb.pose("inertial/dock").translation, [1, 2, 3])


def test_nodes_have_roles_that_copies_and_parts_keep():
    mb = arm()
    tool, dock = mb["upper/tool"], mb.root.add_node("dock", role="sensor")
    assert tool.role == ""
    tool.role = "actuator"
    big = Multibody("big")
    big.add_model(mb, prefix="left_")
    assert [x["upper/tool"].role for x in (mb.copy(), mb.extract("upper"))] == ["actuator"] * 2
    assert big["left_upper/tool"].role == "actuator"
    assert big["inertial/left_dock"].role == mb.copy()["inertial/dock"].role == dock.role == "sensor"
    with pytest.raises(ModelError, match=r"the role of node 'upper/tool' must be a string such as 'sensor', got 3"):
        tool.role = 3
    with pytest.raises(ModelError, match=r"the role of node 'upper/a' must be a string"):
        mb["upper"].add_node("a", role=None)


def test_it_prints_what_it_is():
    mb = arm()
    assert repr(mb) == "Multibody 'arm': 2 bodies, 3 dofs"
    assert repr(serial_chain(1)) == "Multibody 'chain': 1 body, 1 dof"
    closed = serial_chain(2)
    closed.close_loop("ring", "inertial", "link2", Pin((0, 0, 1)))
    assert repr(closed) == "Multibody 'chain': 2 bodies, 2 dofs, 1 loop"
    assert repr(mb["upper"]) == "body 'upper' on 'inertial' by Pin(axis=(0, 0, 1))"
    assert repr(mb["upper/tool"]) == "node 'upper/tool'"
    assert repr(mb.root) == "inertial frame of 'arm'"


def test_gravity_is_nine_point_eight_down_by_default():
    np.testing.assert_array_equal(Multibody("m").gravity, [0, 0, -9.80665])
    with pytest.raises(ValueError, match="read-only"):
        Multibody("m").gravity[0] = 1.0


def test_an_empty_model_has_an_empty_state():
    mb = Multibody("void")
    assert (mb.nq, mb.nv, mb.bodies, mb.dof_names) == (0, 0, (), ())
    assert mb.q.shape == mb.v.shape == (0,)
    assert mb.sko().n == 0


def test_parents_may_be_given_by_body_name_or_root():
    mb = Multibody("m")
    a = mb.add_body("a", "inertial", Weld())
    b = mb.add_body("b", mb.root, Weld())
    c = mb.add_body("c", "a", Weld())
    d = mb.add_body("d", a, Weld())
    assert [body.parent for body in (a, b, c, d)] == [mb.root, mb.root, a, a]


def test_the_order_is_parents_first_then_insertion():
    mb = Multibody("m")
    for name in "abcd":
        mb.add_body(name, None, Pin((0, 0, 1)))
    mb.reattach("a", parent="c", hinge=Pin((0, 0, 1)))
    assert [body.name for body in mb.bodies] == ["b", "c", "a", "d"]
    assert mb.topology.names == ("b", "c", "a", "d")
    assert mb.topology.parents == (-1, -1, 1, -1)


def test_a_single_dof_has_the_name_of_its_hinge():
    mb = Multibody("m")
    mb.add_body("a", None, Pin((0, 0, 1)), hinge_name="shoulder")
    mb.add_body("b", "a", Weld())
    mb.add_body("c", "b", Prismatic((0, 0, 1)))
    assert mb.dof_names == ("shoulder", "c")


def test_branches_are_the_serial_segments():
    mb = serial_chain(3)
    mb.add_body("left", "link3", Pin((0, 0, 1)))
    mb.add_body("right", "link3", Pin((0, 0, 1)))
    assert [branch.names for branch in mb.branches()] == [("link1", "link2", "link3"), ("left",), ("right",)]


# -- what is refused; a refused call changes nothing ----------------------------------------------------------

REFUSED = [
    (dict(name="upper", hinge=Pin((0, 0, 1))), "'arm' already has a body 'upper'; names are unique."),
    (dict(name="", hinge=Weld()), "the name of a body must not be empty."),
    (dict(name="  ", hinge=Weld()), "the name of a body must not be empty."),
    (dict(name=7, hinge=Weld()), "the name of a body must be a string, got 7."),
    (
        dict(name="upper/tool", hinge=Weld()),
        "body 'upper/tool' would have the name of node 'tool' of 'upper': both would be 'upper/tool'; give one another "
        "name.",
    ),
    (
        dict(name="inertial", hinge=Weld()),
        "the body name 'inertial' belongs to the inertial frame; choose another.",
    ),
    (
        dict(name="hand", parent="uper", hinge=Weld()),
        "'arm' has no frame 'uper'; did you mean 'upper' or 'upper/tool'?",
    ),
    (
        dict(name="hand", parent="zzz", hinge=Weld()),
        "'arm' has no frame 'zzz'; it has 'inertial', 'upper', 'lower', 'upper/tool'.",
    ),
    (dict(name="hand", parent=3, hinge=Weld()), "give a frame of 'arm' or its name, got 3."),
    (
        dict(name="hand"),
        "body 'hand' needs a hinge such as Pin(axis=(0, 0, 1)), Free(), or Weld() for a rigid attachment; "
        "none was given.",
    ),
    (dict(name="hand", hinge=Free), "got the class Free; make one, such as Free(...)."),
    (dict(name="hand", hinge="pin"), "got 'pin'."),
    (
        dict(name="hand", hinge=Weld(), hinge_name="elbow"),
        "'arm' already has a hinge 'elbow', of body 'lower'; names are unique: give hinge_name=...",
    ),
    (dict(name="elbow", hinge=Weld()), "'arm' already has a hinge 'elbow', of body 'lower'"),
    (dict(name="hand", hinge=Weld(), hinge_name=""), "the name of a hinge must not be empty."),
    (
        dict(name="hand", hinge=Weld(), inertia=2.0),
        "the inertia of 'hand' must be an Inertia(mass, com, moment), got 2.0.",
    ),
    (
        dict(name="hand", hinge=Weld(), inboard=(0, 0, 1)),
        "inboard of 'hand' must be a Pose such as Pose(translation=(0, 0, 0.1)), got (0, 0, 1).",
    ),
    (
        dict(name="hand", hinge=Weld(), outboard=Pose(translation=np.zeros((4, 3)))),
        "outboard of 'hand' must be one pose, got a batch of shape (4,).",
    ),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED, ids=lambda x: x if isinstance(x, str) else "")
def test_add_body_refuses(arguments, text):
    mb = arm()
    mb.set_state([0.1, 0.2, 0.3])
    before, version = mb.current, mb.version
    with pytest.raises(ModelError) as error:
        mb.add_body(**arguments)
    assert text in str(error.value)
    assert mb.current is before
    assert mb.version == version
    assert len(mb) == 2


def test_a_body_of_another_model_is_refused():
    mb, other = arm(), arm().copy("twin")
    with pytest.raises(ModelError, match="body 'upper' belongs to another model \\('twin'\\), not to 'arm'"):
        mb.add_body("hand", parent=other["upper"], hinge=Weld())


def test_a_hinge_without_its_sizes_is_refused():
    class Half(Hinge):
        nq = 1

        def neutral(self):
            return np.zeros(1)

        def pose(self, q):
            return Pose()

        def H_T(self, q):
            return np.zeros((6, 1))

    with pytest.raises(ModelError, match="nv of the hinge Half of 'hand' must be a whole number from 0 to 6, got None"):
        arm().add_body("hand", hinge=Half())


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_model_needs_a_name(name):
    with pytest.raises(ModelError, match="the name of a model must be a non-empty string"):
        Multibody(name)


@pytest.mark.parametrize("gravity", [(0, 0), (0, 0, np.nan), "down", 9.8])
def test_bad_gravity_is_refused(gravity):
    mb = arm()
    with pytest.raises(ModelError, match="gravity of 'arm'"):
        Multibody("arm", gravity)
    with pytest.raises(ModelError, match="gravity of 'arm'"):
        mb.gravity = gravity
    np.testing.assert_array_equal(mb.gravity, [0, 0, -9.80665])


def test_node_names_are_unique_within_their_body():
    mb = arm()
    mb["lower"].add_node("tool")
    assert mb["lower/tool"] is not mb["upper/tool"]
    with pytest.raises(ModelError, match="body 'upper' already has a node 'tool'; names are unique within a body"):
        mb["upper"].add_node("tool")
    with pytest.raises(ModelError, match="the pose of node upper/x must be a Pose"):
        mb["upper"].add_node("x", (0, 0, 1))


def test_names_may_hold_slashes_as_long_as_each_finds_one_frame():
    mb = arm()
    mb.add_body("left/arm", "upper", Pin((0, 0, 1)), hinge_name="left/elbow")
    mb.add_body("left/arm/hand", "left/arm", Weld())
    nodes = [mb["left/arm"].add_node("grip/tip"), mb["left/arm/hand"].add_node("palm"), mb.root.add_node("a/b")]
    assert [node.full_name for node in nodes] == ["left/arm/grip/tip", "left/arm/hand/palm", "inertial/a/b"]
    assert [mb[node.full_name] for node in nodes] == nodes
    assert mb.dof_names[-1] == "left/elbow"
    assert [mb.copy()[frame.full_name].name for frame in (*mb.bodies, *nodes)] == [x.name for x in (*mb.bodies, *nodes)]
    with pytest.raises(ModelError, match=r"node 'hand' of 'left/arm' would have the name of body 'left/arm/hand'"):
        mb["left/arm"].add_node("hand")
    with pytest.raises(ModelError, match=r"node 'hand/palm' of 'left/arm' would have the name of node 'palm' of"):
        mb["left/arm"].add_node("hand/palm")
    mb["left/arm/hand"].remove_node("palm")
    assert "left/arm/hand/palm" not in mb
    mb.remove("left/arm", subtree=True)
    assert "left/arm/grip/tip" not in mb
    assert mb.add_body("left/arm/grip/tip", "upper", Weld()) is mb["left/arm/grip/tip"]


def test_asking_for_a_body_where_there_is_none():
    mb = arm()
    with pytest.raises(ModelError, match="'upper/tool' is not a body of 'arm'"):
        mb.body("upper/tool")
    with pytest.raises(ModelError, match="'arm' has no frame 'upper/tol'; did you mean 'upper/tool'"):
        mb["upper/tol"]


# -- parameters -----------------------------------------------------------------------------------------------


def test_parameters_can_be_set_and_the_state_is_kept():
    mb = arm()
    mb.set_state([0.1, 0.2, 0.3], [1, 2, 3], [4, 5, 6])
    old, version, parameters = mb.state(), mb.version, mb.parameters
    assert mb.pose("upper/tool", state=old).translation[2] != 7.0
    upper = mb["upper"]
    upper.inertia = Inertia(5.0)
    upper.inboard = Pose(translation=(0, 0, 1.0))
    upper.outboard = Pose(translation=(0, 0, 2.0))
    mb["upper/tool"].pose = Pose(translation=(0, 0, 4.0))
    mb.gravity = (0, 0, -1)
    assert (mb.version, mb.parameters) == (version, parameters + 5)
    assert mb.total_mass == 6.0
    np.testing.assert_allclose(mb.pose("upper/tool").translation, [0, 0, 7.0])
    for now, then in ((mb.q, [0.1, 0.2, 0.3]), (mb.v, [1, 2, 3]), (mb.vdot, [4, 5, 6])):
        np.testing.assert_array_equal(now, then)
    np.testing.assert_allclose(mb.pose("upper/tool", state=old).translation, [0, 0, 7.0])  # an old state too
    np.testing.assert_array_equal(mb.sko(old).b(0), mb.sko().b(0))
    mb.add_body("more", None, Pin((0, 0, 1)))
    with pytest.raises(StaleError, match="this state of 'arm' was made before a structural change of the model"):
        mb.sko(old)


@pytest.mark.parametrize(("name", "value"), [("inertia", 3.0), ("inboard", (0, 0, 0)), ("outboard", "x")])
def test_bad_parameters_are_refused(name, value):
    mb = arm()
    before, version = getattr(mb["upper"], name), mb.version
    with pytest.raises(ModelError, match="'upper' must be"):
        setattr(mb["upper"], name, value)
    assert getattr(mb["upper"], name) is before
    assert mb.version == version


def test_adding_a_node_keeps_states_fresh():
    mb = arm()
    state = mb.state()
    grip = mb["lower"].add_node("grip", Pose(translation=(1, 0, 0)))
    np.testing.assert_allclose(mb.pose(grip, state=state).translation, [1, 0, 0.1])


# -- order never changes the physics --------------------------------------------------------------------------


def rebuilt(mb, order):
    """The same model with its bodies added in another order (children always after their parents)."""
    other = Multibody(mb.name, mb.gravity)
    waiting = [mb.bodies[k] for k in order]
    while waiting:
        for body in list(waiting):
            if body.parent is mb.root or body.parent.name in other:
                parent = None if body.parent is mb.root else body.parent.name
                twin = other.add_body(body.name, parent, body.hinge, body.inertia, body.inboard, body.outboard)
                for node in body.nodes:
                    twin.add_node(node.name, node.pose)
                waiting.remove(body)
                break
    q, v, vdot = np.empty(mb.nq), np.empty(mb.nv), np.empty(mb.nv)
    for body in mb.bodies:
        twin = other[body.name]
        q[twin.q_slice], v[twin.v_slice] = mb.q[body.q_slice], mb.v[body.v_slice]
        vdot[twin.v_slice] = mb.vdot[body.v_slice]
    other.set_state(q, v, vdot)
    return other


@pytest.mark.parametrize("seed", range(5))
def test_insertion_order_never_changes_the_physics(seed):
    mb = random_tree(14, seed=seed, bases=2)
    other = rebuilt(mb, np.random.default_rng(seed).permutation(len(mb)))
    assert [body.name for body in mb.bodies] != [body.name for body in other.bodies]
    for body in mb.bodies:
        np.testing.assert_allclose(mb.pose(body), other.pose(body.name), atol=1e-12)
        np.testing.assert_allclose(mb.velocity(body), other.velocity(body.name), atol=1e-10)
        np.testing.assert_allclose(mb.acceleration(body), other.acceleration(body.name), atol=1e-8)
        j, k = mb.index(body), other.index(body.name)
        for axes in ("body", "inertial", "origin"):
            one, two = mb.sko(axes=axes), other.sko(axes=axes)
            for quantity in ("H", "M", "a", "b"):
                left, right = getattr(one, quantity)(j), getattr(two, quantity)(k)
                np.testing.assert_allclose(left, right, atol=1e-8)


def test_dofs_of_quaternion_hinges():
    mb = Multibody("m")
    mb.add_body("base", None, Free())
    mb.add_body("ball", "base", Spherical())
    mb.add_body("slide", "ball", Prismatic((1, 0, 0)))
    assert (mb.nq, mb.nv) == (12, 10)
    assert mb.dof_names == (*(f"base.{i}" for i in range(6)), "ball.0", "ball.1", "ball.2", "slide")
    assert (mb["slide"].q_slice, mb["slide"].v_slice) == (slice(11, 12), slice(9, 10))
    np.testing.assert_array_equal(mb.neutral(), [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0])
