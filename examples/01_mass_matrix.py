"""The mass matrix of an arm: its expression, its factors, its inverse."""

import numpy as np

import soacraft as sc
from soacraft.view import structure

mb = sc.load("arm7")
mb.q = np.linspace(-0.6, 0.9, mb.nq)
H, phi, M, D, K, psi, I = sc.operators(mb, "H phi M D K psi I")

massmat = H * phi * M * phi.T * H.T                       # Jain 2016 Eq. 1
print(massmat)                                            # an expression: nothing is computed yet
print(massmat.explain())
print("trace:", f"{massmat.trace():.6f}")

factor = I + H * phi * K                                  # Jain 2016 Eq. 28 to 30
factor_inv = I - H * psi * K
inverse = factor_inv.T * D.inv * factor_inv
print("massmat = factor D factor*:", (massmat - factor * D * factor.T).is_zero())
print("massmat inverse = I:", (massmat * inverse).is_identity())

by_numpy = np.linalg.inv(massmat.array())
print("inverse against numpy:", f"{np.max(np.abs(inverse.array() - by_numpy)) / np.max(np.abs(by_numpy)):.0e}")
print(structure(massmat))
