"""Small systems computed by hand."""

import numpy as np
import pytest
from scipy.integrate import quad

import soacraft as sc
from soacraft import analysis

POINT = np.zeros((3, 3))


def test_the_double_pendulum():
    """Unit masses and lengths: Mcal = [[3 + 2 c, 1 + c], [1 + c, 1]], det = 1 + sin^2."""
    mb = sc.load("double_pendulum")
    q, v = np.array([0.4, 1.1]), np.array([0.7, -1.3])
    s, c = np.sin(q[1]), np.cos(q[1])
    dM = analysis.mass_matrix_gradient(mb, q)
    np.testing.assert_allclose(dM[..., 0], 0.0, atol=1e-14)
    np.testing.assert_allclose(dM[..., 1], [[-2 * s, -s], [-s, 0]], atol=1e-14)
    symbols = np.zeros((2, 2, 2))
    symbols[0, 0, 1] = symbols[0, 1, 0] = symbols[0, 1, 1] = -s
    symbols[1, 0, 0] = s
    np.testing.assert_allclose(analysis.christoffel(mb, q), symbols, atol=1e-14)
    C = analysis.coriolis_matrix(mb, q, v) @ v
    np.testing.assert_allclose(C, [-s * v[1] * (2 * v[0] + v[1]), s * v[0] ** 2], rtol=1e-13)
    np.testing.assert_allclose(analysis.log_det_gradient(mb, q), [0.0, 2 * s * c / (1 + s**2)], atol=1e-14)
    d = analysis.diagonalize(mb, q, v)
    D = [1 + (2 * c + 1) + 1 - (1 + c) ** 2, 1.0]  # of the upper, with the lower pin free; of the lower
    np.testing.assert_allclose([d.D["upper"][0, 0], d.D["lower"][0, 0]], D, rtol=1e-13)
    np.testing.assert_allclose(d.eta, [v[0], v[1] + (1 + c) * v[0]], rtol=1e-13)
    np.testing.assert_allclose(d.D_rate["upper"], [[2 * s * c * v[1]]], rtol=1e-12)


def test_the_spherical_pendulum():
    """A point mass on two angles a, b: Mcal = m l^2 diag(cos^2 b, 1)."""
    m, l = 1.7, 0.8
    mb = sc.Multibody("pendulum")
    mb.add_body("bob", None, sc.Universal((1, 0, 0), (0, 1, 0)), sc.Inertia(m, (0, 0, -l), POINT))
    (a, b), v = (0.3, 0.9), np.array([1.2, -0.4])
    wanted = np.zeros((2, 2, 2))
    wanted[0, 0, 1] = -m * l**2 * np.sin(2 * b)
    np.testing.assert_allclose(analysis.mass_matrix_gradient(mb, [a, b]), wanted, atol=1e-13)
    np.testing.assert_allclose(analysis.log_det_gradient(mb, [a, b]), [0.0, -2 * np.tan(b)], atol=1e-13)
    force = m * l**2 * np.sin(2 * b) * np.array([-v[0] * v[1], 0.5 * v[0] ** 2])
    np.testing.assert_allclose(analysis.coriolis_matrix(mb, [a, b], v) @ v, force, atol=1e-13)
    d = analysis.diagonalize(mb, [a, b], v)
    np.testing.assert_allclose(d.nu, np.sqrt(m) * l * np.array([np.cos(b) * v[0], v[1]]), atol=1e-13)
    np.testing.assert_allclose(d.C_nu @ d.nu, 0.0, atol=1e-13)
    lin = analysis.linearize(mb, [0, 0], [0, 0], [0, 0])
    np.testing.assert_allclose(np.abs(lin.eigenvalues.imag), np.sqrt(-mb.gravity[2] / l), rtol=1e-12)


def test_the_cart_pole():
    """Mcal = [[M + m, m l cos], [m l cos, J + m l^2]]."""
    mb = sc.load("cart_pole")
    cart, pole = (body.inertia for body in mb.bodies)
    M, m, l, J = cart.mass, pole.mass, np.linalg.norm(pole.com), pole.moment[1, 1]
    q, v = np.array([0.2, 0.6]), np.array([0.5, 1.5])
    s, c = np.sin(q[1]), np.cos(q[1])
    dM = analysis.mass_matrix_gradient(mb, q)
    np.testing.assert_allclose(dM[..., 1], [[0, -m * l * s], [-m * l * s, 0]], atol=1e-14)
    np.testing.assert_allclose(analysis.coriolis_matrix(mb, q, v) @ v, [-m * l * s * v[1] ** 2, 0], atol=1e-13)
    det = (M + m) * (J + m * l**2) - (m * l * c) ** 2
    np.testing.assert_allclose(analysis.log_det_gradient(mb, q), [0, 2 * (m * l) ** 2 * s * c / det], atol=1e-13)
    Y = analysis.parameter_regressor(mb, q, v, [0.3, -0.7]).matrix
    np.testing.assert_allclose(Y[:, 0], [0.3, 0.0], atol=1e-14)  # of the cart's mass: its acceleration, on the cart


# -- three equal masses, two rigid unit bonds, a free angle ----------------------------------------------------------

NORM, MEAN = 3.82644590996, 0.3210210538742288


def molecule(hinge, axial):
    """A bond with masses at both ends, floating, and another with one mass, on a hinge; z is along each bond."""
    mb = sc.Multibody("molecule", (0, 0, 0))
    spin = np.diag([0.0, 0.0, axial])
    first = sc.Inertia(2.0, (0, 0, -0.5), np.diag([0.5, 0.5, 0.0]) + spin)
    mb.add_body("first", None, sc.Free(), first)
    mb.add_body("second", "first", hinge, sc.Inertia(1.0, (0, 0, 1.0), spin))
    return mb


def mean_of(weight):
    """The integral of a density over the angle, and the mean of cos^2."""
    total = quad(weight, 0, np.pi, epsabs=1e-13, epsrel=1e-13)[0]
    return total, quad(lambda x: np.cos(x) ** 2 * weight(x), 0, np.pi, epsabs=1e-13, epsrel=1e-13)[0] / total


def test_the_bias_of_rigid_bonds():
    """With the angle as a coordinate sqrt(det) itself is the density: sin th sqrt(4 - cos^2 th)."""
    mb = molecule(sc.Pin((0, 1, 0)), 0.0)

    def root(angle):
        """sqrt(det Mcal) at an angle between the bonds."""
        q = np.concatenate([mb.neutral()[:7], [angle]])
        return float(np.exp(analysis.fixman_potential(mb, q)))

    angles = np.linspace(0.2, 3.0, 9)
    shape = np.sin(angles) * np.sqrt(4 - np.cos(angles) ** 2)
    ratio = np.array([root(x) for x in angles]) / shape
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-11)
    total, mean = mean_of(root)
    np.testing.assert_allclose(total / ratio[0], NORM, rtol=1e-11)
    np.testing.assert_allclose(mean, MEAN, rtol=1e-11)
    for angle in (0.7, 2.0):
        q = np.concatenate([mb.neutral()[:7], [angle]])
        wanted = 2 / np.tan(angle) + 2 * np.sin(angle) * np.cos(angle) / (4 - np.cos(angle) ** 2)
        np.testing.assert_allclose(analysis.log_det_gradient(mb, q), [0, 0, 0, 0, 0, 0, wanted], atol=1e-11)


@pytest.mark.parametrize("axial", [0.1, 2.0])
def test_the_fixman_potential_undoes_it(axial):
    """On ball joints, whose velocities measure solid angles, what is left with the potential is sin th / 2."""
    mb = molecule(sc.Spherical(), axial)
    kT = 0.6

    def potential(angle):
        turn = [0.0, np.sin(0.5 * angle), 0.0, np.cos(0.5 * angle)]
        return float(analysis.fixman_potential(mb, [*mb.neutral()[:7], *turn], kT))

    def rigid(angle):
        return np.sin(angle) * np.exp(potential(angle) / kT)  # momenta integrated out: sqrt(det)

    total, mean = mean_of(rigid)
    np.testing.assert_allclose(mean, MEAN, rtol=1e-11)
    np.testing.assert_allclose(rigid(1.0) / total, np.sin(1.0) * np.sqrt(4 - np.cos(1.0) ** 2) / NORM, rtol=1e-11)
    total, mean = mean_of(lambda x: rigid(x) * np.exp(-potential(x) / kT))
    np.testing.assert_allclose([total, mean], [2.0, 1 / 3], rtol=1e-12)
