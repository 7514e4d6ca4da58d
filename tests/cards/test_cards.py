"""Cards of all kinds: whole, escaped, without scripts or requests, with the numbers and names in them."""

import io
import re
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image
from tests.cards.page import HOSTILE, Page
from tests.model.modal.trees import random_modal

import soacraft as sc
from soacraft.analysis.parametric.optimize import Optimum
from soacraft.cards import block_picture, card, facts, part, sparkline
from soacraft.errors import StaleError
from soacraft.kinematics import report
from soacraft.loops import TreeAugmented
from soacraft.markup import Html, paragraph
from soacraft.model.tree.parts.import_report import ReportBuilder
from soacraft.ops.identities import Identity
from soacraft.sim import Propagator

#: All that a card is made of.
TAGS = set(
    "div style header p details summary table thead tbody tr th td pre code span svg path rect polyline title input "
    "math mrow mi mn mo mspace msup msub msubsup mover img".split()
)


def hostile_model():
    """Two bodies in a loop, with names that are HTML."""
    mb = sc.Multibody(HOSTILE)
    pin, inertia = sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3))
    a = mb.add_body(HOSTILE, "inertial", pin, inertia)
    b = mb.add_body("b<b>", a, pin, inertia, inboard=sc.Pose(translation=(1, 0, 0)))
    mb.close_loop(HOSTILE, "inertial", b, sc.Planar())
    return mb


def hostile_arm():
    mb = sc.Multibody(HOSTILE)
    a = mb.add_body(HOSTILE, None, sc.Pin((0, 1, 0)), sc.Inertia(2.0, (0, 0, -0.5), np.eye(3)))
    mb.add_body("b<b>", a, sc.Prismatic((0, 0, 1)), sc.Inertia(1.5, moment=np.eye(3)))
    return mb


def hostile_run():
    """A run with an event and a force whose names are HTML."""
    mb = hostile_arm()
    mb.q = [0.5, 0.0]
    p = Propagator(mb)
    p.event(HOSTILE, lambda t, s: t - 0.05)
    return p, p.advance_to(0.1)


def hostile_contact():
    """A ball on a floor: distances, and a run with its contacts."""
    mb = sc.Multibody("two", gravity=(0, 0, -10.0))
    mb.root.add_geometry(sc.Geometry(HOSTILE, "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3) * 0.01))
    ball.add_geometry(sc.Geometry(HOSTILE, "sphere", (0.5,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.5], np.zeros(6))
    distances = sc.contact.Scene(mb).distances(mb.q)
    p = Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    return distances, p.advance_to(0.05).contacts


def hostile_import():
    builder = ReportBuilder(HOSTILE)
    builder.add(HOSTILE, "ignored", HOSTILE, HOSTILE, HOSTILE, dynamic=True)
    return builder.done()


def hostile_identified():
    mb = sc.Multibody("one")
    mb.add_body(HOSTILE, None, sc.Pin((0, 1, 0)), sc.Inertia(2.0, (0, 0, -0.5), np.eye(3)))
    rng = np.random.default_rng(0)
    q, v, vdot = rng.standard_normal((3, 20, 1))
    force = sc.dynamics.inverse_dynamics(mb, q, v, vdot)
    return sc.analysis.identify(mb, {"q": q, "v": v, "vdot": vdot, "force": force})


def hostile_robot():
    mb = hostile_arm()
    mb[HOSTILE].add_geometry(sc.Geometry(HOSTILE, "sphere", (0.5,)))
    robot = sc.robot.Robot(mb)
    robot.limb(HOSTILE, base="inertial", tip=HOSTILE)
    return robot


def shown():
    """Every kind of thing that has a card."""
    mb, arm, tree = hostile_model(), hostile_arm(), sc.serial_chain(2)
    s, named = sc.operators(sc.load("arm7")), sc.operators(arm)
    loops = TreeAugmented(mb)
    result = loops.forward_dynamics(mb.q, mb.v, np.ones(2))
    propagator, run = hostile_run()
    distances, contacts = hostile_contact()
    d = sc.dynamics
    return {
        "model": mb,
        "sub-graph": arm.subgraph([HOSTILE]),
        "tree": mb.tree(),
        "mermaid": mb.to_mermaid(),
        "state": arm.state([0.25, 0.5], [1.0, 2.0], forces={HOSTILE: np.ones(6)}),
        "states": arm.state(np.ones((3, 2)), np.zeros(2)),
        "expression": (named.H * named.phi * named.M * named.phi.T * named.H.T).diff(HOSTILE),
        "identity operator": sc.I,
        "vector": named.phi.T * (named.H.T * np.array([1.0, 2.0])),
        "poses": d.poses(arm, arm.q),
        "twists": d.velocities(arm, arm.q, arm.v),
        "linearization": sc.analysis.linearize(arm, arm.q, arm.v, [0.0, 0.0]),
        "equilibrium": sc.analysis.equilibrium(arm, free=[HOSTILE]),
        "modes": sc.analysis.modes(arm, arm.q),
        "modal report": random_modal(np.random.default_rng(1), 2, kinds=(HOSTILE, ""), notes=(HOSTILE,)).report(),
        "health": sc.check(mb),
        "import": hostile_import(),
        "explain": (s.H * s.phi * s.M * s.phi.T * s.H.T).inv.explain(loops=True),
        "properties": s.phi.properties(),
        "verify": sc.verify(s.H * s.P, s.H),
        "derivative": sc.check_derivative(named.phi, HOSTILE),
        "proof": sc.prove(s.H * s.psi * s.M * s.psi.T * s.H.T, s.D),
        "no proof": sc.prove(s.phi, s.psi),
        "operator": sc.check_operator(s.Omega),
        "hinge": sc.check_hinge(sc.Pin((0, 0, 1))),
        "loops": report(mb),
        "result": result,
        "hinge forces": result.hinge_forces,
        "batch": loops.forward_dynamics(np.stack([mb.q, mb.q]), np.stack([mb.v, mb.v]), np.ones(2)),
        "kinematics": sc.inverse_kinematics(tree, {"link2/tip": (1.0, 0.0, -1.0)}, q0=[0.1, 0.2]),
        "robot": hostile_robot(),
        "propagator": propagator,
        "propagator report": propagator.report(),
        "run": run,
        "balance": run.check(),
        "distances": distances,
        "contacts": contacts,
        "contact step": contacts.steps[-1],
        "optimum": Optimum((HOSTILE,), np.ones(1), 0.5, 2.0, True, HOSTILE, 7, "given", (HOSTILE,)),
        "identified": hostile_identified(),
        "identity": Identity(HOSTILE, "004 Eq. 15", lambda s: s.phi, lambda s: s.psi),
        "identities": sc.identities,
        "papers": sc.papers(),
        "models": sc.models(),
    }


@pytest.fixture(scope="module")
def pages():
    return {name: (thing, thing._repr_html_()) for name, thing in shown().items()}


@pytest.fixture(scope="module")
def texts(pages):
    return {name: Page(html).text for name, (_, html) in pages.items()}


def test_every_card_is_whole_and_asks_for_nothing(pages):
    for name, (_, html) in pages.items():
        page = Page(html)
        assert set(page.tags) <= TAGS, name
        pictures = [x for key, x in page.attributes if key == "src"]
        assert all(x.startswith("data:image/png;base64,") for x in pictures), name
        keys = {key for key, _ in page.attributes if key != "src"} - ({"oninput"} if name == "identities" else set())
        assert not {key for key in keys if key == "href" or key.startswith("on")}, name
        assert "http" not in html, name
        assert "url(" not in html, name
        assert page.tags.count("img") == len(pictures) == (name == "robot"), name
        assert len(html) < (60_000 if name != "identities" else 120_000), name
        assert page.text.strip(), name


def test_every_card_has_the_one_style(pages):
    plain = {"tree", "mermaid", "propagator report"}
    for name, (_, html) in pages.items():
        assert ('class="soacraft-card"' in html) is (name not in plain), name


@pytest.mark.parametrize(
    "name",
    ["model", "sub-graph", "tree", "state", "vector", "poses", "twists", "health", "import", "derivative", "loops",
     "result", "hinge forces", "optimum", "identified", "identity", "propagator", "propagator report", "run",
     "distances", "contacts", "contact step"],
)  # fmt: skip
def test_names_are_shown_as_they_are(texts, name):
    assert HOSTILE in texts[name] or repr(HOSTILE)[1:-1] in texts[name]


def test_plain_text_reads_well(pages):
    for name, (thing, _) in pages.items():
        lines = repr(thing).splitlines()
        assert lines, name
        assert " object at 0x" not in repr(thing), name


def test_the_words_of_reports_are_there(texts):
    assert "b<b>" in texts["model"]
    assert texts["verify"].count("not equal") > 3  # a row for each model
    assert "Jain 2016 Eq. 30" in texts["explain"]
    assert "= 𝒟" in texts["proof"]
    assert "derived rules" in texts["proof"]
    assert "not found: the sides differ" in texts["no proof"]
    assert "adjoint dot test" in texts["operator"]
    assert "all checks passed" in texts["hinge"]
    assert "mobility" in texts["loops"]
    assert "multipliers" in texts["result"]
    assert "converged" in texts["kinematics"]
    assert all(identity.name in texts["identities"] for identity in sc.identities)
    assert "arm7" in texts["models"]
    assert "would change the motion" in texts["import"]


def test_a_proof_goes_step_by_step_with_the_identity_of_each(pages, texts):
    proof, html = pages["proof"]
    assert f"proof in {len(proof.steps)} steps" in texts["proof"]
    for step in proof.steps:
        assert f"= {step.expression.latex()}" in Page(html).formulas
        assert step.name in texts["proof"]


def test_an_expression_shows_formula_spaces_structure_cost_and_sweeps():
    mb = sc.Multibody("fork")
    trunk = mb.add_body("trunk", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    for name in ("left", "right"):
        mb.add_body(name, trunk, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    H, phi, M = sc.operators(mb, "H phi M")
    html = (H * phi * M * phi.T * H.T)._repr_html_()
    page = Page(html)
    assert page.formulas == [r"H\, \phi\, M\, \phi^{*}\, H^{*}"]
    assert page.tags.count("msup") == 2
    assert "H*phi*M*phi.T*H.T" in page.text
    assert "hinge[3] ← hinge[3]" in page.text
    assert "7 of 3 x 3 blocks can be non-zero" in page.text  # no block between left and right
    assert {"structure", "cost", "sweeps"} <= set(page.words)
    assert "5n" in page.words
    assert [x for x in page.words if x in ("scatter", "gather")] == ["scatter", "gather"]
    colours = {value for key, value in page.attributes if key == "fill" and value.startswith("#")}
    assert {sc.view.palette.segment_colour(k) for k in range(3)} <= colours


def test_an_expression_is_shown_without_computing():
    """A hinge that moves no mass has no D.inv, but its card is like any other."""
    mb = sc.Multibody("massless")
    mb.add_body("a", None, sc.Pin((0, 0, 1)), sc.Inertia(0.0))
    expr = sc.operators(mb, "D").inv
    with pytest.raises(sc.errors.SingularError):
        expr.array()
    text = Page(expr._repr_html_()).text
    assert "1 of 1 x 1 blocks can be non-zero" in text
    assert "not shown" not in text


def test_large_and_long_expressions_are_shown_in_short():
    phi, H, M = sc.operators(sc.serial_chain(3000), "phi H M")
    html = (H * phi * M * phi.T * H.T).inv._repr_html_()
    assert "3000 x 3000 blocks, of which a card draws 64 on a side; sc.view.spy draws more" in Page(html).text
    assert len(html) < 10_000
    long = phi
    for _ in range(300):
        long = long * phi.T * phi
    assert "a long expression: explain() lists its parts" in Page((long * H.T)._repr_html_()).text


def test_what_cannot_be_shown_says_why():
    mb = sc.load("double_pendulum")
    phi, state, part_of = sc.operators(mb, "phi"), mb.current, mb.subgraph(["upper"])
    mb.remove("lower")
    assert "3 of 2 x 2 blocks" in Page(phi._repr_html_()).text  # as it was
    assert "lower" in Page(state._repr_html_()).text
    assert "not shown: sub-graph of 'double_pendulum' was made before" in Page(part_of._repr_html_()).text

    def refuse():
        raise StaleError("the model <changed>")

    assert "not shown: the model <changed>" in Page(part("bodies", refuse)).text


def test_a_model_tells_its_size_mass_and_what_acts(texts):
    mb = sc.load("double_pendulum")
    mb.couple("gear", {"upper": 1, "lower": -2})
    mb["upper"].passive = sc.Passive(damping=0.5)
    text = Page(mb._repr_html_()).text
    assert "2, 2" in text
    assert "2 kg" in text
    assert "0  0  -9.81 m/s²" in text
    assert "loops and couplings (1)" in text
    assert "springs and dampers of hinges 'upper'" in text
    assert "actuators, when a run controls them" in Page(sc.load("h1")._repr_html_()).text


def test_a_flexible_body_tells_its_modes():
    data = random_modal(np.random.default_rng(0), 2)
    mb = sc.Multibody("sat")
    mb.add_body("hub", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    mb.add_body("panel", "hub", sc.Pin((0, 0, 1)), modal=data)
    text = Page(mb._repr_html_()).text
    assert "flexible, with modes 'panel: 2'" in text
    assert "stiffness and damping of modes 'panel'" in text
    assert f"{1.0 + data.mass:.6g} kg" in text


def test_large_models_are_cut_with_a_line_that_says_so():
    mb = sc.serial_chain(10_000)
    html = mb._repr_html_()
    assert len(html) < 60_000
    assert "... 9,940 more of 10,000; tree() and bodies have all" in Page(html).text
    assert "... 9,940 more of 10,000; q, v and vdot have all" in Page(mb.current._repr_html_()).text


def test_a_state_has_its_numbers_by_hinge(texts):
    assert "0.25" in texts["state"]
    assert "external forces (1)" in texts["state"]
    assert "1 to 1" in texts["states"]


def test_a_run_tells_span_steps_energy_events_and_draws_lines(pages, texts):
    run, html = pages["run"]
    text = texts["run"]
    steps = np.diff(run.t)[np.diff(run.t) > 0]
    assert f"{len(steps)}, of {steps.min():.3g} to {steps.max():.3g} s" in text
    assert "0 to 0.1 s" in text
    assert "explained by the integrator's error" in text
    assert "events (1)" in text
    page = Page(html)
    assert page.tags.count("polyline") == 2 + 3  # two coordinates, three energies
    first = next(value for key, value in page.attributes if key == "points")
    assert len(first.split()) == len(run)
    assert f"{run.check().imbalance:.3g} J" in texts["balance"]


def test_fits_tell_values_and_how_well_they_are_known(pages, texts):
    found, _ = pages["identified"]
    assert len(found.names) == 10
    assert f"{found.values[0]:.6g}" in texts["identified"]
    assert "standard deviation" in texts["identified"]
    assert "0.5, before 2" in texts["optimum"]
    assert "at its bound" in texts["optimum"]


def test_contacts_tell_who_pressed_and_how_hard(texts):
    assert "1 contacts at t = 0.05 s: 0.2 N s" in texts["contact step"]  # m g h = 2 * 10 * 0.01 N s
    assert "how well it is solved" in texts["contact step"]
    assert "contacts of 5 steps, 1 pairs" in texts["contacts"]


def test_blocks_and_lines_are_drawn_as_given():
    page = Page(block_picture([["#111111", "#111111", ""], ["", "#222222", "#111111"]], [1], [2], HOSTILE))
    assert [v for k, v in page.attributes if k == "fill"][1:3] == ["#111111", "#222222"]
    assert [v for k, v in page.attributes if k == "d"][:2] == ["M0 0h2v1h-2zM2 1h1v1h-1z", "M1 1h1v1h-1z"]
    assert [v for k, v in page.attributes if k == "d"][-1] == "M0 1h3M2 0v2"  # lines between segments
    assert HOSTILE in page.text
    page = Page(sparkline({HOSTILE: ([0.0, 1.0, 2.0], [0.0, np.nan, 4.0])}, "t", ["#123456"]))
    assert [v for k, v in page.attributes if k == "points"] == ["2.0,42.0 218.0,2.0"]
    level = Page(sparkline({"a": ([0.0, 1.0], [3.0, 3.0])}, "t", ["#123456"]))
    assert [v for k, v in level.attributes if k == "points"] == ["2.0,22.0 218.0,22.0"]
    many = Page(sparkline({"a": (np.arange(1e5), np.arange(1e5))}, "t", ["#123456"]))
    points = next(v for k, v in many.attributes if k == "points").split()
    assert len(points) == 240
    assert (points[0], points[-1]) == ("2.0,42.0", "218.0,2.0")


def test_the_maker_of_a_card_escapes_its_head_and_facts():
    page = Page(card(HOSTILE, paragraph(HOSTILE), facts([(HOSTILE, HOSTILE), ("left out", "")])))
    assert page.text.count(HOSTILE) == 4
    assert "left out" not in page.text
    assert Page(card(Html("<span>f</span>"))).tags == ["div", "style", "header", "span"]


def test_a_robot_has_its_picture_and_its_limbs():
    robot = sc.robot.Robot(sc.load("panda"))
    robot.limb("arm", base="link0", tip="link7")
    html = robot._repr_html_()
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    with Image.open(io.BytesIO(b64decode(picture))) as image:
        opacity = np.asarray(image.convert("RGBA"))[..., 3]
    assert 0.03 < (opacity > 0).mean() < 0.7
    text = Page(html).text
    assert "dofs with a motor 7" in text
    assert "Limb 'arm' from 'link0' to 'link7'" in text
    assert "<img" in sc.load("h1")._repr_html_()
    assert "<img" not in sc.load("arm7")._repr_html_()  # it has no shapes
