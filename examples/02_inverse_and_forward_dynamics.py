"""Inverse and forward dynamics written out in operators, with a force at the tool."""

import numpy as np

import soacraft as sc

np.set_printoptions(precision=4, suppress=True)

mb = sc.load("arm7")
q, v = mb.random_state(seed=3)
vdot = np.linspace(-1.0, 1.0, mb.nv)
mb.set_state(q, v)
push = sc.Wrench(moment=(0, 0, 0), force=(5, 0, -20), expressed_in="inertial")
s = sc.operators(mb, f_ext={"link7/tool": push})

# inverse dynamics, Jain 2016 Eq. 17: the generalized force that brings about vdot
massmat = s.H * s.phi * s.M * s.phi.T * s.H.T
C = s.H * (s.phi * (s.b + s.M * (s.phi.T * s.a)))
T = massmat * vdot + C
print("generalized force:", np.asarray(T))

# forward dynamics, Jain 2016 Eq. 31: two sweeps, no mass matrix
z = s.psi * (s.K * T + s.P * s.a + s.b)
nu = s.D.inv * (T - s.H * z)
alpha = s.psi.T * (s.H.T * nu + s.a)
back = nu - s.G.T * (s.E_phi.T * alpha)
print("round trip error:", f"{np.max(np.abs(np.asarray(back) - vdot)):.0e}")

# the same in one name: the vectors answer to a given force
answer = sc.operators(mb, f_ext={"link7/tool": push}, force=T).vdot
print("against force=T:", f"{np.max(np.abs(np.asarray(answer) - vdot)):.0e}")

# what the push costs: the difference it makes is the transposed Jacobian times the wrench
o = sc.operators(mb, axes="inertial")
jacobian = o.B("link7/tool").T * o.phi.T * o.H.T
share = sc.operators(mb).C - C
print("J* f against the difference:", f"{np.max(np.abs(np.asarray(jacobian.T * np.asarray(push) - share))):.0e}")
