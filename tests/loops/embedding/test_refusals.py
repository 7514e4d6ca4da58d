"""What constraint embedding refuses, by text, with cures that work: what to embed, what is independent, open states."""

import numpy as np
import pytest
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, near, project, refused, row_of_four_bars

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

FOUR_BAR = FourBar()
BOTH = (TreeAugmented, FullyAugmented)
ZERO = np.zeros(3)


@pytest.fixture
def mb():
    made = FOUR_BAR.build(0.9)
    made.v = project(made, np.array([1.0, -1.0, 0.0]))
    return made


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


def test_log_det_of_the_mass_matrix(mb):
    """Of one independent dof: the inertia that it sees."""
    row = row_of_four_bars(2)
    for model in (mb, row):
        s = ConstraintEmbedding(model)
        X = s.expand(model.q, by_name(s, model.q, [1.0]))
        M = dyn.mass_matrix(model, model.q, ignore_loops=True)
        near(s.log_det_mass_matrix(), np.log(X @ M @ X), 1e-12)
    q = FOUR_BAR.build(1.1).q
    s = ConstraintEmbedding(mb)
    assert s.log_det_mass_matrix(q) == pytest.approx(ConstraintEmbedding(FOUR_BAR.build(1.1)).log_det_mass_matrix())
    refused(
        lambda: s.log_det_mass_matrix(np.zeros((2, 3))),
        StateError,
        r"log_det_mass_matrix takes one configuration, got a batch \(2,\)\.",
    )


@pytest.mark.parametrize("given", [3, b"crank", {"crank": 1}, object()])
def test_independent_dofs_are_a_list(mb, given):
    refused(
        lambda: ConstraintEmbedding(mb, independent=given),
        LoopError,
        r"independent takes a list of names or numbers of dofs of 'four_bar', or a mask; got .*\.",
    )


def test_lists_masks_and_generators_of_independent_dofs_agree(mb):
    for given in ("rocker", ["rocker"], [2], [False, False, True], np.array([2]), (x for x in ["rocker"])):
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


def test_an_independent_coordinate_that_became_dependent():
    """Crank and coupler in one line: the rocker turns back, and its rate says nothing of the crank's."""
    mb = FOUR_BAR.build(0.9)
    mb.v = project(mb, np.ones(3))
    s = ConstraintEmbedding(mb, independent=["rocker"])
    assert s.forward_dynamics(mb.q, mb.v, ZERO).independent == ("rocker",)
    reach = FOUR_BAR.crank + FOUR_BAR.coupler
    theta = np.arccos((reach**2 + FOUR_BAR.ground**2 - FOUR_BAR.rocker**2) / (2.0 * reach * FOUR_BAR.ground))
    refused(
        lambda: s.forward_dynamics(FOUR_BAR.build(theta).q, ZERO, ZERO),
        LoopError,
        r"'rocker' of 'four_bar' cannot be independent here: the closures tie it to other dofs\. Independent dofs that "
        r"work: '(crank|coupler)'\.",
    )
    assert s.forward_dynamics(mb.q, mb.v, ZERO).independent == ("rocker",)


def test_operators_of_a_hybrid():
    mb = sc.load("robotiq_2f85")
    loop = mb.loops[0].name
    s = ConstraintEmbedding(mb, embed=[loop])
    with pytest.raises(LoopError, match="are kept as rows next to the embedded tree, which alone does not know them"):
        sc.operators(s)
