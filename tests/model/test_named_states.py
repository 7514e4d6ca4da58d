"""States given and read by the names of hinges, bodies and dofs."""

from __future__ import annotations

import gc
import pickle
import weakref

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StateError
from soacraft.model.flat.compiled import CompiledModel, fast_call


def leg() -> sc.Multibody:
    """hull (free, by `base`) -> thigh (universal, by `hip`) -> shank (pin, by `knee`) -> foot (ball, by `ankle`)."""
    mb = sc.Multibody("leg")
    inertia = sc.Inertia(2.0, (0.1, 0.0, -0.2), np.diag([0.3, 0.4, 0.5]))
    mb.add_body("hull", None, sc.Free(), inertia, hinge_name="base")
    mb.add_body("thigh", "hull", sc.Universal((1, 0, 0), (0, 1, 0)), inertia, hinge_name="hip")
    mb.add_body("shank", "thigh", sc.Pin((0, 1, 0)), inertia, sc.Pose(translation=(0, 0, -0.4)), hinge_name="knee")
    mb.add_body("foot", "shank", sc.Spherical(), inertia, sc.Pose(translation=(0, 0, -0.4)), hinge_name="ankle")
    mb.set_state(*mb.random_state(seed=3), vdot=np.arange(12.0))
    return mb


HALF = np.sqrt(0.5)


def test_what_is_named_changes_and_the_rest_stays():
    mb = leg()
    before = mb.current
    new = {"knee": 0.3, "foot": [0, 0, HALF, HALF], "hip.1": [-1.0]}
    mb.set_state(new, v={"base.5": 2.0}, vdot={mb["thigh"]: [5, 6]})
    q, v, vdot = np.array(before.q), np.array(before.v), np.array(before.vdot)
    q[9], q[10:14], q[8] = 0.3, (0, 0, HALF, HALF), -1.0
    v[5], vdot[6:8] = 2.0, (5, 6)
    assert np.allclose(mb.q, q, atol=1e-15)
    assert np.array_equal(mb.v, v)
    assert np.array_equal(mb.vdot, vdot)
    mb.q = {"knee": 0.5}
    assert mb.q_of("knee") == 0.5


def test_reading_by_name_is_reading_by_slice():
    for graph in (leg(), leg().subgraph(["shank", "foot"]), leg().state(q=np.tile(leg().q, (5, 1)))):
        g = graph.graph if isinstance(graph, sc.State) else graph
        for body in g.bodies:
            for given in (body, body.name, body.hinge_name):
                assert np.array_equal(graph.q_of(given), graph.q[..., g.q_slice(body)])
                assert np.array_equal(graph.v_of(given), graph.v[..., g.v_slice(body)])
        assert np.array_equal(graph.v_of("ankle.2"), graph.v[..., -1:])
    mb = leg()
    before = mb.current
    mb.set_state({body: mb.q_of(body) for body in mb.bodies}, {body.name: mb.v_of(body) for body in mb.bodies})
    assert np.allclose(mb.q, before.q, atol=1e-15)
    assert np.array_equal(mb.v, before.v)


def test_snapshots_sub_graphs_and_expressions():
    mb = leg()
    s = mb.state({"knee": 0.3}, {"knee": 0.7})
    assert (s.q_of("shank"), s.v_of("shank")) == (0.3, 0.7)
    assert s.replace(q={"hip.0": 0.1}).q_of("knee") == 0.3
    part = mb.subgraph(["shank", "foot"])
    part.set_state({"shank": 0.4}, {"ankle.1": 9.0})
    assert (part.q_of("knee"), mb.q_of("knee"), mb.v_of("ankle")[1]) == (0.4, 0.4, 9.0)
    assert part.state(q={"knee": -0.4}).q_of("knee") == -0.4
    H, phi, M = sc.operators(mb, "H phi M")
    mass_matrix = H * phi * M * phi.T * H.T
    moved = mb.state({"knee": 1.0}).q
    assert np.allclose(mass_matrix.at(q={"knee": 1.0}).array(), sc.dynamics.mass_matrix(mb, moved), atol=1e-12)


def test_batches_by_name():
    mb = leg()
    angles = np.linspace(0, 1, 5)
    s = mb.state({"knee": angles[:, None], "hip": [0.1, 0.2]})
    assert s.batch == (5,)
    assert np.array_equal(s.q_of("knee")[:, 0], angles)
    assert (s.q_of("hip") == [0.1, 0.2]).all()
    assert np.array_equal(s.replace(q={"hip.0": 7.0}).q_of("knee"), s.q_of("knee"))
    with pytest.raises(StateError, match=r"'knee' in q of 'leg' must have shape \(..., 1\), got shape \(5,\)"):
        mb.state({"knee": angles})
    with pytest.raises(StateError, match=r"the leading \(batch\) axes of the values do not agree: \(5, 1\), \(4, 2\)"):
        mb.state({"knee": angles[:, None], "hip": np.zeros((4, 2))})
    with pytest.raises(StateError, match="q of 'leg' holds one state, got an array of shape"):
        mb.set_state({"knee": angles[:, None]})


REFUSED = [
    ({"q": {"kne": 0.3}}, "q of 'leg': 'leg' has no dof, hinge or body 'kne'; did you mean 'knee' or 'ankle'?"),
    ({"v": {3: 0.3}}, "v of 'leg': give a body, hinge or dof of 'leg', or its name, got 3."),
    ({"q": {"knee": 0.3, "shank": 0.4}}, "q of 'leg': 'shank' is given twice, by different names; give it once."),
    ({"v": {"hip": [1, 2], "hip.1": 0.4}}, "v of 'leg': 'hip.1' is given twice, by different names; give it once."),
    ({"q": {"knee": [0.3, 0.4]}}, "'knee' in q of 'leg' must have shape (..., 1), got shape (2,)"),
    ({"q": {"ankle": 0.3}}, "'ankle' in q of 'leg' must have shape (..., 4), got shape ()"),
    ({"q": {"ankle": [0, 0, 0, 2]}}, "q of hinge 'ankle'"),
    ({"q": {"knee": np.nan}}, "'knee' in q of 'leg' must be finite, got nan at index 0"),
    ({"q": {"knee": None}}, "'knee' in q of 'leg' must be real numbers"),
    ({"q": {"knee": "0.3"}}, "'knee' in q of 'leg' must be real numbers, got text"),
    ({"q": {"ankle.1": 0.3}}, "q of 'leg': 'ankle.1' is a velocity of 'leg' and no coordinate: hinge 'ankle' has 4 "),
    ({"q": {"knee": 0.3}, "v": {"knee": np.inf}}, "'knee' in v of 'leg' must be finite"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_a_refused_name_or_value_changes_nothing(given, text):
    mb = leg()
    before = mb.current
    for call in (mb.set_state, mb.state, mb.subgraph(["shank", "foot", "thigh", "hull"]).set_state):
        with pytest.raises(StateError) as error:
            call(**given)
        assert text.replace("'leg'", "") in str(error.value).replace("'leg'", "").replace(
            "'leg[hull, thigh, shank, foot]'", ""
        )
    assert mb.current is before


def test_functions_of_q_take_all_of_it_by_name_or_refuse():
    mb = leg()
    by_name = {body.hinge_name: mb.q_of(body) for body in mb.bodies}
    assert np.allclose(sc.dynamics.mass_matrix(mb, by_name), sc.dynamics.mass_matrix(mb, mb.q), atol=1e-12)
    force = sc.dynamics.inverse_dynamics(mb, by_name, {body: mb.v_of(body) for body in mb.bodies}, mb.vdot)
    assert np.allclose(force, sc.dynamics.inverse_dynamics(mb, mb.q, mb.v, mb.vdot), atol=1e-12)
    with pytest.raises(StateError) as error:
        sc.dynamics.mass_matrix(mb, {"knee": 0.3, "hip.0": 1.0})
    assert str(error.value) == (
        "q of 'leg' is given by names, but not for 'base', 'hip', 'ankle'; name them too, or take the rest from the "
        "model's state: mb.state(q={...}).q."
    )
    with pytest.raises(StateError, match=r"force of 'leg' is given by names, but not for 'base', .*; name them too"):
        sc.dynamics.forward_dynamics(mb, mb.q, mb.v, {"knee": 1.0})


def test_assembly_and_kinematics_by_name():
    mb = sc.serial_chain(3)
    mb.set_state([-1.0, 1.2, 1.0])
    mb.root.add_node("hook", mb.pose("link3/tip"))
    mb.close_loop("ring", "inertial/hook", "link3/tip", sc.Pin((0, 1, 0)))
    s, crank = sc.loops.TreeAugmented(mb), mb["link1"]
    wanted = s.assemble([-0.9, 1.2, 1.0], fixed=["link1"])
    assert wanted[0] == -0.9
    for call in (
        lambda: s.assemble({"link1": -0.9}, fixed=["link1"]),
        lambda: s.assemble({crank: -0.9}, fixed=[crank]),
        lambda: s.assemble(mb.q, fixed={"link1": -0.9}),
    ):
        assert np.allclose(call(), wanted, atol=1e-9)
    arm = sc.serial_chain(2)
    r = sc.inverse_kinematics(arm, {"link2/tip": (1.0, 0.0, -1.0)}, q0={"link2": 1.2})
    assert np.allclose(r.q, [0.0, np.pi / 2], atol=1e-8)


def test_sizes_are_told_by_hinge():
    mb = leg()
    sizes = ("q", 14, "base (7), hip (2), knee, ankle (4)"), ("v", 12, "base (6), hip (2), knee, ankle (3)")
    for what, size, listed in sizes:
        with pytest.raises(StateError) as error:
            setattr(mb, what, np.zeros(3))
        assert str(error.value) == f"{what} of 'leg' has {size} entries, got 3; by hinge: {listed}."
    with pytest.raises(StateError, match=r"got 1; by hinge: link1, link2, .*, link10, \.\.\., link30\.$"):
        sc.serial_chain(30).q = [0.0]


# -- read-only arrays --------------------------------------------------------------------------------------------------


def test_an_assignment_to_an_entry_says_how_it_is_done():
    mb = leg()
    before = np.array(mb.q)
    with pytest.raises(StateError) as error:
        mb.q[9] = 0.3
    assert str(error.value) == (
        "q of 'leg' is read-only, so q[9] = 0.3 is refused. Set it by name, mb.set_state(q={'knee': 0.3}), or the "
        "whole, mb.q = [...]; a snapshot with some of it new is s.replace(q=...)."
    )
    with pytest.raises(StateError, match=r"v of 'leg' is read-only, .* mb\.set_state\(v=\{'base': \[\.\.\.\]\}\)"):
        mb.v[-12] = 1.0
    for change in (
        lambda x: x.__setitem__(slice(2), 1.0),
        lambda x: x.__setitem__(3, 1.0),
        lambda x: x[2:].__setitem__(0, 1.0),
        lambda x: x.__setitem__(99, 1.0),
        lambda x: x.__iadd__(1.0),
        lambda x: x.__imul__(2.0),
    ):
        for owner in (mb, mb.state(), mb.subgraph(["shank", "foot", "thigh"])):
            for what in ("q", "v", "vdot"):
                with pytest.raises(StateError, match=r"is read-only, so (q|v|vdot).* is refused\. Set it by name"):
                    change(getattr(owner, what))
    assert np.array_equal(mb.q, before)


def test_what_is_made_of_a_state_array_is_plain_and_can_be_written():
    mb = sc.serial_chain(3)
    mb.q = [0.1, 0.2, 0.3]
    made = [mb.q.copy(), np.array(mb.q), mb.q + 0.0, 2 * mb.q, np.sin(mb.q), mb.q[[0, 1]], mb.q.astype(float)]
    for x in [*made, mb.q @ np.eye(3)]:
        x[0] = 7.0
        x += 1.0
        assert x[0] == 8.0
    assert isinstance(mb.q.sum(), float)
    assert isinstance(mb.q[0], float)
    assert repr(mb.q) == "array([0.1, 0.2, 0.3])"
    assert np.array_equal(pickle.loads(pickle.dumps(mb.q)), mb.q)
    mb.q = mb.q + 0.1
    assert np.allclose(mb.q, [0.2, 0.3, 0.4])


def test_numbers_that_are_kept_do_not_keep_their_model():
    mb = sc.serial_chain(2)
    q, alive = mb.q, weakref.ref(mb)
    del mb
    gc.collect()
    assert alive() is None
    with pytest.raises(StateError, match=r"^q of a state is read-only, so q\[0\] = 1\.0 is refused"):
        q[0] = 1.0


def test_quick_calls_take_state_arrays():
    """A state's own arrays go to compiled code as plain ones do, without the way through Python."""
    mb = sc.load("arm7")

    def fallback(*args, **kwargs):
        raise AssertionError("the quick call left it to Python")

    call = fast_call(CompiledModel.of(mb.layout), "mass_matrix", ("q",), fallback)
    assert np.allclose(call(mb.q), sc.dynamics.mass_matrix(mb, np.array(mb.q)), atol=1e-12)
