"""The operational space: how two hands of a floating biped answer to forces at either of them."""

import numpy as np

import soacraft as sc

np.set_printoptions(precision=4, suppress=True)

mb = sc.load("biped")
mb.q = mb.random_state(seed=2)[0]
hands = ["left_forearm/hand", "right_forearm/hand"]
s = sc.operators(mb, axes="inertial")

compliance = s.B(hands).T * s.Omega * s.B(hands)         # Jain 2016 Eq. 34: J massmat^-1 J*
print(compliance)

# one block of Omega comes from the path between the two bodies, the rest is not formed
left, right = (mb[hand].carrier for hand in hands)
print("block of Omega:", s.Omega[left, right].shape, "norm", f"{np.linalg.norm(s.Omega[left, right]):.4f}")

# a unit force on the left hand accelerates both
f = np.zeros(12)
f[5] = 1.0
answer = compliance * f
for hand in hands:
    print(f"{hand:20} [d omega/dt; d^2 p/dt^2] =", answer[hand])

# the mass one feels when pushing the left hand along each axis
block = compliance[hands[0], hands[0]][3:, 3:]
print("effective mass, kg:", 1 / np.diag(block))

jacobian = s.B(hands).T * s.phi.T * s.H.T
massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
dense = jacobian.array() @ np.linalg.solve(massmat.array(), jacobian.array().T)
print("against J massmat^-1 J*:", f"{np.max(np.abs(compliance.array() - dense)) / np.max(np.abs(dense)):.0e}")
