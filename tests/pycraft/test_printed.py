"""What is printed runs as it stands, with the misprints mended that `printed.py` lists, and gives the right numbers."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from tests.model.modal.trees import random_modal, settle
from tests.pycraft import printed

import soacraft as sc
from soacraft import pycraft

PAGE = Path(__file__).parents[2] / "docs" / "dialogues.md"


def arm():
    g = sc.load("arm7")
    q, v = g.random_state(seed=4)
    g.set_state(q, v, np.random.default_rng(5).standard_normal(g.nv))
    return g


def flexible_arm():
    """Four bodies of two modes each on pins through their frames, each on a node that deforms."""
    rng, g = np.random.default_rng(1), sc.Multibody("flexible arm")
    for k in range(4):
        parent = f"link{k - 1}/tip" if k else None
        g.add_body(f"link{k}", parent, sc.Pin((0, 0.6, 0.8)), modal=random_modal(rng, 2))
    settle(g)
    return g


def tool(g):
    return f"{g.bodies[-1].name}/{'tool' if g.bodies[-1].modal is None else 'tip'}"


def names(g):
    every = {name: getattr(pycraft, name) for name in pycraft.__all__}
    return every | {"sc": sc, "g": g, "mbodyObj": g, "nodes": [g[tool(g)]], "bd3": g.bodies[-3]}


@pytest.fixture(scope="module", params=[arm, flexible_arm])
def ran(request):
    """What all listings leave, one after another."""
    found = names(request.param())
    for number in printed.LISTINGS:
        exec(printed.listing(number), found)
    return found


def test_the_listings_give_what_the_named_functions_give(ran):
    g = ran["g"]
    M = sc.dynamics.mass_matrix(g, g.q)
    np.testing.assert_allclose(ran["marray"], M, atol=1e-12)
    np.testing.assert_allclose(ran["massmat"].asArray(), M, atol=1e-12)
    np.testing.assert_allclose(ran["massmatInv"].asArray(), np.linalg.inv(M), atol=1e-8)
    np.testing.assert_allclose(ran["Jac"].asArray(), sc.dynamics.jacobian(g, g.q, tool(g)), atol=1e-12)
    thetaddot = sc.dynamics.forward_dynamics(g, g.q, g.v, M @ g.vdot)
    np.testing.assert_allclose(np.asarray(ran["thetaddot"]), thetaddot, atol=1e-8)
    third = g.v_slice(ran["bd3"]).start
    np.testing.assert_allclose(ran["grad_fixman_3"], sc.analysis.log_det_gradient(g, g.q)[third], atol=1e-9)


@pytest.mark.parametrize("name", ["phi", "M", "massmat", "D", "G", "InFac", "InFacInv"])
def test_the_derivatives_are_those_of_differences(ran, name):
    g, h = ran["g"], 1e-3
    e = np.eye(g.nv)[g.v_slice(ran["bd3"]).start]

    def at(step):
        return ran[name].operator.at(q=g.integrate(g.q, step * e)).array()

    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    np.testing.assert_allclose(ran[f"{name}_3"].asArray(), slope, atol=1e-8 * max(1.0, np.abs(slope).max()))
    np.testing.assert_allclose(ran[name].diff(ran["bd3"]).asArray(), slope, atol=1e-8 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize("number", printed.MENDED)
def test_every_mend_is_needed(ran, number):
    """As printed it does not compile, has a name that nobody made, fails its own assertion or gives other numbers."""
    kept = names(arm()) if number == "introduction" else dict(ran)
    kept.pop("eps", None)  # what Listing 14 makes, not what Listing 9 means
    text = printed.BEFORE.get(number, "") + "\n" + printed.LISTINGS[number]
    try:
        ast.parse(text)
    except SyntaxError:
        return
    for name in printed_results(number):
        kept.pop(name, None)
    try:
        exec(text, kept)
    except (NameError, AssertionError, UserWarning):
        return
    assert any(not (kept[name] - ran[name]).isZero() for name in printed_results(number))


def printed_results(number):
    text = printed.mended(printed.LISTINGS[number], printed.MENDED[number])
    return [x.targets[0].id for x in ast.parse(text).body if isinstance(x, ast.Assign)]


def test_the_slides_of_2005(capsys):
    g = arm()
    found = names(g)
    exec(printed.SLIDES_BEFORE + printed.mended(printed.SLIDES, printed.SLIDES_MENDED), found)
    np.testing.assert_allclose(np.asarray(found["V"]), np.asarray(sc.operators(g, "V", axes="inertial")), atol=1e-12)
    wanted = sc.dynamics.jacobian(g, g.q, "link7/tool") @ g.vdot
    np.testing.assert_allclose(found["alphasip"](), wanted, atol=1e-12)
    assert capsys.readouterr().out.startswith(f"({wanted[0]:.4}"[:6])
    np.testing.assert_allclose(np.asarray(found["Betadot"]), g.vdot, atol=1e-10)


@pytest.mark.parametrize("identity", ["sc.I", "pycraft.I", "pycraft.Spatial_I", "pycraft.Id(g)"])
def test_the_architecture_paper(identity):
    g = arm()
    found = names(g)
    exec(printed.ARCHITECTURE_BEFORE.replace("sc.I", identity) + printed.ARCHITECTURE, found)
    np.testing.assert_allclose(np.asarray(found["T"]), sc.dynamics.mass_matrix(g, g.q) @ g.vdot, atol=1e-12)
    np.testing.assert_allclose(np.asarray(found["thetaddot"]), g.vdot, atol=1e-10)


def test_the_page_has_every_line():
    """`docs/dialogues.md` runs the same lines when it is built."""
    page = PAGE.read_text()
    texts = [printed.mended(text, printed.MENDED.get(number, [])) for number, text in printed.LISTINGS.items()]
    texts += [printed.mended(printed.SLIDES, printed.SLIDES_MENDED), printed.ARCHITECTURE]
    missing = [line for text in texts for line in text.strip().splitlines() if line not in page]
    assert missing == []
