"""What is printed in the papers, word for word, and how each misprint in it is mended.

Comments and prompts are left out; a statement that is broken over two lines in print is on one line.
"""

from __future__ import annotations

#: The PyCraft paper: the introduction and Listings 1 to 23.
LISTINGS: dict[str, str] = {
    "introduction": """
MassMatrix = H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g)
InnovFactorInv = Id(g) - H(g) * Psi(g) * K(g)
MassmatInv = InnovFactorInv.getTranspose() * Dinv(g) * InnovFactorInv
assert(MassMat * MassmatInv).isIdentity()
""",
    "1": """
H = HClass(g)
ephi = EPhiClass(g)
M = MClass(g)
""",
    "2": """
Hst = HStarClass(g)
phi = SPOClass(ephil)
phistar = SPOStarClass(ephil)
bstar = BStarClass(g, nodes)
Jac = bstar * phistar * Hst
massmat = H * phi * M * phistar * Hst
marray = massmat.asArray()
""",
    "3": "T = H * phi * M * phistar * Hst * thetaddot",
    "4": "R = ephi.LyapunovRecursion(M)",
    "5": "massmat = H * (phi * R + R * phistar - R) * Hst",
    "6": "P = PClass(g)",
    "7": """
D = H * P * Hst
Dinv = D.inverse()
G = P * Hst * Dinv
K = ephi * G
tau = G * H
Id = IdClass(g)
taubar = Id - tau
""",
    "8": "epsi = EPsiClass(g)",
    "9": """
psi = SPOClass(eps)
psistar = SPOStarClass(eps)
""",
    "10": """
assert ((Id - H * psi * K) * H * phi - H * psi).isZero()
assert (D - H * psi * M * psistar * Hst).isZero()
""",
    "11": """
InFac = Id + H * phi * K
massmat = InFac * D * InFac.getTranspose()
""",
    "12": """
InFacInv = Id - H * psi * K
assert (InFac * InFacInv).isIdentity()
""",
    "13": """
massmatInv = InFacInv.getTranspose() * Dinv * InFacInv
assert (massmat * massmatInv).isIdentity()
""",
    "14": """
z = psi * (K * T + P * a + b)
eps = T - H * z
nu = Dinv * eps
alpha = psistar * (Hst * nu + a)
thetaddot = nu - G.getTranspose() * ephistar * alpha
""",
    "15": "Y = epsistar.LyapunovRecursion(Hst * Dinv * H)",
    "16": """
Omega = psistar * Hst * massmatInv * H * psi
assert (Omega - (psist * Y + Y * psi - Y)).isZero()
""",
    "17": """
Hi_3 = H_iClass(g, bd3)
Hsi_3 = Hs_iClass(g, bd3)
Hdi_3 = Hd_iClass(g, bd3)
""",
    "18": """
phi_3 = Hdi_3 * phi * Hdi_3 - phi * Hdi_3
M_3 = Hdi_3 * M - M * Hdi_3
""",
    "19": "massmat_3 = H * phi * ( Hdi_3 * phi * M - M * phistar * Hdi_3 ) * phistar * Hst",
    "20": "lambda_3 = epsi.LyapunovRecursion(Hdi_3 * P - P * Hdi_3)",
    "21": """
D_3 = H * lambda_3 * Hst
G_3 = taubar * lambda_3 * Hst * Dinvs + Hs_3 * G
""",
    "22": """
InFac_3 = H * phi * ( Hd_3 * phitilde * P + taubar * lambda_3 ) * Hst * Dinvs
InFacInv_3 = -H * psi * ( Hd_3 * phi * K + taubar * lambda_3 * Hst * Dinvs ) * InFacInv
""",
    "23": "grad_fixman_3 = 2 * Trace{P(3) * Y(3) * Hd_3(3)}",
}

#: Printed words, and what is meant by them.
MENDED: dict[str, list[tuple[str, str]]] = {
    "introduction": [("(MassMat *", "(MassMatrix *")],
    "2": [("ephil", "ephi")],
    "9": [("(eps)", "(epsi)")],
    "16": [("massmatInv", "Dinv"), ("psist *", "psistar *")],
    "18": [
        ("Hdi_3 * phi * Hdi_3 - phi * Hdi_3", "Hsi_3 * phi - phi * Hi_3 + phi * Hdi_3 * phi"),
        ("Hdi_3 * M - M * Hdi_3", "Hi_3 * M - M * Hi_3"),
    ],
    "21": [("Dinvs", "Dinv"), ("Hs_3", "Hsi_3")],
    "22": [("Dinvs", "Dinv"), ("Hd_3", "Hdi_3")],
    "23": [("Trace{", "Trace("), ("Hd_3", "Hdi_3"), (")}", "))")],
}

#: What a listing uses and no listing makes.
BEFORE: dict[str, str] = {
    "3": "thetaddot = Thetadoubledot(g)",
    "14": "T, a, b, ephistar = T, a(g), b(g), SKOStarClass(ephi)",
    "15": "epsistar = SKOStarClass(epsi)",
    "22": "phitilde = phi - Id",
}

#: The slides of 2005, page "PyCraft Make MBS Easy". The lines before start a simulator; `mbodyObj` is a model here.
SLIDES = """
Phi = PyCraft.Phi(mbodyObj)
PhiStar = PyCraft.PhiStar()
Thetadot = PyCraft.Thetadot(mbodyObj)
H = PyCraft.H()
HStar = PyCraft.HStar()
M = PyCraft.M()
V = PhiStar*HStar*Thetadot
BStar = PyCraft.BStar(mbodyObj, 0)
Jacobian = BStar*(PhiStar*HStar)
alphasip = Jacobian*Thetadoubledot
print pformat(alphasip())
T = H*Phi*M*PhiStar*HStar*Betadot
Betadot = ((Spatial_I-H*Psi*K)._transpose())*D_Inverse*(Spatial_I-H*Psi*K)*T
"""
SLIDES_MENDED = [("print pformat(alphasip())", "print(pformat(alphasip()))")]
SLIDES_BEFORE = """
from pprint import pformat
from soacraft import pycraft as PyCraft
Thetadoubledot, Betadot = PyCraft.Thetadoubledot(mbodyObj), PyCraft.Betadot(mbodyObj)
Psi, K, D_Inverse, Spatial_I = PyCraft.Psi(), PyCraft.K(), PyCraft.D_Inverse(), PyCraft.Spatial_I
"""

#: The architecture paper, section IV.
ARCHITECTURE = """
T = H*Phi*M*PhiStar*HStar*thetaddot
thetaddot = (I-H*Psi*K).transpose()*D.inverse()*(I-H*Psi*K)*T
"""
ARCHITECTURE_BEFORE = """
from soacraft import pycraft
H, Phi, M, PhiStar, HStar = (make(g) for make in (pycraft.H, pycraft.Phi, pycraft.M, pycraft.PhiStar, pycraft.HStar))
Psi, K, D, I, thetaddot = pycraft.Psi(g), pycraft.K(g), pycraft.D(g), sc.I, pycraft.Thetadoubledot(g)
"""


def mended(text: str, changes: list[tuple[str, str]]) -> str:
    """A printed text with its misprints mended; each must be there."""
    for wrong, right in changes:
        assert wrong in text, wrong
        text = text.replace(wrong, right)
    return text


def listing(number: str) -> str:
    """A listing that runs after those before it."""
    return BEFORE.get(number, "") + "\n" + mended(LISTINGS[number], MENDED.get(number, []))
