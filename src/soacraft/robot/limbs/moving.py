"""Manipulability of the tips of a limb: measures of its Jacobian, in axes of the base, with their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.analysis.manipulability import (
    LOST,
    Manipulability,
    jacobian_gradient,
    measures,
    picked_rows,
    row_weights,
)
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.robot.limbs import ties
from soacraft.robot.limbs.chain import Chain
from soacraft.spatial.checks import Array


def measured(limb: Chain, q: Any, rows: Any, scale: Any) -> Manipulability:
    """`Limb.manipulability`. O(tips nv^2)."""
    configurations = limb.of_robot(q)
    J, dJ = _jacobian(limb, configurations)
    picked = picked_rows(rows, J.shape[-2])
    weight = row_weights(scale, len(picked))
    long = np.tile(np.repeat([1.0, 1.0 / limb.data.length], 3), len(limb.tips))[:, None]
    dofs, of_limb = limb.data.independent(limb) if limb.data.tied else (limb.v_places, np.arange(limb.nv))
    unit = limb.data.units[dofs[of_limb]]
    s = np.asarray(np.linalg.svd((J * long / unit)[..., picked, :], compute_uv=False))
    rank = np.sum((s > LOST * s[..., :1]) & (s > 0.0), axis=-1)
    return measures(J[..., picked, :] * weight[:, None], dJ[..., picked, :, :] * weight[:, None, None], rank)


def _jacobian(limb: Chain, configurations: Array) -> tuple[Array, Array]:
    """J and dJ at coordinates of the robot at which loops close. The base does not move with the limb, so that J seen
    from it is that in inertial axes, turned."""
    mb, v = limb.robot.mb, limb.v_places
    R = np.asarray(pose_of_frame(mb.state(configurations), limb.base)[0]).mT
    turned = np.zeros((*R.shape[:-2], 6 * len(limb.tips), 6 * len(limb.tips)))
    for k in range(0, turned.shape[-1], 3):
        turned[..., k : k + 3, k : k + 3] = R
    dJ = jacobian_gradient(mb, configurations, list(limb.tips), ignore_loops=True)[..., v, :][..., v]
    dJ = np.einsum("...ab,...bij->...aij", turned, dJ)
    J = limb.columns(configurations)
    if not limb.data.tied:
        return J[..., v], dJ
    rows, rates = [], []
    for i in np.ndindex(*configurations.shape[:-1]):
        m = ties.motions(limb, configurations[i])
        rows.append(J[i] @ m.X[:, m.own])
        rates.append(ties.gradient(limb, m, J[i], dJ[i]))
    batch = configurations.shape[:-1]
    shape = (*batch, J.shape[-2], len(limb.independent))
    return np.reshape(rows, shape), np.reshape(rates, (*shape, shape[-1]))
