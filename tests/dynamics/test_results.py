"""Results for all bodies: names, arrays, arithmetic."""

import numpy as np
import pytest
from tests.dynamics.calls import arguments, close, tree

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StaleError


def test_poses():
    mb = tree(1)
    x = arguments(mb, 2, (3,))
    found = dyn.poses(mb, x["q"])
    assert (found.rotation.shape, found.translation.shape) == ((3, 13, 3, 3), (3, 13, 3))
    assert (len(found), found.bodies) == (13, mb.bodies)
    T = np.asarray(found)
    assert T.shape == (3, 13, 4, 4)
    assert np.asarray(found, dtype=np.float32).dtype == np.float32
    for k, (body, pose) in enumerate(zip(mb.bodies, found, strict=True)):
        assert pose.batch_shape == (3,)
        close(pose.as_matrix(), T[:, k])
        close(found[body.name].as_matrix(), T[:, k])
    node = mb["body1/tip"]
    close(found[node].as_matrix(), (found["body1"] @ node.pose).as_matrix())
    assert found["inertial"] == sc.Pose()
    assert repr(found) == f"poses of 'random tree' (13 bodies, {mb.nv} dofs, batch (3,))"
    with pytest.raises(ModelError, match="give a frame of 'random tree' or its name, got 0"):
        found[0]


def test_poses_do_not_freeze_the_arrays_given_as_out():
    mb = sc.serial_chain(2)
    R, p = np.empty((2, 3, 3)), np.empty((2, 3))
    found = dyn.poses(mb, [0.1, 0.2], out=(R, p))
    pose = found["link2"]
    assert found.rotation is R
    assert R.flags.writeable
    R[...] = 0.0
    assert pose.rotation.any()


def test_body_arrays():
    mb = tree(1)
    x = arguments(mb, 2, (3,))
    V = dyn.velocities(mb, x["q"], x["v"])
    array = np.asarray(V)
    assert V.shape == array.shape == (3, 13, 6)
    assert (V.ndim, len(V), V.expressed_in, V.bodies) == (3, 3, "'inertial'", mb.bodies)
    np.testing.assert_array_equal(V["body3"], array[:, 2])
    np.testing.assert_array_equal(V[mb.bodies[2]], array[:, 2])
    np.testing.assert_array_equal(V[1, 2], array[1, 2])
    np.testing.assert_array_equal(2 * V - array, array)
    np.testing.assert_array_equal(V + V, 2 * array)
    np.testing.assert_array_equal(np.sum(V, axis=0), array.sum(axis=0))
    np.testing.assert_array_equal(np.stack(list(V)), array)
    assert type(V + 1) is np.ndarray
    assert np.asarray(V, dtype=np.float32).dtype == np.float32
    R = dyn.composite_inertia(mb, x["q"])
    assert R["body3"].shape == (3, 6, 6)
    with pytest.raises(ModelError, match="composite inertias are those of bodies; 'body1/tip' is not a body"):
        R["body1/tip"]
    with pytest.raises(ModelError, match="interbody forces are those of bodies; 'inertial' is not a body"):
        dyn.interbody_forces(mb, x["q"], x["v"], x["vdot"])["inertial"]


def test_their_text():
    V = dyn.velocities(sc.serial_chain(1), [0.0], [1.0])
    assert repr(V) == (
        "velocities of 'chain' (1 body, 1 dof), expressed in 'inertial':\narray([[0., 1., 0., 0., 0., 0.]])"
    )
    own = dyn.velocities(sc.serial_chain(1), [0.0], [1.0], "body")
    assert own.expressed_in == "each body's own axes"
    assert dyn.velocities(sc.serial_chain(2), [0, 0], [1, 0], "link2").expressed_in == "'link2'"


def test_names_after_a_structural_change():
    mb = sc.serial_chain(2)
    found, V = dyn.poses(mb, [0, 0]), dyn.velocities(mb, [0, 0], [1, 0])
    mb.remove("link2")
    assert found.translation.shape == (2, 3)
    assert V[0].shape == (6,)
    for result in (found, V):
        with pytest.raises(StaleError) as error:
            result["link1"]
        assert str(error.value) == (
            "this result of 'chain' was made before a structural change of the model, so it no longer answers to "
            "names; its arrays are unchanged."
        )


def test_a_node_of_a_motion_that_overflows():
    """The body's own origin is at rest on the axis; far out a node moves too fast for a number."""
    mb = sc.serial_chain(1)
    mb.bodies[0].add_node("far", sc.Pose(translation=(1e200, 0, 0)))
    V = dyn.velocities(mb, [0.0], [1e150])
    assert np.isfinite(V["link1"]).all()
    with pytest.raises(sc.errors.StateError, match=r"the result of velocities for 'chain' is not finite"):
        V["link1/far"]
