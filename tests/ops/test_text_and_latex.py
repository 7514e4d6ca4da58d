"""Text that reads back and the LaTeX of the papers, for listed expressions; the same on every run."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.ops.check import read_back

I = sc.I


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.load("arm7"))


LISTED = [
    (lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T, "H*phi*M*phi.T*H.T", r"H\, \phi\, M\, \phi^{*}\, H^{*}"),
    (
        lambda s: (I - s.H * s.psi * s.K).T * s.D.inv * (I - s.H * s.psi * s.K),
        "(I - H*psi*K).T * D.inv * (I - H*psi*K)",
        r"\left[\mathbf{I} - H\, \psi\, \mathcal{K}\right]^{*}\, \mathcal{D}^{-1}\, "
        r"\left[\mathbf{I} - H\, \psi\, \mathcal{K}\right]",
    ),
    (lambda s: I + s.H * s.phi * s.K, "I + H*phi*K", r"\mathbf{I} + H\, \phi\, \mathcal{K}"),
    (
        lambda s: s.P - s.E_psi * s.P * s.E_psi.T,
        "P - E_psi*P*E_psi.T",
        r"\mathcal{P} - \mathcal{E}_{\psi}\, \mathcal{P}\, \mathcal{E}_{\psi}^{*}",
    ),
    (lambda s: s.P_plus.T, "P_plus.T", r"{\mathcal{P}^{+}}^{*}"),
    (lambda s: s.phi.T.inv, "phi.T.inv", r"\phi^{-*}"),
    (lambda s: s.phi.inv.T, "phi.inv.T", r"\phi^{-*}"),
    (lambda s: s.phi**2, "phi**2", r"\phi^{2}"),
    (lambda s: (s.phi**2).T, "(phi**2).T", r"\phi^{2\,*}"),
    (lambda s: (s.phi.T) ** 2, "phi.T**2", r"\phi^{*\,2}"),
    (lambda s: (s.phi + s.M) ** 2, "(phi + M)**2", r"\left[\phi + M\right]^{2}"),
    (lambda s: s.M * s.phi**2, "M*phi**2", r"M\, \phi^{2}"),
    (lambda s: -s.phi, "-phi", r"-\phi"),
    (lambda s: -1 * (-s.phi), "-(-phi)", r"-\left[-\phi\right]"),
    (lambda s: 2 * (3 * s.phi), "2*(3*phi)", r"2\,\left[3\,\phi\right]"),
    (lambda s: 0.5 * (s.phi + s.phi.T), "0.5*(phi + phi.T)", r"0.5\,\left[\phi + \phi^{*}\right]"),
    (lambda s: -2 * s.phi * s.M, "-2*phi*M", r"-2\,\phi\, M"),
    (lambda s: s.phi * (-2 * s.M), "phi * (-2*M)", r"\phi\, \left[-2\,M\right]"),
    (lambda s: s.M - (s.P + s.R), "M - (P + R)", r"M - \left[\mathcal{P} + \mathcal{R}\right]"),
    (lambda s: s.M + (s.P - s.R), "M + P - R", r"M + \mathcal{P} - \mathcal{R}"),
    (lambda s: -s.M - s.P, "-M - P", r"-M - \mathcal{P}"),
    (lambda s: s.M + -2 * s.P, "M + -2*P", r"M - 2\,\mathcal{P}"),
    (lambda s: s.M - 2 * s.P, "M - 2*P", r"M - 2\,\mathcal{P}"),
    (lambda s: s.M / 4, "0.25*M", r"0.25\,M"),
    (lambda s: s.M / 3, "0.3333333333333333*M", r"0.3333333333333333\,M"),
    (lambda s: s.tau_bar * s.P, "tau_bar*P", r"\bar{\tau}\, \mathcal{P}"),
    (lambda s: s.phi_tilde.T, "phi_tilde.T", r"\tilde{\phi}^{*}"),
    (lambda s: s.Omega, "Omega", r"\Omega"),
    (lambda s: s.Upsilon, "Upsilon", r"\Upsilon"),
    (
        lambda s: sc.diag_of(s.E_psi.T * s.Upsilon * s.E_psi),
        "diag_of(E_psi.T*Upsilon*E_psi)",
        r"\operatorname{diagOf}\left\{\mathcal{E}_{\psi}^{*}\, \Upsilon\, \mathcal{E}_{\psi}\right\}",
    ),
    (
        lambda s: s.E_phi.lyapunov(s.M),
        "E_phi.lyapunov(M)",
        r"\operatorname{lyap}\left(\mathcal{E}_{\phi}, M\right)",
    ),
    (
        lambda s: (s.H * s.phi * s.M * s.phi.T * s.H.T).inv,
        "(H*phi*M*phi.T*H.T).inv",
        r"{\left[H\, \phi\, M\, \phi^{*}\, H^{*}\right]}^{-1}",
    ),
    (lambda s: I * s.H * I, "I*H*I", r"\mathbf{I}\, H\, \mathbf{I}"),
]


@pytest.mark.parametrize(("expr", "text", "latex"), LISTED, ids=[text for _, text, _ in LISTED])
def test_listed(s, expr, text, latex):
    x = expr(s)
    assert x.text() == text
    assert x.latex() == latex
    assert x._repr_latex_() == f"${latex}$"
    again = read_back(text, s)
    assert again.text() == text
    np.testing.assert_allclose(again.array(), x.array(), rtol=1e-12, atol=1e-12)


def test_the_repr_shows_the_spaces(s):
    assert repr(s.H * s.phi) == "H*phi : hinge[7] <- body[42]"
    assert repr(s.B("wrist") if "wrist" in s.binding.graph else s.B(s.body.labels[-1])).endswith(
        ": body[42] <- node[6]"
    )


def test_pick_off_names_are_quoted():
    mb = sc.Multibody("odd")
    name = 'it\'s a "hinge"'
    mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia.sphere(1.0, 0.1))
    s = sc.operators(mb)
    assert sc.check_operator(s.B(name).T * s.phi.T * s.H.T).ok


def test_the_same_text_on_every_run():
    """No addresses, no counters: two models built alike print alike."""
    texts = []
    for _ in range(2):
        s = sc.operators(sc.random_tree(4, seed=1))
        expr = (I + s.H * s.phi * s.K).inv * s.D - s.E_phi.T.lyapunov(s.M)[0, 0].item(0) * s.D
        texts.append((expr.text(), expr.latex(), repr(expr.explain()), repr(s.V), repr(s)))
    assert texts[0] == texts[1]
    assert "0x" not in str(texts)


def test_reading_back_knows_the_names_and_nothing_else(s):
    with pytest.raises(NameError):
        read_back("__import__('os')", s)
    with pytest.raises(NameError):
        read_back("open('x')", s)
