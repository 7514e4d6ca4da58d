"""Which models cannot overflow for moderate inputs: in sums, in divisions by inertias (rigid/model/moderate.hpp)."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.model.flat.compiled import CompiledModel

J = np.array([[1.0, 0.2, 0.1], [0.2, 1.5, -0.3], [0.1, -0.3, 2.0]])


def promise(mb):
    return CompiledModel.of(mb.layout).kernels.promise


def one(inertia, hinge=None):
    mb = sc.Multibody("one")
    mb.add_body("link", None, hinge or sc.Pin((0, 0, 1)), inertia)
    return mb


def test_usual_models_promise_both():
    assert promise(sc.serial_chain(4)) == promise(sc.load("arm7")) == (True, True)


@pytest.mark.parametrize("com", [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3), (-1, 2, -3), (3, -2, 1)])
def test_the_moment_about_the_centre_of_mass_counts(com):
    """Wherever that is, and whichever way the axes are: a thousandth of what the moment about the frame is."""
    assert promise(one(sc.Inertia(1.0, com, 1e-3 * J))) == (True, True)
    for k in range(3):
        assert promise(one(sc.Inertia(1.0, com, np.diag(np.roll([1e-3, 2e-3, 3e-3], k))))) == (True, True)  # a plate


def test_inertias_that_are_not_definite():
    """A rod along any axis has no moment about it."""
    for axis in (*np.eye(3), *(np.array(x) / np.sqrt(3.0) for x in ((1, 1, 1), (-1, 1, 1), (1, -1, 1), (1, 1, -1)))):
        rod = 0.1 * (np.eye(3) - np.outer(axis, axis))
        assert promise(one(sc.Inertia(1.0, (0.3, 0.4, 0.5), rod))) == (True, False)
    assert promise(one(sc.Inertia.point(1.0, (0.1, 0.2, 0.3)))) == (True, False)
    assert promise(one(sc.Inertia(1.0, (1e3, 0, 0), 1e-4 * np.eye(3)))) == (True, False)  # beyond its rounding
    assert promise(one(sc.Inertia(1e-50, (0, 0, 0), 1e-50 * np.eye(3)))) == (True, False)  # faint


def test_a_gimbal_has_links_without_inertia():
    assert promise(one(sc.Inertia(1.0, (0, 0, 0), J), sc.Gimbal())) == (True, False)


def test_dofs_far_from_a_radian():
    """Up to 2^10 of one, either way."""
    scales = {1024.0: True, 1025.0: False, 1 / 1024.0: True, 1 / 1025.0: False}
    for scale, solves in scales.items():
        hinge = sc.Screws([[0, 0, scale, 0, 0, 0]])
        assert promise(one(sc.Inertia(1.0, (0, 0, 0), J), hinge)) == (True, solves)


@pytest.mark.parametrize("what", ["mass", "length", "outboard", "moment", "armature", "gravity"])
@pytest.mark.parametrize("large", [2.0**30 - 1.0, 2.0**30])
def test_the_limit(what, large):
    """And it is looked at again when a parameter changes."""
    mb = sc.serial_chain(3)
    assert promise(mb) == (True, True)
    body = mb.bodies[-1]
    if what == "mass":
        body.inertia = sc.Inertia(large, (0, 0, 0), J)
    elif what == "moment":
        body.inertia = sc.Inertia(1.0, (0, 0, 0), large * np.eye(3))
    elif what == "length":
        body.inboard = sc.Pose(translation=(0, large, 0))
    elif what == "outboard":
        body.outboard = sc.Pose(translation=(0, 0, large))
    elif what == "armature":
        body.armature = large
    else:
        mb.gravity = (0, 0, -large)
    if what != "outboard":  # which the moment about the frame of the element is the square of
        assert promise(mb)[0] == (large < 2.0**30)
    else:
        assert promise(mb)[0] is False
