"""What `arm.cpp` loads: a model, and an expression of its operators. Prints what Python computes of them."""

import sys

import numpy as np

import soacraft as sc

folder = sys.argv[1] if len(sys.argv) > 1 else "."
mb = sc.load("arm7")
H, phi, M = sc.operators(mb, "H phi M")
massmat = H * phi * M * phi.T * H.T

sc.save_core(mb, f"{folder}/arm.soacraft")
massmat.inv.compile().save(f"{folder}/massmat_inv.soacraft")

q, v, force = np.linspace(-0.6, 0.6, mb.nv), np.linspace(0.5, -0.5, mb.nv), np.ones(mb.nv)
vdot = sc.dynamics.forward_dynamics(mb, q, v, force)
J = sc.dynamics.jacobian(mb, q, "link7/tool")
for name, numbers in (("vdot", vdot), ("J v", J @ v), ("massmat.inv * force", massmat.at(q=q).inv * force)):
    print(f"{name}:", *(f"{x:.12e}" for x in np.asarray(numbers)))
