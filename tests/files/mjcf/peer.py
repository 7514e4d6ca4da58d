"""A model file in MuJoCo's own hands, and states of ours in its coordinates.

The conversion is written from MuJoCo's documentation: a free joint has [position; quaternion w first] and velocities
[linear in the world; angular in the body]; hinges and slides count from `ref`.
"""

from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

MODELS = Path(__file__).parents[2] / "data" / "models"
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)


class InMujoco:
    """MuJoCo's model of a file; no length ranges of muscles, which take a simulation and play no part here."""

    def __init__(self, source):
        spec = mujoco.MjSpec.from_string(source) if "<" in str(source) else mujoco.MjSpec.from_file(str(source))
        spec.compiler.LRopt.mode = 0
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    def random(self, rng):
        """Random qpos and qvel."""
        m = self.model
        qpos, qvel = m.qpos0 + rng.uniform(-1.0, 1.0, m.nq), rng.uniform(-1.0, 1.0, m.nv)
        for j in range(m.njnt):
            at = m.jnt_qposadr[j] + (3 if m.jnt_type[j] == FREE else 0)
            if m.jnt_type[j] in (FREE, BALL):
                qpos[at : at + 4] = Rotation.random(rng=rng).as_quat()[[3, 0, 1, 2]]
        return qpos, qvel

    def put(self, qpos, qvel):
        """Work everything out there."""
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_forward(self.model, self.data)
        mujoco.mj_energyPos(self.model, self.data)
        mujoco.mj_energyVel(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)

    def mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        for row, one in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, row, one)
        return M

    def center_of_mass(self):
        return self.data.subtree_com[0].copy()

    def gravity_potential(self):
        """- sum m g . x, without springs."""
        m = self.model
        return -float(np.sum(m.body_mass[:, None] * self.data.xipos @ m.opt.gravity))

    def in_ours(self, qpos, qvel, parts=()):
        """q, v of ours, and N, n with qvel = N v, d qvel/dt = N vdot + n; `parts`: free joints that are taken apart."""
        m = self.model
        q, v = [np.zeros(0)], [np.zeros(0)]
        N, n = np.eye(m.nv), np.zeros(m.nv)
        for j in range(m.njnt):
            a, d = m.jnt_qposadr[j], m.jnt_dofadr[j]
            if m.jnt_type[j] == FREE:
                p, turn = qpos[a : a + 3], Rotation.from_quat(qpos[a + 3 : a + 7][[1, 2, 3, 0]])
                linear, omega = qvel[d : d + 3], qvel[d + 3 : d + 6]
                if j in parts:
                    q += [p, turn.as_quat()]
                    v += [linear, omega]
                    continue
                own = turn.inv().apply(linear)
                q += [turn.as_quat(), p]
                v += [omega, own]
                block = np.zeros((6, 6))
                block[:3, 3:], block[3:, :3] = turn.as_matrix(), np.eye(3)
                N[d : d + 6, d : d + 6] = block
                n[d : d + 3] = turn.apply(np.cross(omega, own))
            elif m.jnt_type[j] == BALL:
                q.append(qpos[a : a + 4][[1, 2, 3, 0]])
                v.append(qvel[d : d + 3])
            else:
                q.append([qpos[a] - m.qpos0[a]])
                v.append(qvel[d : d + 1])
        return np.concatenate(q), np.concatenate(v), N, n


def distance(ours, theirs):
    """The largest difference relative to the size of the result; where that is nothing, the difference itself."""
    ours, theirs = np.atleast_1d(ours), np.atleast_1d(theirs)
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max(initial=0.0) / (np.abs(theirs).max(initial=0.0) or 1.0))


def distances(mb, peer, rng, parts=()):
    """How far our dynamics are from MuJoCo's at a random state."""
    import soacraft.dynamics as dyn

    qpos, qvel = peer.random(rng)
    peer.put(qpos, qvel)
    q, v, N, n = peer.in_ours(qpos, qvel, parts)
    M, data = peer.mass_matrix(), peer.data
    return {
        "mass matrix": distance(dyn.mass_matrix(mb, q, ignore_loops=True), N.T @ M @ N),
        "bias force": distance(
            dyn.bias_force(mb, q, v, passive=False, ignore_loops=True), N.T @ (data.qfrc_bias + M @ n)
        ),
        "kinetic energy": distance(dyn.kinetic_energy(mb, q, v), data.energy[1]),
        "potential energy": distance(dyn.potential_energy(mb, q), peer.gravity_potential()),
        "centre of mass": distance(dyn.center_of_mass(mb, q), peer.center_of_mass()),
        "passive force": distance(
            dyn.passive_force(mb, q, v), N.T @ (data.qfrc_passive - data.qfrc_fluid)
        ),
    }
