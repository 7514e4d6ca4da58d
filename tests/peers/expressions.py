"""What is compared with the peers, written with soacraft's operators as the papers print it.

Each function takes the operators of a model, `s = sc.operators(...)`.
"""

import soacraft as sc

I = sc.I


def mass_matrix(s):
    """000 Eq. 1: H phi M phi* H*."""
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def bias(s):
    """000 Eq. 17: C = H phi (b + M phi* a); gravity and external forces are in b."""
    return s.H * s.phi * (s.b + s.M * s.phi.T * s.a)


def inverse(s, vdot):
    """The force that vdot asks for (004 Eq. 1): H phi (M alpha + b), alpha = phi* (H* vdot + a)."""
    alpha = s.phi.T * (s.H.T * vdot + s.a)
    return s.H * s.phi * (s.M * alpha + s.b)


def forward(s, force):
    """000 Eq. 31: (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a."""
    H, psi, K, P, D = s["H psi K P D"]
    T = s.vector(s.hinge, force)
    return (I - H * psi * K).T * D.inv * (T - H * psi * (K * T + P * s.a + s.b)) - K.T * psi.T * s.a


def forward_by_inverse(s, force):
    """000 Eq. 17 solved for the acceleration: (H phi M phi* H*)^-1 (T - C)."""
    return mass_matrix(s).inv * (s.vector(s.hinge, force) - bias(s))


def jacobian(s, nodes):
    """000 Eq. 13: J = B* phi* H*, the velocities of nodes [angular; linear] from v."""
    return s.B(nodes).T * s.phi.T * s.H.T
