"""Loop closures and couplings as records of a model: made, refused, kept through edits, seen from sub-graphs."""

import numpy as np
import pytest

from soacraft.errors import LoopError, ModelError, StaleError
from soacraft.model import Actuator, Multibody, refuse_loops, serial_chain
from soacraft.model.hinges import Free, Gimbal, Hinge, Pin, RollingBall, Spherical, Universal, Weld
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.spatial import Inertia, Pose


def fork():
    """Two legs of two pins on a base, a node on each tip."""
    mb = Multibody("fork")
    for side, y in (("left", 0.5), ("right", -0.5)):
        upper = mb.add_body(f"{side}1", None, Pin((0, 1, 0)), Inertia(1.0), Pose(translation=(0, y, 0)))
        lower = mb.add_body(f"{side}2", upper, Pin((0, 1, 0)), Inertia(1.0), Pose(translation=(1, 0, 0)))
        lower.add_node("tip", Pose(translation=(1, 0, 0)))
    return mb


def ties(mb):
    """All a refused call must leave as it was."""
    return mb.version, tuple(mb.loops), tuple(mb.couplings), mb.actuators, mb.is_closed, mb.current


def refused(mb, call, text, error=ModelError):
    before = ties(mb)
    with pytest.raises(error) as raised:
        call(mb)
    assert str(raised.value) == text
    assert ties(mb) == before


# -- closing a loop -----------------------------------------------------------------------------------------------


def test_a_closure_holds_what_it_was_given():
    mb = fork()
    version = mb.version
    made = mb.close_loop("ring", "left2/tip", mb["right2/tip"], Spherical(), attributes={"stiff": [1, 2.5]})
    assert mb.version == version + 1
    assert mb.loops["ring"] is made is mb.loops[0]
    assert (made.a, made.b, made.hinge, made.active) == (mb["left2/tip"], mb["right2/tip"], Spherical(), True)
    assert dict(made.attributes) == {"stiff": (1, 2.5)}
    assert mb.loops.names == ("ring",)
    assert "ring" in mb.loops
    assert "other" not in mb.loops
    assert mb.is_closed
    assert repr(made) == "loop 'ring': 'right2/tip' on 'left2/tip' by Spherical()"


@pytest.mark.parametrize("ends", [("inertial", "left2"), ("left1", "right2/tip"), ("inertial/dock", "right1")])
def test_a_closure_ends_on_bodies_nodes_or_the_inertial_frame(ends):
    mb = fork()
    mb.root.add_node("dock")
    made = mb.close_loop("ring", *ends, Weld())
    assert (made.a, made.b) == (mb[ends[0]], mb[ends[1]])


def test_inactive_ties_do_not_close_a_graph():
    mb = fork()
    off = mb.close_loop("off", "left2", "right2", Weld(), active=False)
    gear = mb.couple("gear", {"left1": 1, "right1": -1}, active=np.False_)
    assert not mb.is_closed
    assert repr(off) == "loop 'off': 'right2' on 'left2' by Weld(), inactive"
    assert repr(gear) == "coupling 'gear': 1 left1 + -1 right1 = 0, inactive"
    refuse_loops("inverse_dynamics", mb)


def test_is_closed_follows_every_change():
    mb = fork()
    assert not mb.is_closed
    mb.close_loop("a", "left2", "right2", Weld())
    mb.couple("c", {"left1": 1})
    mb.close_loop("b", "left1", "right1", Weld(), active=False)
    mb.remove_loop("a")
    assert mb.is_closed
    mb.remove_coupling(mb.couplings["c"])
    assert not mb.is_closed
    mb.remove_loop(mb.loops["b"])
    assert not mb.is_closed
    assert mb.loops == mb.couplings == ()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda mb: mb.close_loop("ring", "left1", "right1", Weld()),
            "'fork' already has a loop 'ring'; names are unique.",
        ),
        (
            lambda mb: mb.close_loop(" ", "left1", "right1", Weld()),
            "the name of a loop must be a non-empty string, got ' '.",
        ),
        (
            lambda mb: mb.close_loop(3, "left1", "right1", Weld()),
            "the name of a loop must be a non-empty string, got 3.",
        ),
        (
            lambda mb: mb.close_loop("x", "left9", "right1", Weld()),
            "'fork' has no frame 'left9'; did you mean 'left2' or 'left1' or 'left2/tip'?",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", None, Weld()),
            "give a frame of 'fork' or its name, got None; the ground is 'inertial'.",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", fork()["right1"], Weld()),
            "body 'right1' belongs to another model of the same name, 'fork'.",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", "right1", None),
            "loop 'x' needs a hinge such as Pin(axis=(0, 0, 1)), Spherical(), or Weld() for a rigid attachment; "
            "none was given.",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", "right1", Weld(), active=1),
            "active of 'x' must be True or False, got 1.",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", "right1", Weld(), attributes=[1]),
            "the attributes of loop 'x' must be a mapping from names to values, got [1].",
        ),
        (
            lambda mb: mb.close_loop("x", "left1", "right1", Weld(), attributes={"a": np.nan}),
            "'a' in the attributes of loop 'x' must be finite, got nan.",
        ),
        (lambda mb: mb.remove_loop("rng"), "there is no loop 'rng'; did you mean 'ring'?"),
        (lambda mb: mb.remove_loop("zzz"), "there is no loop 'zzz'; there are 'ring'."),
        (lambda mb: mb.remove_loop(7), "loop 7 is not one of these: 'ring'."),
    ],
)
def test_bad_closures_are_refused_and_change_nothing(call, text):
    mb = fork()
    mb.close_loop("ring", "left2/tip", "right2/tip", Spherical())
    refused(mb, call, text)


@pytest.mark.parametrize(
    ("ends", "hinge", "text"),
    [
        (
            ("left2", "left2/tip"),
            Weld(),
            "loop 'x': 'left2' and 'left2/tip' are both on 'left2'; a loop closes between two bodies.",
        ),
        (
            ("inertial", "inertial"),
            Weld(),
            "loop 'x': 'inertial' and 'inertial' are both on 'inertial'; a loop closes between two bodies.",
        ),
        (("left2", "right2"), Free(), "loop 'x': Free() leaves all six freedoms, so it closes nothing."),
    ],
)
def test_closures_that_close_nothing(ends, hinge, text):
    refused(fork(), lambda mb: mb.close_loop("x", *ends, hinge), text, LoopError)


def test_a_closure_of_another_model_is_not_taken_for_its_namesake():
    mb, other = fork(), fork()
    for each in (mb, other):
        each.close_loop("ring", "left2", "right2", Weld())
        each.couple("gear", {"left1": 1, "right1": -1})
    text = "loop loop 'ring': 'right2' on 'left2' by Weld() is not one of these: 'ring'."
    refused(mb, lambda mb: mb.remove_loop(other.loops["ring"]), text)
    text = "coupling coupling 'gear': 1 left1 + -1 right1 = 0 is not one of these: 'gear'."
    refused(mb, lambda mb: mb.remove_coupling(other.couplings["gear"]), text)


def test_removed_frames_are_stale_for_closures():
    mb = fork()
    tip = mb["left2/tip"]
    mb["left2"].remove_node("tip")
    with pytest.raises(StaleError, match="node 'left2/tip' was removed from 'fork'"):
        mb.close_loop("x", tip, "right2", Weld())


def test_closing_and_opening_keeps_the_state():
    mb = fork()
    mb.set_state([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4], [5, 6, 7, 8])
    mb.set_force("left2/tip", [0, 0, 0, 0, 0, 1])
    before = mb.current
    mb.close_loop("ring", "left2", "right2", Weld())
    mb.couple("gear", {"left1": 1})
    with pytest.raises(StaleError):
        before.require_fresh()
    mb.remove_loop("ring")
    for now, then in ((mb.q, before.q), (mb.v, before.v), (mb.vdot, before.vdot)):
        np.testing.assert_array_equal(now, then)
    assert mb.current.forces == before.forces


# -- couplings ----------------------------------------------------------------------------------------------------


def test_a_coupling_holds_what_it_was_given():
    mb = fork()
    mimic = mb.couple("mimic", {"left1": 1, "left2": -2.5}, offset=0.5, attributes={"from": "file"})
    assert dict(mimic.terms) == {"left1": (1.0,), "left2": (-2.5,)}
    assert (mimic.offset, mimic.active, mimic.linear) == (0.5, True, True)
    assert repr(mimic) == "coupling 'mimic': 1 left1 + -2.5 left2 = 0.5"
    curve = mb.couple("curve", {"left1": (0, 2, 0), "right1": np.array([1.0])})
    assert dict(curve.terms) == {"left1": (0.0, 2.0), "right1": (1.0,)}
    assert not curve.linear
    assert repr(curve) == "coupling 'curve': 2 left1^2 + 1 right1 = 0"
    assert mb.couplings.names == ("mimic", "curve")
    with pytest.raises(TypeError):
        curve.terms["left1"] = (1.0,)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda mb: mb.couple("gear", {"left1": 1}), "'fork' already has a coupling 'gear'; names are unique."),
        (lambda mb: mb.couple("", {"left1": 1}), "the name of a coupling must be a non-empty string, got ''."),
        (lambda mb: mb.couple("x", {}), "coupling 'x' needs {dof: ratio, ...}, got {}."),
        (lambda mb: mb.couple("x", ["left1"]), "coupling 'x' needs {dof: ratio, ...}, got ['left1']."),
        (
            lambda mb: mb.couple("x", {"knee": 1}),
            "coupling 'x': 'fork' has no dof, hinge or body 'knee'; it has 'left1', 'left2', 'right1', 'right2'.",
        ),
        (
            lambda mb: mb.couple("x", {3: 1}),
            "coupling 'x': give a body, hinge or dof of 'fork', or its name, got 3.",
        ),
        (lambda mb: mb.couple("x", {"left1": 0.0}), "coupling 'x': the ratio of 'left1' is zero; leave the dof out."),
        (lambda mb: mb.couple("x", {"left1": ()}), "coupling 'x': the ratio of 'left1' is zero; leave the dof out."),
        (
            lambda mb: mb.couple("x", {"left1": (0, 0)}),
            "coupling 'x': the ratio of 'left1' is zero; leave the dof out.",
        ),
        (
            lambda mb: mb.couple("x", {"left1": np.inf}),
            "the ratio of 'left1' in coupling 'x' must be finite, got inf at index 0",
        ),
        (
            lambda mb: mb.couple("x", {"left1": "2"}),
            "the ratio of 'left1' in coupling 'x' must be real numbers, got text: ['2']",
        ),
        (
            lambda mb: mb.couple("x", {"left1": [[1, 2]]}),
            "the ratio of 'left1' in coupling 'x' must have shape (any,), got shape (1, 2)",
        ),
        (lambda mb: mb.couple("x", {"left1": 1}, offset=np.nan), "the offset of coupling 'x' must be finite, got nan"),
        (
            lambda mb: mb.couple("x", {"left1": 1}, offset=[0.0]),
            "the offset of coupling 'x' must have shape (), got shape (1,)",
        ),
        (lambda mb: mb.couple("x", {"left1": 1}, active="yes"), "active of 'x' must be True or False, got 'yes'."),
        (
            lambda mb: mb.couple("x", {"left1": 1}, attributes={1: 2}),
            "the attributes of coupling 'x' must be a mapping from names to values, got {1: 2}.",
        ),
        (lambda mb: mb.remove_coupling("geer"), "there is no coupling 'geer'; did you mean 'gear'?"),
    ],
)
def test_bad_couplings_are_refused_and_change_nothing(call, text):
    mb = fork()
    mb.couple("gear", {"left1": 1, "right1": -3})
    refused(mb, call, text)


def test_ragged_ratios_are_refused():
    with pytest.raises(ModelError, match="the ratio of 'left1' in coupling 'x' must be an array of real numbers"):
        fork().couple("x", {"left1": [[1], [1, 2]]})


class BodyRates(Gimbal):
    """Three angles whose velocities are not their rates."""

    def qdot(self, q, v):
        return np.asarray(v) * 2.0


@pytest.mark.parametrize("hinge", [Spherical(), Free(), RollingBall(radius=0.1), BodyRates()], ids=repr)
def test_dofs_of_quasi_velocities_cannot_be_coupled(hinge):
    mb = Multibody("ball")
    mb.add_body("arm", None, Pin((0, 0, 1)), Inertia(1.0))
    mb.add_body("ball", "arm", hinge, Inertia.sphere(1.0, 0.1))
    assert "ball.0" in mb.dof_names
    why = f"the velocities of {hinge!r} are not rates of its coordinates."
    text = f"coupling 'x': 'ball' has no coordinate 'ball.0': {why}"
    refused(mb, lambda mb: mb.couple("x", {"arm": 1, "ball.0": 1}), text)


def test_a_long_list_of_coordinates_is_cut():
    with pytest.raises(ModelError) as error:
        serial_chain(12).couple("x", {"knee": 1})
    assert str(error.value).endswith("'knee'; it has " + ", ".join(f"'link{k}'" for k in range(1, 9)) + ", ....")
    with pytest.raises(ModelError, match="'knee'; it has none"):
        Multibody("empty").couple("x", {"knee": 1})


def test_coordinate_names_point_at_their_coordinates():
    mb = Multibody("mixed")
    hinges = (
        Pin((0, 0, 1)),
        Spherical(),
        Universal((1, 0, 0), (0, 1, 0)),
        Weld(),
        Gimbal(),
        RollingBall(radius=0.1),
        Pin((1, 0, 0)),
    )
    for k, hinge in enumerate(hinges):
        mb.add_body(f"b{k}", f"b{k - 1}" if k else None, hinge)
    found = coordinate_names(mb)
    assert set(found) == {"b0", "b2.0", "b2.1", "b4.0", "b4.1", "b4.2", "b6"}
    for name, i in found.items():
        body, _, part = name.partition(".")
        assert i == mb.q_slice(body).start + int(part or 0)


# -- refusals of algorithms ---------------------------------------------------------------------------------------


def test_refuse_loops_names_what_is_closed():
    mb = fork()
    refuse_loops("inverse_dynamics", mb)
    mb.close_loop("ring", "left2", "right2", Weld())
    mb.close_loop("off", "left1", "right2", Weld(), active=False)
    tail = (
        "which the tree alone does not know. Pass ignore_loops=True for the tree without them, or solve with "
        "them: sc.loops.ConstraintEmbedding(mb)."
    )
    with pytest.raises(LoopError) as error:
        refuse_loops("inverse_dynamics", mb)
    assert str(error.value) == f"inverse_dynamics: 'fork' has loop 'ring', {tail}"
    mb.couple("gear", {"left1": 1})
    mb.couple("twin", {"right1": 1})
    with pytest.raises(LoopError) as error:
        refuse_loops("mass_matrix", mb)
    assert str(error.value) == f"mass_matrix: 'fork' has loop 'ring' and couplings 'gear', 'twin', {tail}"
    refuse_loops("mass_matrix", mb, True)
    refuse_loops("mass_matrix", mb, np.True_)
    with pytest.raises(LoopError) as error:
        refuse_loops("mass_matrix", mb, "yes")
    assert str(error.value) == "ignore_loops of mass_matrix must be True or False, got 'yes'."


def test_refuse_loops_with_very_many_loops():
    mb = serial_chain(16)
    for k in range(14):
        mb.close_loop(f"ring{k}", "inertial", f"link{k + 1}", Weld())
    with pytest.raises(LoopError, match=r"loops 'ring0', .*, 'ring9', \.\.\., 'ring13', which"):
        refuse_loops("mass_matrix", mb)


# -- what they hold is not taken away -----------------------------------------------------------------------------


def held():
    mb = fork()
    mb.close_loop("ring", "left2/tip", "inertial", Spherical(), active=False)
    mb.couple("gear", {"left1": 1, "right1": -1}, active=False)
    mb.add_actuator(Actuator("motor", "motor", {"right2": 50.0}))
    mb.set_state([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4])
    return mb


LOOP = "'left2/tip' is an end of loop 'ring'; take that away first with mb.remove_loop('ring')."
GEAR = "dof {!r} is part of coupling 'gear'; take that away first with mb.remove_coupling('gear')."
MOTOR = "dof 'right2' is part of actuator 'motor'; take that away first with mb.remove_actuator('motor')."


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda mb: mb["left2"].remove_node("tip"), LOOP),
        (lambda mb: mb.remove("left2"), LOOP),
        (lambda mb: mb.remove("left1", subtree=True), LOOP),
        (lambda mb: mb.remove("right2"), MOTOR),
        (lambda mb: mb.remove("right1", subtree=True), GEAR.format("right1")),
        (lambda mb: mb.reattach("right1", None, Weld()), GEAR.format("right1")),
        (lambda mb: mb.reattach("right1", None, Universal((1, 0, 0), (0, 1, 0))), GEAR.format("right1")),
        (lambda mb: mb.reattach("right1", None, Pin((0, 0, 1)), hinge_name="hip"), GEAR.format("right1")),
        (lambda mb: mb.reattach("right2", "left2", Spherical()), MOTOR),
    ],
)
def test_what_is_held_is_not_taken_away(call, text):
    mb = held()
    refused(mb, call, text)
    assert "left2/tip" in mb
    assert len(mb) == 4


def test_what_is_held_goes_once_it_is_free():
    mb = held()
    mb.remove_loop("ring")
    mb.remove_coupling("gear")
    mb.remove_actuator("motor")
    mb["left2"].remove_node("tip")
    mb.remove("left1", subtree=True)
    mb.reattach("right2", None, Spherical())
    assert [body.name for body in mb.bodies] == ["right1", "right2"]


def test_reattaching_with_the_same_dofs_is_allowed():
    mb = held()
    mb.reattach("right1", "left1", Pin((1, 0, 0)))
    mb.reattach("left2", None, Universal((1, 0, 0), (0, 1, 0)))  # an end of the loop, and nothing uses its dofs
    mb.reattach("right2", "left2", Pin((0, 0, 1)))
    assert mb.loops["ring"].a is mb["left2/tip"]
    assert mb.couplings["gear"].terms["right1"] == (-1.0,)


def test_actuated_dofs_may_become_quasi_velocities_coupled_ones_not():
    mb = Multibody("hip")
    mb.add_body("ball", None, Gimbal())
    mb.add_actuator(Actuator("motor", "motor", {"ball.1": 1.0}))
    mb.reattach("ball", None, Spherical())
    mb.reattach("ball", None, Gimbal())
    mb.remove_actuator("motor")
    mb.couple("lock", {"ball.1": 1})
    refused(
        mb,
        lambda mb: mb.reattach("ball", None, Spherical()),
        "dof 'ball.1' is part of coupling 'lock'; take that away first with mb.remove_coupling('lock').",
    )


# -- sub-graphs ---------------------------------------------------------------------------------------------------


def test_a_sub_graph_has_what_is_wholly_inside():
    mb = fork()
    mb.close_loop("ring", "left2/tip", "right2/tip", Spherical())
    mb.close_loop("foot", "inertial", "left2", Weld())
    mb.couple("gear", {"left1": 1, "right1": -1})
    mb.couple("lock", {"left2": 1}, offset=0.2)
    g = mb.subgraph(["left1", "left2"])
    assert (g.loops.names, g.couplings.names) == (("foot",), ("lock",))
    assert g.loops["foot"] is mb.loops["foot"]
    one = mb.subgraph(["left1"])
    assert (one.loops.names, one.couplings.names, one.is_closed) == ((), (), False)
    whole = mb.subgraph(["left1", "left2", "right1", "right2"])
    assert (whole.loops, whole.couplings) == (mb.loops, mb.couplings)
    with pytest.raises(LoopError, match=r"'fork\[left1, left2\]' has loop 'foot' and coupling 'lock'"):
        refuse_loops("mass_matrix", g)


def test_is_closed_of_a_sub_graph_is_found_once_and_goes_stale(monkeypatch):
    mb = fork()
    mb.close_loop("foot", "inertial", "left2", Weld())
    g = mb.subgraph(["left1", "left2"])
    assert g.is_closed
    monkeypatch.setattr(type(g), "loops", property(lambda self: pytest.fail("asked again")))
    assert g.is_closed
    mb.remove_loop("foot")
    with pytest.raises(StaleError, match=r"make it again with mb.subgraph\(\['left1', 'left2'\]\)"):
        _ = g.is_closed


# -- copies -------------------------------------------------------------------------------------------------------


def test_a_copy_has_its_own_closures_and_couplings():
    mb = fork()
    mb.root.add_node("dock")
    mb.close_loop("ring", "left2/tip", "inertial/dock", Pin((0, 1, 0)), active=False, attributes={"a": "b"})
    mb.couple("gear", {"left1": (1, 2), "right1": -1}, 0.25, attributes={"poly": True})
    mb.set_state([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4], [5, 6, 7, 8])
    twin = mb.copy("twin")
    loop, gear = twin.loops["ring"], twin.couplings["gear"]
    assert (loop.a, loop.b) == (twin["left2/tip"], twin["inertial/dock"])
    assert (loop.hinge, loop.active, dict(loop.attributes)) == (Pin((0, 1, 0)), False, {"a": "b"})
    assert (dict(gear.terms), gear.offset, gear.active) == ({"left1": (1.0, 2.0), "right1": (-1.0,)}, 0.25, True)
    assert dict(gear.attributes) == {"poly": True}
    for now, then in ((twin.q, mb.q), (twin.v, mb.v), (twin.vdot, mb.vdot)):
        np.testing.assert_array_equal(now, then)
    twin.remove_loop("ring")
    assert mb.loops.names == ("ring",)
    assert mb.is_closed
    assert twin.is_closed
    twin.remove_coupling("gear")
    assert mb.is_closed
    assert not twin.is_closed


def test_a_hinge_of_ones_own_closes_a_loop():
    class Slot(Hinge):
        nq = nv = 1

        def neutral(self):
            return np.zeros(1)

        def pose(self, q):
            return Pose(translation=(q[0], 0, 0))

        def H_T(self, q):
            return np.eye(6)[:, 3:4]

    mb = fork()
    assert mb.close_loop("slot", "left2", "right2", Slot()).hinge == Slot()


def test_a_loop_and_a_coupling_do_not_share_a_name():
    mb = serial_chain(3)
    mb.couple("tie", {"link1": 1, "link2": -1})
    with pytest.raises(ModelError, match="'chain' already has a coupling 'tie'; names are unique"):
        mb.close_loop("tie", "inertial", "link3/tip", Spherical())
    mb.close_loop("ring", "inertial", "link3/tip", Spherical())
    with pytest.raises(ModelError, match="'chain' already has a loop 'ring'; names are unique"):
        mb.couple("ring", {"link1": 1, "link2": -1})
    assert (mb.loops.names, mb.couplings.names) == (("ring",), ("tie",))
