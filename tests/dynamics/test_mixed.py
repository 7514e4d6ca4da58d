"""Mixed dynamics: any subset of dofs prescribed, also inside one hinge."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dynamics.calls import arguments, close, subtree, tree
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SingularError, StateError


@given(data=st.data(), seed=st.integers(0, 50))
@tries(25)
def test_any_subset(data, seed):
    mb = tree(seed % 4)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=mb.nv, max_size=mb.nv)))
    x = arguments(mb, seed)
    vdot, force = dyn.mixed_dynamics(mb, x["q"], x["v"], x["force"], x["vdot"], mask, x["f_ext"])
    np.testing.assert_array_equal(vdot[mask], x["vdot"][mask])
    np.testing.assert_array_equal(force[~mask], x["force"][~mask])
    close(dyn.inverse_dynamics(mb, x["q"], x["v"], vdot, x["f_ext"]), force, 1e-9)


def test_none_and_all_prescribed():
    g = subtree(tree(3, bases=1), anchor="moving")
    x = arguments(g, 1)
    args = (g, x["q"], x["v"], x["force"], x["vdot"])
    vdot, force = dyn.mixed_dynamics(*args, [], x["f_ext"])
    close(vdot, dyn.forward_dynamics(g, x["q"], x["v"], x["force"], x["f_ext"]))
    np.testing.assert_array_equal(force, x["force"])
    vdot, force = dyn.mixed_dynamics(*args, np.ones(g.nv, dtype=bool), x["f_ext"])
    close(force, dyn.inverse_dynamics(g, x["q"], x["v"], x["vdot"], x["f_ext"]))
    np.testing.assert_array_equal(vdot, x["vdot"])


def test_prescribed_by_name_number_and_mask():
    mb = sc.load("quadrotor_arm")
    x = arguments(mb, 2)
    args = (mb, x["q"], x["v"], x["force"], x["vdot"])
    mask = np.zeros(mb.nv, dtype=bool)
    mask[[0, 1, 2, 3, 4, 5, 7]] = True
    wanted = dyn.mixed_dynamics(*args, mask)
    for same in (mask.tolist(), ["hull", "arm"], [0, 1, 2, 3, 4, 5, 7], ["arm", *range(6)], np.flatnonzero(mask),
                 ("hull.0", "hull.1", "hull.2", "hull.3", "hull.4", "hull.5", "arm")):  # fmt: skip
        for ours, theirs in zip(dyn.mixed_dynamics(*args, same), wanted, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    one = dyn.mixed_dynamics(*args, "hull.4")
    for ours, theirs in zip(dyn.mixed_dynamics(*args, [4]), one, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_prescribed_hinge_needs_no_inertia():
    mb = sc.serial_chain(2)
    mb.add_body("tip", "link2", sc.Pin((0, 1, 0)))
    zero = np.zeros(3)
    with pytest.raises(SingularError, match="the hinge of 'tip' has no inertia to move"):
        dyn.forward_dynamics(mb, zero, zero, zero)
    vdot, force = dyn.mixed_dynamics(mb, zero, zero, zero, [0, 0, 5], ["tip"])
    assert vdot[2] == 5
    close(dyn.inverse_dynamics(mb, zero, zero, vdot), force)


KNOWN = (
    "prescribed dofs of 'chain' are given by a mask of 3 entries True or False, or by names "
    "('link1', 'link2', 'link3') or numbers of dofs; got "
)
REFUSED = [
    ([True, False], "the mask of prescribed dofs of 'chain' needs 3 entries, got 2."),
    (
        ["link9"],
        "prescribed dofs: 'chain' has no dof, hinge or body 'link9'; did you mean 'link3' or 'link2' or 'link1'?",
    ),
    ([3], "'chain' has dofs 0 to 2; there is no dof 3 to prescribe."),
    ([-1], "'chain' has dofs 0 to 2; there is no dof -1 to prescribe."),
    ([1, 0, 1], "the prescribed dofs of 'chain' name 1 twice; a mask is made of True and False."),
    ([1.0], KNOWN + "1.0."),
    (7, KNOWN + "7."),
    ({"link1": 1}, KNOWN + "{'link1': 1}."),
    (np.array(True), KNOWN + "array(True)."),
    ([True, 1, 0], KNOWN + "True."),
    (None, "mixed_dynamics needs the prescribed dofs: a mask, names or numbers; got None."),
]


@pytest.mark.parametrize(("prescribed", "text"), REFUSED, ids=[repr(given) for given, _ in REFUSED])
def test_refused(prescribed, text):
    mb, zero = sc.serial_chain(3), np.zeros(3)
    with pytest.raises(StateError) as error:
        dyn.mixed_dynamics(mb, zero, zero, zero, zero, prescribed)
    assert str(error.value) == text


def test_inverse_dynamics_with_free_modes():
    """Nothing acts along the modes, and the hinges accelerate as asked; a rigid tree has none."""
    mb = flexible_tree((-1, 0, 1), 2, (sc.Pin((0, 0.6, 0.8)), sc.Spherical()))
    own = mb.layout.own.v
    hinges = np.setdiff1d(np.arange(mb.nv), own)
    vdot = np.random.default_rng(1).standard_normal((3, mb.nv))
    T = dyn.inverse_dynamics(mb, mb.q, mb.v, vdot, modes="free")
    assert T.shape == (3, mb.nv)
    assert not T[:, own].any()
    moved = dyn.forward_dynamics(mb, mb.q, mb.v, T)
    np.testing.assert_allclose(moved[:, hinges], vdot[:, hinges], rtol=0, atol=1e-8)
    back = dyn.inverse_dynamics(mb, mb.q, mb.v, moved, modes="given")
    np.testing.assert_allclose(back, T, rtol=0, atol=1e-8 * np.abs(moved).max())
    out = np.empty((3, mb.nv))
    assert dyn.inverse_dynamics(mb, mb.q, mb.v, vdot, out=out, modes="free") is out
    np.testing.assert_array_equal(out, T)
    arm = sc.load("arm7")
    same = [dyn.inverse_dynamics(arm, arm.q, arm.v, np.ones(7), modes=x) for x in ("free", "given")]
    np.testing.assert_array_equal(*same)
    with pytest.raises(StateError, match="modes of inverse_dynamics must be 'given' or 'free', got 'none'"):
        dyn.inverse_dynamics(arm, arm.q, arm.v, np.ones(7), modes="none")
