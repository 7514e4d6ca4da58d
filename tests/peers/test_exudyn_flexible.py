"""A free flexible body against Exudyn's floating frame of reference: accelerations after one implicit step tend to ours
with the step. The numbers are Exudyn's, made by benchmarks/exudyn_flexible.py.
"""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.peers.exudyn_flexible import SEEDS, STEPS, drawn

import soacraft as sc
from soacraft.model.modal import ModalData
from soacraft.spatial.rotations import matrix_to_quaternion

FILE = Path(__file__).with_name("exudyn_flexible.json")


def ours(body):
    m, r, phi = body.m, body.r, body.phi
    data = ModalData(
        mass=m.sum(), first=m @ r, second=np.einsum("k,ka,kb->ab", m, r, r), p=np.einsum("k,kaj->ja", m, phi),
        N=np.einsum("k,ka,kbj->jab", m, r, phi), Q=np.einsum("k,kai,kbj->ijab", m, phi, phi),
        M=np.einsum("k,kai,kaj->ij", m, phi, phi), K=body.K,
    )  # fmt: skip
    mb = sc.Multibody("cloud", gravity=(0, 0, 0))
    mb.add_body("cloud", None, sc.Free(), modal=data)
    x, y, z = (sc.Pose.from_rpy(*(a if k == i else 0.0 for k in range(3))) for i, a in enumerate(body.angles))
    R = (x @ y @ z).rotation  # turns about x, then y, then z, each in the axes of before
    q = np.concatenate([matrix_to_quaternion(R), body.place, body.eta])
    v = np.concatenate([R.T @ body.omega, R.T @ body.velocity, body.rate])
    vdot = sc.dynamics.forward_dynamics(mb, q, v, np.zeros(mb.nv))
    mb.set_state(q, v, vdot)
    return np.concatenate([np.asarray(mb.acceleration("cloud")), vdot[6:]])


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_tend_to_ours_with_the_step(seed):
    mine, theirs = ours(drawn(seed)), json.loads(FILE.read_text())["accelerations"][str(seed)]
    size = np.abs(mine).max()
    off = [np.abs(np.array(theirs[str(h)]) - mine).max() / size for h in STEPS]
    assert off[-1] < 2e-8
    for coarse, fine in pairwise(off[:3]):  # of first order in the step
        assert coarse / fine == pytest.approx(10.0, rel=0.1)
