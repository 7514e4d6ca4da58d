"""A factorization of your own: the mass matrix with implicit damping, H phi M phi* H* + Lambda, inverted in O(n).

An implicit integrator needs (massmat + h*damping)^-1 at each step. The Riccati equation of the articulated bodies takes
Lambda along,

    P = M + E_phi (P - P H* D^-1 H P) E_phi*,    D = H P H* + Lambda,    G = P H* D^-1,    K = E_phi G

and the innovations factorization follows as in the paper. Nothing of soacraft is changed for it: Lambda and P are
operators made of numbers, everything else is written with them.
"""

import numpy as np

import soacraft as sc

mb = sc.load("biped")
q, v = mb.random_state(seed=3)
s = sc.operators(mb.sko(mb.state(q, v)))  # the blocks at one state
H, E_phi, phi, M, I = s["H E_phi phi M I"]

rng = np.random.default_rng(0)
Lambda = s.diagonal("Lambda", rng.uniform(0.01, 0.1, s.hinge.size))

# The recursion, tips to base: blocks are arrays.
P_blocks, rest = {}, {}
for k in s.sko.tips_to_base():
    P = M[k, k] + sum(E_phi[k, j] @ rest[j] @ E_phi[k, j].T for j in s.sko.children(k))
    D = H[k, k] @ P @ H[k, k].T + Lambda[k, k]
    P_blocks[k], rest[k] = P, P - P @ H[k, k].T @ np.linalg.solve(D, H[k, k] @ P)
P = s.block_diagonal("P_damped", P_blocks, space="body")

# The operators of the new factorization.
D = H * P * H.T + Lambda
G = P * H.T * D.inv
K = E_phi * G
psi = (I - E_phi * (I - G * H)).inv
factor, factor_inv = I + H * phi * K, I - H * psi * K
damped = H * phi * M * phi.T * H.T + Lambda

print("damped mass matrix:", damped)
print("factorization:", (damped - factor * D * factor.T).is_zero())
inverse = factor_inv.T * D.inv * factor_inv
print("inverse:", (damped * inverse).is_identity())
kinds = [step.kind for step in inverse.explain().product]
print("sweeps of a product with the inverse:", ", ".join(kinds))
x = rng.standard_normal(s.hinge.size)
print("against a dense solve:", np.allclose(inverse * x, np.linalg.solve(damped.array(), x)))

# A square-root factor, for diagonal coordinates or for drawing samples: R R* = damped.
R = factor * D.sqrt()
print("square-root factor:", (R * R.T - damped).is_zero())
