"""From the mass matrix to the O(n) forward dynamics, each step proved from the definitions of the operators."""

import numpy as np

import soacraft as sc

mb = sc.load("biped")
mb.set_state(*mb.random_state(seed=5))
s = sc.operators(mb)
H, E_phi, phi, M, P, D, K, psi, I = s["H E_phi phi M P D K psi I"]
massmat = H * phi * M * phi.T * H.T
factor, factor_inv = I + H * phi * K, I - H * psi * K

steps = {
    "Jain 2016 Eq. 25, the Riccati equation": (M, P - s.E_psi * P * s.E_psi.T),
    "Jain 2016 Eq. 26, from phi to psi": (H * phi, factor * H * psi),
    "Jain 2016 Eq. 27, between psi it is diagonal": (H * psi * M * psi.T * H.T, D),
    "Jain 2016 Eq. 28, the factors": (massmat, factor * D * factor.T),
    "Jain 2016 Eq. 29, the inverse of a factor": (factor.inv, factor_inv),
    "Jain 2016 Eq. 30, the inverse": (massmat * (factor_inv.T * D.inv * factor_inv), I),
    "Jain 2011 Eq. 57, the part of a": (
        massmat.inv * H * phi * M * phi.T, factor_inv.T * D.inv * H * psi * P + K.T * psi.T,
    ),
}
for name, (left, right) in steps.items():
    proof = sc.prove(left, right)
    print(f"{name}: {bool(proof)}, {len(proof.steps)} steps")

print(sc.prove(psi.inv, phi.inv + K * H))                 # one of them in full: Jain 2011 Eq. 43
print("not proved, since it is false:", not sc.prove(H * phi, H * psi))

T = np.linspace(-2.0, 2.0, mb.nv)                         # Jain 2016 Eq. 31
z = psi * (K * T + P * s.a + s.b)
nu = D.inv * (T - H * z)
vdot = nu - K.T * (psi.T * (H.T * nu + s.a))
expected = sc.dynamics.forward_dynamics(mb, mb.q, mb.v, T)
print("against forward_dynamics:", f"{np.max(np.abs(np.asarray(vdot) - expected)) / np.max(np.abs(expected)):.0e}")
