"""What callers get wrong in small ways: every answer names the object, the value and a cure that works."""

import re

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, near, project, row_of_four_bars

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

BAR = FourBar()
ZERO = np.zeros(3)


@pytest.fixture
def mb():
    made = BAR.build(0.9)
    made.v = project(made, np.array([1.0, -1.0, 0.0]))
    return made


def refused(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert re.fullmatch(text, str(raised.value)), str(raised.value)


# -- cures that work ----------------------------------------------------------------------------------------------


def test_operators_at_an_open_state_are_cured_by_what_the_text_says(mb):
    s = ConstraintEmbedding(mb)
    D = sc.operators(s).D
    mb.q = mb.q + np.array([0.0, 0.01, 0.0])
    refused(
        D.array,
        LoopError,
        r"loop 'ring' of 'four_bar' is open by 0\.011 m and \S+ rad; the solver takes 3\.4e-06 m and 1e-06 rad\. "
        r"Close it first: mb\.q = s\.assemble\(mb\.q\)\.",
    )
    mb.q = s.assemble(mb.q)
    refused(
        D.array,
        LoopError,
        r"loop 'ring' of 'four_bar' opens at \S+ \(m/s or rad/s\) with this v; the solver takes \S+\. Make v agree "
        r"first: mb\.v = s\.project_velocity\(mb\.q, mb\.v\)\.",
    )
    mb.v = s.project_velocity(mb.q, mb.v)
    assert D.array().shape == (1, 1)
    refused(
        lambda: s.operators(mb.q + 0.01, ZERO),
        LoopError,
        r"loop 'ring' of 'four_bar' is open by .* Close it first: q = s\.assemble\(q\)\.",
    )


def test_a_coupling_at_the_current_state():
    gear = sc.serial_chain(2)
    gear.couple("gear", {"link1": 1, "link2": -2}, offset=0.5)
    s = ConstraintEmbedding(gear)
    refused(lambda: sc.operators(s), LoopError, r".* is off by -0\.5; .* first: mb\.q = s\.assemble\(mb\.q\)\.")
    gear.q = s.assemble(gear.q)
    assert sc.operators(s).D.array().shape == (1, 1)


def test_dynamics_of_a_solver(mb):
    s = ConstraintEmbedding(mb)
    got = re.escape(repr(s)[:80])
    refused(
        lambda: dyn.mass_matrix(s, mb.q),
        ModelError,
        rf"mass_matrix takes a Multibody or a sub-graph of one, got {got}\. It has its own: s\.mass_matrix\(\.\.\.\)\.",
    )
    refused(
        lambda: dyn.composite_inertia(s, mb.q),
        ModelError,
        rf"composite_inertia takes a Multibody or a sub-graph of one, got {got}\. Of a closed chain write it in "
        r"operators, s = sc\.operators\(sc\.loops\.ConstraintEmbedding\(mb\)\): the mass matrix is "
        r"s\.H \* s\.phi \* s\.M \* s\.phi\.T \* s\.H\.T\.",
    )
    ops = sc.operators(s)
    X = s.expand(mb.q, [1.0])
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    near((ops.H * ops.phi * ops.M * ops.phi.T * ops.H.T).array(), X @ M @ X, 1e-12)
    for kind in (ConstraintEmbedding, TreeAugmented, FullyAugmented):
        refused(
            lambda kind=kind: dyn.forward_dynamics(kind(mb), mb.q, mb.v, ZERO),
            ModelError,
            r"forward_dynamics takes a Multibody or .*\. It has its own: s\.forward_dynamics\(\.\.\.\)\.",
        )


def test_log_det_of_the_mass_matrix(mb):
    """Of one independent dof: the inertia that it sees."""
    row = row_of_four_bars(2)
    for model in (mb, row):
        s = ConstraintEmbedding(model)
        X = s.expand(model.q, [1.0])
        M = dyn.mass_matrix(model, model.q, ignore_loops=True)
        near(s.log_det_mass_matrix(), np.log(X @ M @ X), 1e-12)
    q = BAR.build(1.1).q
    s = ConstraintEmbedding(mb)
    assert s.log_det_mass_matrix(q) == pytest.approx(ConstraintEmbedding(BAR.build(1.1)).log_det_mass_matrix())
    refused(
        lambda: s.log_det_mass_matrix(np.zeros((2, 3))),
        StateError,
        r"log_det_mass_matrix takes one configuration, got a batch \(2,\)\.",
    )


# -- what to embed, what is independent ---------------------------------------------------------------------------


@pytest.mark.parametrize("given", [3, "crank", b"crank", {"crank": 1}, object()])
def test_independent_dofs_are_a_list(mb, given):
    refused(
        lambda: ConstraintEmbedding(mb, independent=given),
        LoopError,
        r"independent takes a list of names or numbers of dofs of 'four_bar', or a mask; got .*\.",
    )


def test_lists_masks_and_generators_of_independent_dofs_agree(mb):
    for given in (["rocker"], [2], [False, False, True], np.array([2]), (x for x in ["rocker"])):
        assert ConstraintEmbedding(mb, independent=given).independent(mb.q) == ("rocker",)


def test_dofs_that_do_not_exist_are_told_for_what(mb):
    text = r"'four_bar' has dofs 0 to 2; there is no dof 77 to "
    refused(lambda: ConstraintEmbedding(mb, independent=[77]), StateError, text + r"be independent\.")
    s = TreeAugmented(mb)
    refused(lambda: s.assemble(mb.q, fixed=[77]), StateError, text + r"fix\.")
    refused(lambda: s.inverse_dynamics(mb.q, mb.v, [1.0], actuated=[77]), StateError, text + r"actuate\.")
    refused(lambda: s.mixed_dynamics(mb.q, mb.v, ZERO, ZERO, [77]), StateError, text + r"prescribe\.")


def test_what_to_embed_is_named_once(mb):
    refused(
        lambda: ConstraintEmbedding(mb, embed=["ring", "ring"]),
        LoopError,
        r"embed names 'ring' of 'four_bar' twice; name it once\.",
    )


def test_one_or_several_ties_kept_as_rows():
    one = ConstraintEmbedding(row_of_four_bars(2), embed=["loop0"])
    refused(
        lambda: sc.operators(one),
        LoopError,
        r"'loop1' of 'row' is kept as rows next to the embedded tree, which alone does not know it; embed all loops "
        r"and couplings for its operators and coordinates\.",
    )
    two = ConstraintEmbedding(row_of_four_bars(3), embed=["loop1"])
    refused(
        lambda: sc.operators(two),
        LoopError,
        r"'loop0', 'loop2' of 'row' are kept as rows next to the embedded tree, which alone does not know them; .*",
    )


# -- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_tied_prescribed_dofs_are_named_as_the_model_names_them(kind):
    """Two welded slides: one cannot do this and the other that."""
    mb = sc.Multibody("slides")
    for name in ("left", "right"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.couple("gear", {"left": 1, "right": -1})
    refused(
        lambda: kind(mb).mixed_dynamics([0, 0], [0, 0], [0, 0], [30.0, 0.0], ["left", "right"]),
        LoopError,
        r"the prescribed accelerations of 'slides' do not agree with its closures: \S+ is left at "
        r"'(left|right|gear)'\. Prescribe dofs that are independent of each other\.",
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ([1.0, 2.0], r"must have shape \(1,\), got shape \(2,\)"),
        ([np.nan], r"must be finite, got nan at index 0"),
        ("fast", r"must .*"),
    ],
)
def test_rates_of_independent_dofs(mb, given, text):
    s = ConstraintEmbedding(mb, independent=["crank"])
    whose = r"_independent of 'four_bar', which is that of 'crank', "
    refused(lambda: s.expand(mb.q, given), StateError, "v" + whose + text)
    refused(lambda: s.advance(mb.q, given), StateError, "dv" + whose + text)


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_one_state_and_many_accelerations(kind, mb):
    s = kind(mb)
    wanted = np.array([[0.5], [-2.0], [3.0], [0.0]])
    force = s.inverse_dynamics(mb.q, mb.v, wanted)
    assert force.shape == (4, 3)
    near(s.forward_dynamics(mb.q, mb.v, force).vdot_independent, wanted, 1e-9)
    pulled = s.inverse_dynamics(mb.q, mb.v, wanted, f_ext={"crank": np.ones((4, 6))})
    near(pulled[2], s.inverse_dynamics(mb.q, mb.v, wanted[2], f_ext={"crank": np.ones(6)}), 1e-12)
    refused(
        lambda: s.inverse_dynamics(np.tile(mb.q, (3, 1)), mb.v, wanted),
        StateError,
        r"the leading \(batch\) axes do not agree: vdot \(4, 1\), the other arguments \(3, 3\)\.",
    )
    refused(
        lambda: s.inverse_dynamics(mb.q, mb.v, [1e200]),
        StateError,
        r"vdot of 'four_bar' is too large to work with: 1e\+200; a solver takes numbers up to 1e\+150\.",
    )


def test_two_models_of_one_name(mb):
    other = BAR.build(0.9)
    refused(
        lambda: mb.close_loop("x", "crank", other["rocker"], sc.Pin(Z)),
        ModelError,
        r"body 'rocker' belongs to another model of the same name, 'four_bar'\.",
    )
    refused(
        lambda: mb.close_loop("x", "crank", row_of_four_bars(1)["crank0"], sc.Pin(Z)),
        ModelError,
        r"body 'crank0' belongs to another model \('row'\), not to 'four_bar'\.",
    )
