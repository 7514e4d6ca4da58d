"""Derivatives of operators: the mass matrix along a dof and in time, the Coriolis matrix, second derivatives."""

import numpy as np

import soacraft as sc

mb = sc.load("biped")
mb.set_state(*mb.random_state(seed=3))
s = sc.operators(mb)
massmat = s.H * s.phi * s.M * s.phi.T * s.H.T

slope = massmat.diff("left_shank")                        # an expression: nothing is computed yet
print(slope)
print(sc.simplify(slope))                                 # Jain 2016 Eq. 42
print("cost:", massmat.cost().product, "for the mass matrix,", slope.cost().product, "for its derivative")


def differences(body, dof=0, step=1e-4):
    """The same by central differences, along the dof."""
    e = np.eye(mb.nv)[mb.v_slice(body).start + dof]
    ahead, behind = (massmat.at(q=mb.integrate(mb.q, t * e)).array() for t in (step, -step))
    return (ahead - behind) / (2 * step)


print("against differences:", f"{np.max(np.abs(slope.array() - differences('left_shank'))):.0e}")
print("of a gimbal, by the name of the dof:",
      f"{np.max(np.abs(massmat.diff('left_thigh', 'left_hip.2').array() - differences('left_thigh', 2))):.0e}")

# d/dt of the mass matrix less twice the Coriolis matrix is skew, so it does no work
rest = massmat.dot() - 2 * s.coriolis
print("skew:", (rest + rest.T).is_zero())
rate = mb.v @ np.asarray(massmat.dot() * mb.v)
print("v* (d/dt of the mass matrix) v:", f"{rate:.4f}")
print("v* (the skew rest) v:", f"{mb.v @ np.asarray(rest * mb.v):.0e}")

# the order of two derivatives does not matter for coordinates; where the velocity is not their rate, it does
ball = sc.Multibody("two links on ball joints")
for name, parent in (("upper", None), ("lower", "upper")):
    inertia = sc.Inertia(1.0, (0.1, 0.2, -0.5), np.diag([0.4, 0.3, 0.2]))
    ball.add_body(name, parent, sc.Spherical(), inertia, inboard=sc.Pose(translation=(0, 0, -1 if parent else 0)))
ball.set_state(*ball.random_state(seed=1))
b = sc.operators(ball)
massmat_b = b.H * b.phi * b.M * b.phi.T * b.H.T
gap = massmat_b.diff("lower", 0).diff("lower", 1) - massmat_b.diff("lower", 1).diff("lower", 0)
print("order of two derivatives matters:", not gap.is_zero())
print("by a turn about the third axis:", (gap + massmat_b.diff("lower", 2)).is_zero())
