"""A user's own hinge in a model: one configuration at a time, on the same footing as the built-in ones."""

import numpy as np
import pytest

from soacraft.errors import ModelError
from soacraft.model import AXES, Multibody, random_inertia, random_pose
from soacraft.model.hinges import Hinge, Pin, Universal
from soacraft.spatial import Pose, from_axis_angle


class Cardan(Hinge):
    """A universal hinge about x then y, written by a user: no batches, no derivatives."""

    nq = nv = 2

    def neutral(self):
        return np.zeros(2)

    def pose(self, q):
        assert q.shape == (2,)
        return Pose(from_axis_angle((1, 0, 0), q[0]) @ from_axis_angle((0, 1, 0), q[1]))

    def H_T(self, q):
        c, s = np.cos(q[1]), np.sin(q[1])
        return np.array([[c, 0], [0, 1], [s, 0], [0, 0], [0, 0], [0, 0]])


def model(hinge):
    rng = np.random.default_rng(4)
    mb = Multibody("m")
    for k, each in enumerate((Pin((0, 0, 1)), hinge, Pin((1, 0, 0)), hinge)):
        parent = None if k == 0 else f"body{k}"
        mb.add_body(f"body{k + 1}", parent, each, random_inertia(rng), random_pose(rng), random_pose(rng))
    mb.set_state(*mb.random_state(3), vdot=np.ones(mb.nv))
    return mb


@pytest.mark.parametrize("axes", AXES)
def test_it_equals_the_built_in_hinge(axes):
    mine, theirs = model(Cardan()), model(Universal((1, 0, 0), (0, 1, 0)))
    Q = np.stack([theirs.random_state(k)[0] for k in range(3)])
    V = np.stack([theirs.random_state(k)[1] for k in range(3)])
    one, two = mine.sko(mine.state(Q, V), axes), theirs.sko(theirs.state(Q, V), axes)
    for k in one.nodes:
        for name in ("H", "M", "a", "b"):
            np.testing.assert_allclose(getattr(one, name)(k), getattr(two, name)(k), atol=1e-8)
    np.testing.assert_allclose(mine.integrate(Q, V), theirs.integrate(Q, V))
    mine.set_state(Q[0], V[0])
    theirs.set_state(Q[0], V[0])
    np.testing.assert_allclose(mine.acceleration("body4"), theirs.acceleration("body4"), atol=1e-8)


def test_its_wrong_results_are_refused():
    class Bad(Cardan):
        def H_T(self, q):
            return np.zeros((2, 6))

    class Lost(Cardan):
        def neutral(self):
            return np.zeros(3)

    mb = Multibody("m")
    mb.add_body("a", None, Bad())
    with pytest.raises(ModelError, match=r"Bad.H_T must return an array of shape \(1, 6, 2\)|\(6, 2\)"):
        mb.sko()
    mb = Multibody("m")
    mb.add_body("a", None, Lost())
    with pytest.raises(ModelError, match=r"neutral\(\) of Lost\(\) must have shape \(2,\), got shape \(3,\)"):
        mb.q  # noqa: B018
