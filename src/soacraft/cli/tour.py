"""`soacraft tour`: listings 1 to 23 of the PyCraft paper on any model, each with its numbers and its check."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

import soacraft as sc
from soacraft.algebra.values.measure import relative_norm
from soacraft.citations import cite
from soacraft.cli.loading import AS_IT_IS, Loading
from soacraft.errors import ModelError
from soacraft.ops.derivatives.rules import papers_pin
from soacraft.ops.verify import difference
from soacraft.view import structure

I = sc.I
TOLERANCE = 1e-9
LARGEST_PRINTED = 150  # entries of an array; of larger ones the corners
LARGEST_PICTURE = 60  # bodies


class Tour:
    """Prints steps and keeps count of the checks that fail."""

    def __init__(self, console: Console) -> None:
        self.console, self.passed, self.failed = console, 0, 0

    def listing(self, number: str, title: str) -> None:
        """A heading."""
        self.console.print()
        self.console.print(Rule(f"{number}: {title}", align="left", style="cyan"))

    def say(self, words: str) -> None:
        """Plain text, as it is."""
        self.console.print(Text(words), soft_wrap=True)

    def show(self, name: str, value: Any) -> None:
        """An expression, or a few numbers."""
        if isinstance(value, sc.Operator):
            self.say(f"  {name} = {value!r}")
        else:
            numbers = np.array2string(
                np.asarray(value), precision=4, suppress_small=True, max_line_width=100, threshold=LARGEST_PRINTED
            )
            self.say(f"  {name} =\n{_indented(numbers)}")

    def check(self, what: str, error: float) -> None:
        """A check mark with the error, or a cross; papers are cited by name."""
        good = error <= TOLERANCE
        self.passed, self.failed = self.passed + good, self.failed + (not good)
        mark = Text("  ✓ " if good else "  ✗ ", style="green" if good else "bold red")
        self.console.print(mark + Text(f"{cite(what)}   (relative error {error:.1e})"), soft_wrap=True)


def _indented(words: str) -> str:
    return "\n".join("    " + line for line in words.splitlines())


def tour(model: str = "arm7", how: Loading = AS_IT_IS, console: Console | None = None) -> int:
    """Walk through the listings; 0 when every check passed, 1 otherwise."""
    mb = how.load(model)
    if not mb.nv:
        raise ModelError(f"the tour needs a model that moves, {model!r} has no dofs; try arm7.")
    _set_in_motion(mb)
    tool = _tool(mb)
    t = Tour(Console(highlight=False) if console is None else console)
    t.say(f"soacraft {sc.__version__}: {mb!r}, the operators in the papers' axes (inertial-oriented).")
    if mb.is_closed:
        ties = f"{len(mb.loops)} and {len(mb.couplings)}"
        t.say(f"Its loops and couplings ({ties}) are ignored: these are the operators of its tree.")
    ops = sc.operators(mb, axes="inertial", ignore_loops=True)
    _kinematics_and_inertia(t, mb, ops, tool)
    _articulated_bodies(t, ops)
    _inverse_and_dynamics(t, mb, ops)
    _operational_space(t, ops, tool.carrier.name, mb.topology.is_serial)
    _sensitivities(t, mb, ops)
    _every_identity(t)
    t.console.print()
    t.say(f"{t.passed} passed, {t.failed} failed")
    t.say(f"\nThe papers:\n{_indented(repr(sc.papers()))}")
    t.say(NEXT)
    return 1 if t.failed else 0


def _set_in_motion(mb: sc.Multibody) -> None:
    """Round numbers where coordinates are plain numbers, random ones where there are quaternions among them."""
    q, v = np.linspace(0.2, 1.1, mb.nq), np.linspace(-1.0, 1.0, mb.nv)
    if mb.nq != mb.nv:
        q, v = mb.random_state(seed=0)
    mb.set_state(q, v, np.linspace(0.5, -0.5, mb.nv))


def _tool(mb: sc.Multibody) -> sc.Frame:
    """A node on a tip, the last that has one; the last tip itself where none has."""
    tips = [body for body in mb.bodies if not body.children]
    nodes = [body.nodes[0] for body in tips if body.nodes]
    return nodes[-1] if nodes else tips[-1]


def _kinematics_and_inertia(t: Tour, mb: sc.Multibody, ops: Any, tool: sc.Frame) -> None:
    t.listing("Listing 1", "the basic operators")
    H, E_phi, M = ops["H E_phi M"]
    for name, value in (("H", H), ("E_phi", E_phi), ("M", M)):
        t.show(name, value)

    t.listing("Listing 2", "the Jacobian and the mass matrix")
    phi = ops.phi
    t.say(f"  the tool is {tool!r}")
    jacobian = ops.B(tool).T * phi.T * H.T
    mass_matrix = H * phi * M * phi.T * H.T
    t.show("Jacobian", jacobian)
    t.show("massmat", mass_matrix)
    t.say(_indented(repr(mass_matrix.explain())))
    t.show("massmat.array()", mass_matrix.array())
    if len(mb) <= LARGEST_PICTURE:
        t.say("  its structure, body by body (█ large, ░ small, · zero):")
        t.say(_indented(structure(mass_matrix)))
    velocity = np.asarray(mb.velocity(tool))
    t.check("Jacobian * v is the velocity of the tool (000 Eq. 13)", difference(np.asarray(jacobian * mb.v), velocity))

    t.listing("Listing 3", "inverse dynamics by sweeps")
    T = mass_matrix * mb.vdot
    t.show("massmat * vdot", T)
    t.check("the sweeps give the same as the dense matrix", difference(np.asarray(T), mass_matrix.array() @ mb.vdot))

    t.listing("Listings 4 and 5", "composite bodies")
    R = E_phi.lyapunov(M)
    by_composites = H * (phi * R + R * phi.T - R) * H.T
    t.show("R", R)
    t.show("massmat", by_composites)
    t.check("H*(phi*R + R*phi.T - R)*H.T is the mass matrix (000 Eq. 20)", relative_norm(mass_matrix - by_composites))


def _articulated_bodies(t: Tour, ops: Any) -> None:
    H, phi, M, E_phi, P = ops["H phi M E_phi P"]
    t.listing("Listings 6 to 9", "articulated bodies")
    D = H * P * H.T
    G = P * H.T * D.inv
    K = E_phi * G
    tau_bar = I - G * H
    for name, value in (("D", D), ("G", G), ("K", K), ("tau_bar", tau_bar), ("psi", ops.psi)):
        t.show(name, value)
    t.check("E_psi = E_phi*tau_bar (000 Eq. 24)", relative_norm(ops.E_psi - E_phi * tau_bar))
    t.check("M = P - E_psi*P*E_psi.T (000 Eq. 25)", relative_norm(M - (P - ops.E_psi * P * ops.E_psi.T)))

    t.listing("Listing 10", "operator identities")
    psi = ops.psi
    t.check("(I - H*psi*K)*H*phi = H*psi (000 Eq. 26)", relative_norm((I - H * psi * K) * H * phi - H * psi))
    t.check("H*psi*M*psi.T*H.T = D (000 Eq. 27)", relative_norm(D - H * psi * M * psi.T * H.T))


def _inverse_and_dynamics(t: Tour, mb: sc.Multibody, ops: Any) -> None:
    H, phi, M, psi, K, D, P, G, E_phi = ops["H phi M psi K D P G E_phi"]
    mass_matrix = H * phi * M * phi.T * H.T
    t.listing("Listings 11 to 13", "the mass matrix factored and inverted")
    factor, factor_inverse = I + H * phi * K, I - H * psi * K
    inverse = factor_inverse.T * D.inv * factor_inverse
    t.show("InFac", factor)
    t.show("massmatInv", inverse)
    t.check("massmat = InFac*D*InFac.T (000 Eq. 28)", relative_norm(mass_matrix - factor * D * factor.T))
    t.check("InFac*(I - H*psi*K) = I (000 Eq. 29)", relative_norm(factor * factor_inverse - I))
    t.check("massmat*massmatInv = I (000 Eq. 30)", relative_norm(mass_matrix * inverse - I))
    t.say("  and massmat.inv knows it:")
    t.say(_indented(repr(mass_matrix.inv.explain())))

    t.listing("Listing 14", "articulated-body forward dynamics")
    T, a, b = np.ones(mb.nv), ops.a, ops.b
    z = psi * (K * T + P * a + b)
    eps = T - H * z
    nu = D.inv * eps
    alpha = psi.T * (H.T * nu + a)
    vdot = nu - G.T * (E_phi.T * alpha)
    t.show("vdot for T = 1", vdot)
    C = H * phi * (b + M * phi.T * a)
    t.check("massmat*vdot + C = T (000 Eq. 17)", difference(np.asarray(mass_matrix * vdot), T - np.asarray(C)))


def _operational_space(t: Tour, ops: Any, tip: str, serial: bool) -> None:
    H, psi, D, E_psi, Omega = ops["H psi D E_psi Omega"]
    t.listing("Listings 15 and 16", "the operational space compliance")
    Y = E_psi.T.lyapunov(H.T * D.inv * H)
    t.show("Upsilon", Y)
    t.show("Omega", psi.T * H.T * D.inv * H * psi)
    if serial:
        t.check("Omega = psi.T*Y + Y*psi - Y (000 Eq. 35)", relative_norm(Omega - (psi.T * Y + Y * psi - Y)))
    else:  # Eq. 35 is for serial chains
        R = E_psi.T.remainder(H.T * D.inv * H)
        gap = relative_norm(Omega - (psi.T * Y + Y * psi - Y + R))
        t.check("Omega = psi.T*Y + Y*psi - Y + R, R between branches (000 Eq. 35, 004 Eq. 21)", gap)
    t.show(f"Omega[{tip!r}, {tip!r}], one block, nothing else formed", Omega[tip, tip])


def _sensitivities(t: Tour, mb: sc.Multibody, ops: Any) -> None:
    """Listings along the third hinge from the tip that is a pin with the body frame on its axis, as they require."""
    pins = [body for body in mb.bodies if papers_pin(ops, body, 0)]
    if not pins:
        t.listing("Listings 17 to 23", "left out")
        t.say("  They are for a pin with the body frame on its axis, and this model has none.")
        return
    body = pins[-3:][0].name
    H, phi, M, psi, P, D, G, K, E_psi, Y, tau_bar = ops["H phi M psi P D G K E_psi Upsilon tau_bar"]
    t.listing("Listing 17", f"how the operators change along the hinge of {body!r}")
    W, X = ops.W(body), ops.X(body)  # H~(<= i) and H~(= i); H~(< i) is their difference
    t.show("Hi", W)
    t.show("Hdi", X)

    t.listing("Listings 18 and 19", "the derivatives of the basic operators and of the mass matrix")
    massmat = H * phi * M * phi.T * H.T
    t.check("phi_i = Hsi*phi - phi*Hi + phi*Hdi*phi (000 Eq. 41b)",
            _slope_gap(phi, body, (W - X) * phi - phi * W + phi * X * phi))  # fmt: skip
    t.check("M_i = Hi*M - M*Hi (000 Eq. 41d)", _slope_gap(M, body, W * M - M * W))
    of_massmat = H * phi * (X * phi * M - M * phi.T * X) * phi.T * H.T
    t.show("massmat_i", of_massmat)
    t.check("massmat_i = massmat.diff (000 Eq. 42)", _slope_gap(massmat, body, of_massmat))

    t.listing("Listings 20 to 22", "those of articulated bodies and of the factors")
    lam = E_psi.lyapunov(X * P - P * X)
    t.show("lambda", lam)
    t.check("D_i = H*lambda*H.T (000 Eq. 44a)", _slope_gap(D, body, H * lam * H.T))
    of_G = tau_bar * lam * H.T * D.inv + (W - X) * G
    t.check("G_i = tau_bar*lambda*H.T*D.inv + Hsi*G (000 Eq. 44c)", _slope_gap(G, body, of_G))
    of_factor = H * phi * (X * ops.phi_tilde * P + tau_bar * lam) * H.T * D.inv
    t.check("InFac_i (000 Eq. 45)", _slope_gap(I + H * phi * K, body, of_factor))
    inverse = I - H * psi * K
    of_inverse = -(H * psi * (X * phi * K + tau_bar * lam * H.T * D.inv) * inverse)
    t.check("InFacInv_i (000 Eq. 46)", _slope_gap(inverse, body, of_inverse))

    t.listing("Listing 23", "the gradient of the Fixman potential log det massmat")
    gradient = 2 * (P * Y * X).trace()
    t.show("2*trace(P*Y*Hdi)", gradient)
    size = float(np.abs(P[body, body] @ Y[body, body]).sum() * np.abs(X[body, body]).max())
    gap = abs(float(gradient - (D.inv * D.diff(body)).trace()))
    t.check("it is trace(D.inv * D_i) (000 Eq. 48)", gap / size)


def _slope_gap(expr: sc.Operator, body: str, slope: sc.Operator) -> float:
    """Distance of the formula in the paper from `expr.diff`."""
    return relative_norm(expr.diff(body) - slope)


def _every_identity(t: Tour) -> None:
    t.listing("And on any tree", "a branched one with every hinge")
    mb = sc.load("hinges")
    ops = sc.operators(mb.state(*mb.random_state(seed=1)))
    held = [x for x in sc.identities() if not x.conditions]
    errors = {x: sc.verify(x.left, x.right, on=ops).worst[1] for x in held}
    worst = max(errors, key=lambda x: errors[x])
    t.check(f"{len(held)} identities; the worst is {worst.name} ({worst.citation})", errors[worst])


NEXT = """
Where to go next:
  soacraft models          list the models that come with soacraft
  soacraft tour panda      the same on another model, or on a file: soacraft tour my_robot.urdf
  soacraft tour sim        a simulation with events and a log
  soacraft tour system     a satellite with sensors, a controller and wheels
  soacraft info panda      what a model is made of
  soacraft shell panda     the same operators at a prompt: pip install 'soacraft[shell]'
  soacraft view panda      the workbench page in a browser: pip install 'soacraft[view]'
In Python: import soacraft as sc; help(sc.operators)
"""
