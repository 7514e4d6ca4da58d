"""A body, its hinge or a dof is found from itself or its name, wherever one is meant."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, SpaceError, StateError
from soacraft.model.tree.names import find_body, find_coordinates, find_dofs, find_hinge, key_names

Z = (0.0, 0.0, 1.0)


def leg() -> sc.Multibody:
    """hull (free, by `base`) -> thigh (universal, by `hip`) -> shank (pin, by `knee`) -> foot (ball, by `ankle`)."""
    mb = sc.Multibody("leg")
    inertia = sc.Inertia(2.0, (0.1, 0.0, -0.2), np.diag([0.3, 0.4, 0.5]))
    mb.add_body("hull", None, sc.Free(), inertia, hinge_name="base")
    mb.add_body("thigh", "hull", sc.Universal((1, 0, 0), (0, 1, 0)), inertia, hinge_name="hip")
    mb.add_body("shank", "thigh", sc.Pin((0, 1, 0)), inertia, sc.Pose(translation=(0, 0, -0.4)), hinge_name="knee")
    mb.add_body("foot", "shank", sc.Spherical(), inertia, sc.Pose(translation=(0, 0, -0.4)), hinge_name="ankle")
    mb.body("foot").add_node("toe", sc.Pose(translation=(0.2, 0, 0)))
    mb.set_state(*mb.random_state(seed=3))
    return mb


def crossed() -> sc.Multibody:
    """Two bodies whose hinges have each other's names."""
    mb = sc.Multibody("crossed")
    mb.add_body("a", None, sc.Pin(Z), sc.Inertia(1.0), hinge_name="b")
    mb.add_body("b", "a", sc.Pin(Z), sc.Inertia(1.0), hinge_name="a")
    return mb


# -- the resolver -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("find", [find_body, find_hinge])
def test_a_body_is_found_from_itself_its_name_and_its_hinge(find):
    mb = leg()
    for body in mb.bodies:
        assert find(mb, body) is find(mb, body.name) is find(mb, body.hinge_name) is body
        assert mb.body(body.hinge_name) is mb[body.hinge_name] is body
        assert body.hinge_name in mb
    assert "toe" not in mb
    assert 3 not in mb


def test_every_dof_is_found_by_its_name():
    """Where `v_slice` puts it is where `dof_names` has it, and a hinge or body has all its dofs."""
    for mb in (leg(), leg().subgraph(["shank", "foot"]), sc.random_tree(14, seed=5), sc.load("hinges")):
        for i, name in enumerate(mb.dof_names):
            assert mb.v_slice(name) == slice(i, i + 1)
        for body in mb.bodies:
            k = mb.index(body)
            for given in (body, body.name, body.hinge_name):
                assert mb.v_slice(given) == mb.layout.v_slices[k]
                assert mb.q_slice(given) == mb.layout.q_slices[k]


def test_coordinates_by_dof():
    mb = leg()
    assert mb.q_slice("hip.1") == slice(mb.q_slice("hip").start + 1, mb.q_slice("hip").start + 2)
    with pytest.raises(ModelError) as error:
        mb.q_slice("ankle.1")
    assert str(error.value) == (
        "'ankle.1' is a velocity of 'leg' and no coordinate: hinge 'ankle' has 4 coordinates for 3 dofs; give 'ankle'."
    )


def test_the_kind_that_is_wanted_wins():
    mb = crossed()
    a, b = mb.bodies
    assert mb.index("a") == 0
    assert find_body(mb, "a") is a
    assert find_hinge(mb, "a") is b
    assert find_dofs(mb, "a") == (b, slice(0, 1))
    for find in (mb.q_slice, mb.v_slice, mb.q_of, mb.v_of, lambda name: find_coordinates(mb, name)):
        with pytest.raises(ModelError) as error:
            find("a")
        assert str(error.value) == (
            "'a' is a body of 'crossed' and the hinge of another, 'b'; give the body that is meant: mb.body('a') or "
            "mb.body('b')."
        )
    assert mb.q_slice(mb.body("a")) == slice(0, 1)
    with pytest.raises(StateError, match="q of 'crossed': 'a' is a body of 'crossed' and the hinge of another"):
        mb.set_state({"a": 1.0})
    assert mb.q.tolist() == [0.0, 0.0]
    mb.set_state({a: 1.0})
    assert mb.q.tolist() == [1.0, 0.0]
    # operators are labelled by bodies, dofs by hinges
    H = sc.operators(mb, "H")
    assert np.array_equal(H["a", "a"], H[0, 0])
    mask = sc.dynamics.arguments.read_prescribed(mb, ["a"])
    assert mask.tolist() == [False, True]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("kne", "'leg' has no body or hinge 'kne'; did you mean 'knee' or 'ankle'?"),
        ("zzz", "'leg' has no body or hinge 'zzz'; it has 'hull', 'base', 'thigh', 'hip', 'shank', 'knee', 'foot', "
                "'ankle'."),
        ("foot/toe", "'foot/toe' is not a body of 'leg'."),
        ("inertial", "'inertial' is not a body of 'leg'."),
        (3, "give a body, hinge or dof of 'leg', or its name, got 3."),
        (None, "give a body, hinge or dof of 'leg', or its name, got None."),
        (sc.Pin(Z), "a hinge of 'leg' is given by its name or by its body, got Pin(axis=(0, 0, 1))."),
    ],
)  # fmt: skip
def test_what_is_no_body_is_refused_with_names_near_it(given, text):
    mb = leg()
    for call in (mb.index, mb.body, mb.remove, lambda x: mb.subgraph([x]), lambda x: sc.aggregate(mb, [x])):
        with pytest.raises(ModelError) as error:
            call(given)
        assert str(error.value) == text


def test_bodies_of_others_are_refused():
    mb, twin = leg(), leg()
    part = mb.subgraph(["shank", "foot"])
    for call in (part.index, part.q_slice, part.v_slice, part.body):
        assert call("knee") == call("shank") == call(mb["shank"])
        with pytest.raises(ModelError, match=r"'thigh' is not on a body of 'leg\[shank, foot\]'; ask the model itself"):
            call("hip")
        with pytest.raises(ModelError, match="body 'shank' belongs to another model of the same name"):
            call(twin["shank"])
    assert "knee" in part
    assert "hip" not in part


def test_a_frame_is_not_given_by_a_hinge():
    mb = leg()
    text = "'leg' has no frame 'knee'; 'knee' is the hinge of body 'shank', whose frame is 'shank'."
    for call in (
        mb.frame,
        mb.pose,
        mb.node,
        lambda x: mb.set_force(x, np.ones(6)),
        lambda x: sc.dynamics.jacobian(mb, mb.q, x),
        lambda x: mb.add_body("new", x, sc.Pin(Z)),
    ):
        with pytest.raises(ModelError) as error:
            call("knee")
        assert str(error.value) == text


def test_nodes():
    mb = leg()
    toe = mb.node("foot/toe")
    assert toe is mb["foot/toe"] is mb.node(toe)
    assert isinstance(toe, sc.Node)
    with pytest.raises(ModelError, match="'foot' is a body of 'leg', not a node; give 'body/node'"):
        mb.node("foot")
    with pytest.raises(ModelError, match="'inertial' is the inertial frame of 'leg', not a node"):
        mb.node("inertial")


# -- where names are taken ---------------------------------------------------------------------------------------------


def test_blocks_and_stacked_vectors():
    mb = leg()
    s = sc.operators(mb)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    shank = mb["shank"]
    for expr in (s.H, s.phi, s.M, mass_matrix):
        wanted = expr["shank", "foot"]
        assert np.array_equal(expr["knee", "ankle"], wanted)
        assert np.array_equal(expr[shank, "ankle"], wanted)
        assert np.array_equal(expr["knee"]["foot"], wanted)
    assert np.array_equal(s.V["knee"], s.V["shank"])
    assert np.array_equal(s.T["hip"], s.T[1])
    B = s.B(["foot/toe", "shank"])
    assert np.array_equal(B["ankle", mb.node("foot/toe")], B["foot", 0])
    with pytest.raises(SpaceError, match="'leg' has no body or hinge 'kne'; did you mean 'knee'"):
        s.V["kne"]
    with pytest.raises(ModelError, match="body 'shank' belongs to another model"):
        s.V[leg()["shank"]]
    with pytest.raises(SpaceError, match=r"node\[12\] has no block 'hull'; its labels are 'foot/toe', 'shank'"):
        B["foot", "hull"]


def test_blocks_of_compound_systems():
    arm = sc.load("panda")
    s = sc.operators(sc.aggregate(arm, ["joint3", "link4"]))
    assert s.body.labels[3] == "link3+link4"
    assert np.array_equal(s.M["joint5", "joint5"], s.M["link5", "link5"])
    with pytest.raises(SpaceError, match=r"^body 'link4' is part of the compound body 'link3\+link4' of .*; give that"):
        s.M["joint4", "joint4"]


def test_diff_along_hinges_and_dofs():
    mb = leg()
    s = sc.operators(mb)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    for name, body, dof in (("knee", "shank", 0), ("hip.1", "thigh", 1), ("base.4", "hull", 4)):
        assert mass_matrix.diff(name).key() == mass_matrix.diff(body, dof).key()
        assert mass_matrix.diff(mb[body], dof).key() == mass_matrix.diff(body, dof).key()
    assert s.phi.diff("hip", "hip.1").key() == s.phi.diff("hip.1").key()
    # the derivative itself, by differences along that dof
    h, at = 1e-6, mb.v_slice("hip.1")
    e = np.zeros(mb.nv)
    e[at] = h
    two = [sc.dynamics.mass_matrix(mb, mb.integrate(mb.q, sign * e)) for sign in (1, -1)]
    assert np.allclose(mass_matrix.diff("hip.1").array(), (two[0] - two[1]) / (2 * h), atol=1e-7)
    with pytest.raises(ModelError, match=r"'hip\.1' is a dof already; there is no dof 1 of it"):
        s.phi.diff("hip.1", 1)
    with pytest.raises(ModelError, match=r"'leg' has no body or hinge 'hip\.2'; did you mean 'hip'"):
        s.phi.diff("hip.2")


def test_masks_of_dofs():
    mb = leg()
    wanted = np.zeros(mb.nv, dtype=bool)
    wanted[mb.v_slice("thigh")] = wanted[mb.v_slice("knee")] = True
    read = sc.dynamics.arguments.read_prescribed
    for given in (["hip", "knee"], ["thigh", "shank"], [mb["thigh"], "shank"], ["hip.0", "hip.1", 8], [mb["hip"], 8]):
        assert np.array_equal(read(mb, given), wanted)
    assert np.array_equal(read(mb, mb["hip"]), read(mb, "hip"))
    with pytest.raises(StateError) as error:
        read(mb, ["kne"], "fixed")
    assert str(error.value) == "fixed dofs: 'leg' has no dof, hinge or body 'kne'; did you mean 'knee' or 'ankle'?"
    with pytest.raises(StateError, match="the fixed dofs of 'leg' name 'shank' twice"):
        read(mb, ["knee", "shank"], "fixed")


def test_couplings_and_actuators():
    mb = leg()
    coupling = mb.couple("belt", {"hip.1": 1.0, mb["shank"]: -2.0})
    assert dict(coupling.terms) == {"hip.1": (1.0,), "knee": (-2.0,)}
    assert dict(mb.couple("other", {"hip.0": 1.0, "shank": 1.0}).terms) == {"hip.0": (1.0,), "knee": (1.0,)}
    motor = mb.add_actuator(sc.Actuator("motor", "motor", {mb["shank"]: 5.0, "hip.0": 1.0}))
    assert dict(motor.gears) == dict(mb.actuators["motor"].gears) == {"knee": 5.0, "hip.0": 1.0}
    for terms, text in (
        ({"thigh": 1.0}, "coupling 'x': 'thigh' of 'leg' is not one dof; its hinge has 'hip.0', 'hip.1'."),
        ({"knee": 1.0, "shank": 2.0}, "coupling 'x' names dof 'knee' twice; name it once."),
        ({"ankle.0": 1.0}, "coupling 'x': 'leg' has no coordinate 'ankle.0': the velocities of Spherical() are not "
                           "rates of its coordinates."),
    ):  # fmt: skip
        with pytest.raises(ModelError) as error:
            mb.couple("x", terms)
        assert str(error.value) == text
    with pytest.raises(ModelError, match="actuator 'm' names a dof of 'leg' twice"):
        mb.add_actuator(sc.Actuator("m", "motor", {"knee": 1.0, "shank": 1.0}))


def test_editing_by_hinge():
    mb = leg()
    assert mb.subgraph(["knee", "foot"]).bodies == (mb["shank"], mb["foot"])
    mb.body("knee").limits = sc.Limits(-0.5, 0.0)
    assert mb["shank"].limits.upper == 0.0
    mb.reattach("ankle", "thigh", sc.Pin(Z))
    mb.remove("knee")
    assert [body.name for body in mb.bodies] == ["hull", "thigh", "foot"]


def test_a_geared_hinge_refuses_what_would_meet_a_hinge_of_another_body():
    """Names of rotors are compared with bodies and hinges alike, and a refused call removes only what it added."""
    mb = sc.Multibody("arm")
    mb.add_body("base", None, sc.Pin(Z), sc.Inertia(1.0), hinge_name="upper_rotor")
    with pytest.raises(ModelError, match="geared hinge 'upper' needs the name 'upper_rotor', which 'arm' has already"):
        mb.add_geared_hinge("upper", "base", sc.Pin(Z), sc.Inertia(1.0), ratio=50, rotor=sc.Inertia(0.1))
    assert [body.name for body in mb.bodies] == ["base"]


def test_cuts_by_body_and_closure():
    mb = sc.serial_chain(3)
    ring = mb.close_loop("ring", "inertial", "link3/tip", sc.Pin((0, 1, 0)))
    wanted = sc.loops.cut(mb, cut=["link2"]).names
    assert wanted == sc.loops.cut(mb, cut=[mb["link2"]]).names == sc.loops.cut(mb, keep=[ring], cut=mb["link2"]).names
    with pytest.raises(sc.errors.LoopError, match="cut names 'link', which is not a joint; did you mean 'link3'"):
        sc.loops.cut(mb, cut="link")


def test_keys_complete_in_a_shell():
    mb = leg()
    keys = key_names(mb)
    assert keys == ["inertial", "hull", "thigh", "shank", "foot", "foot/toe", "base", "hip", "knee", "ankle"]
    assert mb._ipython_key_completions_() == keys
    assert [mb[key] for key in keys]
    part = mb.subgraph(["shank", "foot"])
    assert part._ipython_key_completions_() == ["inertial", "shank", "foot", "foot/toe", "knee", "ankle"]
