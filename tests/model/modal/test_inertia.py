"""M(eta) of flexible bodies: the sum over their masses, and its derivatives by differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.modal.test_nodes import slope
from tests.model.modal.trees import Cloud, random_modal

from soacraft.model.modal import ModalData
from soacraft.model.modal.inertia import mass_derivatives, mass_matrix
from soacraft.spatial.rotations import skew


def summed(cloud, eta):
    """sum m J* J, J = [-r~, I, dr/d eta] of each mass."""
    slopes = cloud.phi if cloud.phi2 is None else cloud.phi + np.einsum("kaij,j->kai", cloud.phi2, eta)
    total = 0.0
    for m, r, phi in zip(cloud.m, cloud.at(eta), slopes, strict=True):
        J = np.concatenate([-skew(r), np.eye(3), phi], axis=1)
        total = total + m * J.T @ J
    return total


def test_without_a_second_order_it_is_the_sum_over_the_masses():
    rng = np.random.default_rng(1)
    cloud = Cloud(rng, 4, geometric=False)
    data = ModalData(**cloud.moments(), K=np.eye(4))
    eta = rng.standard_normal(4)
    np.testing.assert_allclose(mass_matrix(data, eta), summed(cloud, eta), rtol=0, atol=1e-13)


def test_with_a_second_order_it_is_the_sum_up_to_the_terms_left_out():
    """Inertia and first moment to second order, couplings to first, the modal mass to none."""
    rng = np.random.default_rng(2)
    cloud = Cloud(rng, 3)
    data = ModalData(**cloud.moments(), K=np.eye(3))
    eta = rng.standard_normal(3)
    off = [np.abs(mass_matrix(data, h * eta) - summed(cloud, h * eta)) for h in (1e-2, 5e-3)]
    body, modes = slice(6), slice(6, None)
    for rows, cols, order in ((body, body, 3), (body, modes, 2), (modes, modes, 1)):
        ratio = off[0][rows, cols].max() / off[1][rows, cols].max()
        assert ratio == pytest.approx(2.0**order, rel=0.05)


@pytest.mark.parametrize("geometric", [True, False])
def test_its_derivatives(geometric):
    rng = np.random.default_rng(3)
    data = random_modal(rng, 3, geometric)
    eta = rng.standard_normal((2, 3))
    found = mass_derivatives(data, eta)
    for j, unit in enumerate(np.eye(3)):
        wanted = slope(lambda t, e=unit: mass_matrix(data, eta + t * e))
        np.testing.assert_allclose(found[:, j], wanted, rtol=0, atol=1e-11)


def test_the_inertia_of_the_undeformed_body():
    rng = np.random.default_rng(4)
    data = random_modal(rng, 2)
    np.testing.assert_allclose(data.inertia.matrix(), mass_matrix(data, np.zeros(2))[:6, :6], rtol=0, atol=1e-13)
