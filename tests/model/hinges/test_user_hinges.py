"""A user's own hinge: what it must give, what the defaults add, and that `check_hinge` finds mistakes."""

import numpy as np
import pytest

from soacraft.errors import ModelError
from soacraft.model.hinges import (
    Gimbal,
    H_T_of,
    Hinge,
    Planar,
    RollingBall,
    Spherical,
    bias_of,
    check_hinge,
    dbias_of,
    dH_of,
    difference_of,
    integrate_of,
    normalize_of,
    over_batch,
    pose_of,
    qdot_of,
)
from soacraft.spatial import Pose, from_axis_angle


class Cam(Hinge):
    """A turn about z with a travel of `lift sin(2 q)` along it: the least a hinge must have."""

    nq = nv = 1

    def __init__(self, lift=0.1):
        self.lift = lift

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        (angle,) = q                                            # a single configuration only
        return Pose(from_axis_angle((0, 0, 1), angle), (0, 0, self.lift * np.sin(2 * angle)))

    def H_T(self, q):
        (angle,) = q
        return np.array([[0], [0], [1], [0], [0], [2 * self.lift * np.cos(2 * angle)]])


class Bearing(Hinge):
    """A ball joint written from scratch, without batches."""

    nq, nv = 4, 3
    constant_H = True

    def neutral(self):
        return np.array([0.0, 0, 0, 1])

    def pose(self, q):
        assert q.ndim == 1
        return Pose.from_quaternion(q)

    def H_T(self, q):
        return np.eye(6, 3)

    def qdot(self, q, v):
        return Spherical().qdot(q, v)

    def integrate(self, q, dv):
        return Spherical().integrate(q, dv)

    def difference(self, q0, q1):
        return Spherical().difference(q0, q1)


def failing(hinge):
    report = check_hinge(hinge)
    assert not report.ok
    return {line.name for line in report.failures}


# -- what works ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hinge", [Cam(), Bearing()], ids=repr)
def test_a_hinge_with_the_least_passes(hinge):
    report = check_hinge(hinge)
    assert report.ok, report


def test_default_derivatives():
    q, v = np.array([0.4]), np.array([1.5])
    slope, curve = -4 * 0.1 * np.sin(0.8), -8 * 0.1 * np.cos(0.8)
    np.testing.assert_allclose(dH_of(Cam(), q)[0, 5, 0], slope, atol=1e-12)
    np.testing.assert_allclose(bias_of(Cam(), q, v), [0, 0, 0, 0, 0, slope * 1.5**2], atol=1e-11)
    in_q, in_v = dbias_of(Cam(), q, v)
    np.testing.assert_allclose(in_q[5], curve * 1.5**2, atol=1e-9)
    np.testing.assert_allclose(in_v[5], 2 * slope * 1.5, atol=1e-11)


@pytest.mark.parametrize("hinge", [Gimbal(), Planar(), RollingBall(0.3)], ids=repr)
def test_default_derivatives_equal_the_exact_ones(hinge):
    rng = np.random.default_rng(0)
    q, v = np.array([hinge.random(rng) for _ in range(3)]), rng.standard_normal((3, hinge.nv))
    np.testing.assert_allclose(Hinge.dH(hinge, q), hinge.dH(q), atol=1e-12)
    np.testing.assert_allclose(Hinge.bias(hinge, q, v), hinge.bias(q, v), atol=1e-13)
    for default, exact in zip(Hinge.dbias(hinge, q, v), hinge.dbias(q, v), strict=True):
        np.testing.assert_allclose(default, exact, atol=1e-11)


@pytest.mark.parametrize("hinge", [Cam(), Bearing()], ids=repr)
def test_the_model_layer_may_pass_any_batch(hinge):
    rng = np.random.default_rng(1)
    q = np.array([[hinge.random(rng) for _ in range(3)] for _ in range(2)])
    v = rng.standard_normal((2, 3, hinge.nv))
    assert pose_of(hinge, q).batch_shape == (2, 3)
    assert H_T_of(hinge, q).shape == (2, 3, 6, hinge.nv)
    assert dH_of(hinge, q).shape == (2, 3, hinge.nv, 6, hinge.nv)
    assert bias_of(hinge, q, v).shape == (2, 3, 6)
    assert [x.shape for x in dbias_of(hinge, q, v)] == [(2, 3, 6, hinge.nv)] * 2
    assert qdot_of(hinge, q, v).shape == q.shape
    assert integrate_of(hinge, q, v).shape == q.shape
    assert difference_of(hinge, q, q[::-1]).shape == v.shape
    assert normalize_of(hinge, q).shape == q.shape
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(H_T_of(hinge, q)[index], hinge.H_T(q[index]))
        np.testing.assert_array_equal(integrate_of(hinge, q, v)[index], hinge.integrate(q[index], v[index]))
    assert integrate_of(hinge, q[0, 0], v).shape == q.shape     # leading axes broadcast
    assert pose_of(hinge, q[:0]).batch_shape == (0, 3)
    assert H_T_of(hinge, q[:0]).shape == (0, 3, 6, hinge.nv)
    assert over_batch(hinge, "bias", q[:0], v[:0]).shape == (0, 3, 6)


def test_integers_become_floats():
    class Rail(Cam):
        def H_T(self, q):
            return [[0], [0], [1], [0], [0], [0]]

    assert H_T_of(Rail(), np.zeros(1)).dtype == np.float64


def test_printing_and_comparing():
    class Hidden(Cam):
        def __init__(self, lift):
            super().__init__(lift)
            self._secret = self.lift
            del self.lift

    assert repr(Cam(0.2)) == "Cam(lift=0.2)"
    assert repr(Bearing()) == "Bearing()"
    assert Cam(0.2) == Cam(0.2) != Cam(0.3)
    assert Hidden(0.2) == Hidden(0.2) != Hidden(0.3)


# -- mistakes in the mathematics are lines of the report -----------------------------------------------------


def test_wrong_sign_in_H():
    class Broken(Cam):
        def H_T(self, q):
            return super().H_T(q) * [[1], [1], [-1], [1], [1], [1]]

    assert "pose rate / H_T" in failing(Broken())


def test_linear_before_angular():
    class Broken(Cam):
        def H_T(self, q):
            return np.roll(super().H_T(q), 3, axis=0)

    assert "pose rate / H_T" in failing(Broken())


def test_H_in_inboard_axes():
    class Broken(Planar):
        def H_T(self, q):
            H = np.zeros((*np.shape(q)[:-1], 6, 3))
            H[..., 3, 0] = H[..., 4, 1] = H[..., 2, 2] = 1.0
            return H

    assert "pose rate / H_T" in failing(Broken())


def test_swapped_quaternion():
    class Broken(Bearing):
        def pose(self, q):
            return Pose.from_quaternion(q[[3, 0, 1, 2]])

    assert failing(Broken()) >= {"pose rate / H_T", "neutral pose is the identity"}


def test_conjugate_quaternion():
    class Broken(Bearing):
        def pose(self, q):
            return super().pose(q).inv

    assert "pose rate / H_T" in failing(Broken())


def test_integrate_from_the_left():
    class Broken(Bearing):
        def integrate(self, q, dv):
            return Spherical().integrate(q, self.pose(q).rotation.T @ dv)

    assert failing(Broken()) >= {"pose rate / H_T", "qdot / integrate", "integrate / difference"}


@pytest.mark.parametrize(("base", "arguments"), [(Gimbal, ()), (RollingBall, (0.3,))])
def test_wrong_dH(base, arguments):
    class Broken(base):
        def dH(self, q):
            return -super().dH(q)

    assert "dH / differences of H_T" in failing(Broken(*arguments))


def test_dH_forgotten():
    class Broken(Cam):
        constant_H = True

    assert failing(Broken()) == {"dH / differences of H_T", "bias / differences of H_T v"}


def test_wrong_bias_and_dbias():
    class BrokenBias(Planar):
        def bias(self, q, v):
            return 1.001 * super().bias(q, v)

    class BrokenInQ(Planar):
        def dbias(self, q, v):
            in_q, in_v = super().dbias(q, v)
            return 2 * in_q, in_v

    class BrokenInV(Planar):
        def dbias(self, q, v):
            in_q, in_v = super().dbias(q, v)
            return in_q, 0.5 * in_v

    assert "bias / differences of H_T v" in failing(BrokenBias())
    assert failing(BrokenInQ()) == {"dbias in q / differences of bias"}
    assert failing(BrokenInV()) == {"dbias in v / differences of bias"}


def test_wrong_qdot_difference_neutral_rotation_and_normalize():
    class BrokenRate(Bearing):
        def qdot(self, q, v):
            return 2 * super().qdot(q, v)

    class BrokenDifference(Bearing):
        def difference(self, q0, q1):
            return -super().difference(q0, q1)

    class BrokenNeutral(Cam):
        def neutral(self):
            return np.array([0.1])

    class BrokenRotation(Cam):
        def pose(self, q):
            return Pose.unchecked(1.1 * super().pose(q).rotation, np.zeros(3))

    class BrokenNormalize(Bearing):
        def normalize(self, q, what="q"):
            return -np.asarray(q)

    assert failing(BrokenRate()) == {"qdot / integrate"}
    assert failing(BrokenDifference()) == {"integrate / difference"}
    assert failing(BrokenNeutral()) == {"neutral pose is the identity"}
    assert "pose is a rigid motion" in failing(BrokenRotation())
    assert failing(BrokenNormalize()) == {"normalize keeps valid coordinates"}


def test_a_motion_counted_twice():
    class Broken(Cam):
        nq = nv = 2

        def neutral(self):
            return np.zeros(2)

        def pose(self, q):
            return super().pose([q[0] + q[1]])

        def H_T(self, q):
            return np.repeat(super().H_T([q[0] + q[1]]), 2, axis=1)

    assert failing(Broken()) == {"H_T has independent columns"}


def test_a_batch_that_mixes_its_entries():
    class Broken(Planar):
        def H_T(self, q):
            H = super().H_T(q)
            return H if H.ndim == 2 else H[::-1]

    assert "batch / one at a time" in failing(Broken())


def test_a_nonholonomic_hinge_must_refuse_difference():
    class Broken(RollingBall):
        def difference(self, q0, q1):
            return np.zeros(3)

    assert failing(Broken(0.3)) == {"difference refuses"}


def test_the_report_prints_as_a_table():
    class Broken(Cam):
        def H_T(self, q):
            return -super().H_T(q)

    text = repr(check_hinge(Broken()))
    assert text.startswith("Broken(lift=0.1): nq = 1, nv = 1; 1 of 12 checks failed\n")
    assert "  FAIL  pose rate / H_T                       2.0e+00  (allowed 1e-08)\n" in text
    assert "        pose(q) does not move as H_T(q) v along integrate(q, v t): look for a sign" in text
    assert "  ok    qdot / integrate  " in text
    good = check_hinge(Cam())
    assert repr(good).startswith("Cam(lift=0.1): nq = 1, nv = 1; all checks passed\n")
    assert len(good) == len(list(good)) == 12
    assert good.failures == ()


# -- mistakes in type and shape are errors that name the method ----------------------------------------------


class Wrong(Cam):
    """Returns `self.answers[method]` where given."""

    def __init__(self, **answers):
        super().__init__()
        self.answers = answers

    def pose(self, q):
        return self.answers.get("pose", Pose())

    def H_T(self, q):
        return self.answers.get("H_T", np.zeros((6, 1)))

    def integrate(self, q, dv):
        return self.answers.get("integrate", q + dv)

    def dbias(self, q, v):
        return self.answers.get("dbias", (np.zeros((6, 1)), np.zeros((6, 1))))

    def neutral(self):
        return self.answers.get("neutral", np.zeros(1))


@pytest.mark.parametrize(("method", "answer", "text"), [
    ("H_T", np.zeros(6), r"Wrong.H_T must return an array of shape \(6, 1\), got shape \(6,\)"),
    ("H_T", np.zeros((6, 2)), r"Wrong.H_T must return an array of shape \(6, 1\), got shape \(6, 2\)"),
    ("H_T", None, r"Wrong.H_T must return an array of real numbers of shape \(6, 1\), got NoneType of object"),
    ("H_T", 1j * np.ones((6, 1)), r"Wrong.H_T must return an array of real numbers of shape \(6, 1\), got ndarray of "
                                  "complex128"),
    ("H_T", [[1], [2, 3]], r"Wrong.H_T must return an array of shape \(6, 1\): "),
    ("H_T", np.full((6, 1), np.nan), "Wrong.H_T returned a number that is not finite"),
    ("pose", np.eye(4), r"Wrong.pose must return a Pose, got ndarray; Pose\(rotation, translation\) or "),
    ("pose", Pose(translation=np.zeros((2, 3))), r"Wrong.pose must return a Pose with leading axes \(\), got \(2,\)"),
    ("pose", Pose.unchecked(np.eye(3), np.full(3, np.inf)), "Wrong.pose returned a number that is not finite"),
    ("integrate", np.zeros(2), r"Wrong.integrate must return an array of shape \(1,\), got shape \(2,\)"),
    ("dbias", np.zeros((6, 1)), r"Wrong.dbias must return a pair \(in q, in v\), got ndarray"),
    ("dbias", (np.zeros(6), np.zeros((6, 1))), r"Wrong.dbias must return an array of shape \(6, 1\), got shape \(6,\)"),
    ("neutral", np.zeros(3), r"Wrong.neutral must return an array of shape \(1,\), got shape \(3,\)"),
])
def test_wrong_results_are_refused(method, answer, text):
    hinge = Wrong(**{method: answer})
    with pytest.raises(ModelError, match=text):
        check_hinge(hinge)
    calls = {"H_T": lambda q: H_T_of(hinge, q), "pose": lambda q: pose_of(hinge, q),
             "integrate": lambda q: integrate_of(hinge, q, q), "dbias": lambda q: dbias_of(hinge, q, q)}
    for q in (np.zeros(1), np.zeros((4, 1))):
        if method in calls:
            with pytest.raises(ModelError, match=text):
                calls[method](q)


def test_batched_hinges_are_checked_too():
    class Careless(Cam):
        batched = True

        def pose(self, q):
            return Pose()

        def H_T(self, q):
            return np.zeros((6, 1))

    with pytest.raises(ModelError, match=r"Careless.H_T must return an array of shape \(4, 6, 1\), got shape \(6, 1\)"):
        H_T_of(Careless(), np.zeros((4, 1)))
    with pytest.raises(ModelError, match=r"Careless.pose must return a Pose with leading axes \(4,\), got \(\)"):
        pose_of(Careless(), np.zeros((4, 1)))


def test_methods_that_must_be_written():
    class Forgot(Bearing):
        qdot, integrate, difference = Hinge.qdot, Hinge.integrate, Hinge.difference

    q, v = np.array([0.0, 0, 0, 1]), np.zeros(3)
    for call, arguments, name in [(qdot_of, (q, v), "qdot"), (integrate_of, (q, v), "integrate"),
                                  (difference_of, (q, q), "difference")]:
        with pytest.raises(ModelError, match=rf"Forgot has nq = 4 and nv = 3, so it must define {name}\(\); the"):
            call(Forgot(), *arguments)
    with pytest.raises(TypeError, match="abstract"):
        type("Empty", (Hinge,), {"nq": 1, "nv": 1})()


@pytest.mark.parametrize(("sizes", "text"), [
    ({"nq": 1}, "Sized.nv must be a whole number from 0 to 6, got None"),
    ({"nq": 1.0, "nv": 1}, r"Sized.nq must be a whole number from 0 to 64, got 1.0"),
    ({"nq": 7, "nv": 7}, "Sized.nv must be a whole number from 0 to 6, got 7"),
])
def test_sizes_are_checked(sizes, text):
    methods = {name: getattr(Cam, name) for name in ("neutral", "pose", "H_T")}
    with pytest.raises(ModelError, match=text):
        check_hinge(type("Sized", (Hinge,), {**methods, **sizes})())


def test_check_hinge_needs_an_instance():
    with pytest.raises(ModelError, match=r"check_hinge needs a Hinge, got .*; make an instance of the class first"):
        check_hinge(Cam)
    with pytest.raises(ModelError, match="check_hinge needs a Hinge, got 3"):
        check_hinge(3)
