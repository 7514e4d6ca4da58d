"""What every solver of closed chains refuses, by text: all kinds, the hybrid too, and hostile arguments."""

import re

import numpy as np
import pytest
from tests.loops.cases import FourBar, Z, close, near, project, row_of_four_bars

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SoacraftError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.position import project as put_back

BAR = FourBar()
ZERO = np.zeros(3)
REST = np.zeros(5)


def ties(mb):
    found = [x.name for x in (*mb.loops, *mb.couplings)]
    assert len(found) > 1  # else nothing is hybrid
    return found


def first_embedded(mb):
    """A hybrid: the first tie embedded, the others as rows."""
    return ConstraintEmbedding(mb, embed=ties(mb)[:1])


def first_as_rows(mb):
    """A hybrid: all ties embedded but the first."""
    return ConstraintEmbedding(mb, embed=ties(mb)[1:])


KINDS = [TreeAugmented, FullyAugmented, ConstraintEmbedding, first_embedded, first_as_rows]


def beside_slides(mb):
    """The model in its state, and two slides beside it that a second loop ties."""
    q = np.array(mb.q)
    for name in ("left", "right"):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.5))
    mb.close_loop("twin", "left", "right", sc.Weld())
    mb.q = [*q, 0.2, 0.2]
    return mb


@pytest.fixture
def mb():
    made = beside_slides(BAR.build(0.9))
    made.v = project(made, np.ones(5))
    return made


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def refused(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert re.fullmatch(text, str(raised.value)), str(raised.value)


# -- closures that cannot be met ----------------------------------------------------------------------------------


def test_a_closure_that_cannot_be_assembled_tells_its_gap(kind):
    """Two links of 1 m and a wall 2.5 m away."""
    mb = sc.Multibody("short")
    tip = sc.Pose(translation=(1, 0, 0))
    for i in range(2):
        inertia = sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3))
        mb.add_body(f"link{i}", f"link{i - 1}" if i else None, sc.Pin(Z), inertia, tip if i else sc.Pose())
    mb["link1"].add_node("tip", tip)
    mb.root.add_node("wall", sc.Pose(translation=(2.5, 0, 0)))
    mb.close_loop("reach", "inertial/wall", "link1/tip", sc.Pin(Z))
    refused(
        lambda: kind(beside_slides(mb)).assemble([0.3, -0.2, 0.0, 0.1]),
        LoopError,
        r"'short' cannot be assembled from here: at the nearest approach loop 'reach' stays open by 0\.5 m and "
        r"\S+ rad\. Start from another q0\.",
    )


def test_a_state_off_the_closures(kind, mb):
    refused(
        lambda: kind(mb).forward_dynamics(mb.q + np.array([0.0, 0.01, 0.0, 0.0, 0.0]), mb.v, REST),
        LoopError,
        r"loop 'ring' of 'four_bar' is open by 0\.011 m and \S+ rad; the solver takes 3\.4e-06 m and 1e-06 rad\. "
        r"Close it first: q = s\.assemble\(q\)\.",
    )
    refused(
        lambda: kind(mb).forward_dynamics(mb.q, np.array([1.0, 0.0, 0.0, 0.0, 0.0]), REST),
        LoopError,
        r"loop 'ring' of 'four_bar' opens at \d\.\d+ \(m/s or rad/s\) with this v; the solver takes \S+e-06\. Make v "
        r"agree first: v = s\.project_velocity\(q, v\)\.",
    )


def test_a_state_too_far_off_to_be_projected(kind, mb):
    """The crank turned by a half, the others held back: a whole mechanism away."""
    refused(
        lambda: put_back(kind(mb), [0.0, np.pi, 0.0, 0.0, 0.0], mb.v),
        LoopError,
        r"the state of 'four_bar' is too far off its closures to be projected: loop 'ring' is open by 2\.6 m and "
        r"\S+ rad, and \S+ stays \(radians, or lengths of the loop\)\. Close it first: q = s\.assemble\(q\)\.",
    )


def test_a_projected_state_is_the_nearest_one(kind, mb):
    """Against small steps of least squares in the metric of the mass matrix."""
    off = np.array([2e-5, -1e-5, 3e-5, 1e-5, -2e-5])
    q, v = put_back(kind(mb), mb.q + off, mb.v + off)
    M = sc.dynamics.mass_matrix(mb, mb.q, ignore_loops=True)
    along = np.array([project(mb, x) for x in np.eye(5)[[0, 3]]]).T
    stays = along @ np.linalg.solve(along.T @ M @ along, along.T @ M @ off)
    near(q, mb.q + stays, 1e-8)
    assert kind(mb).forward_dynamics(q, v, REST).residual < 1e-12


# -- independent dofs and ranks -----------------------------------------------------------------------------------


def test_an_independent_coordinate_that_became_dependent():
    """Crank and coupler in one line: the rocker turns back, and its rate says nothing of the crank's."""
    mb = BAR.build(0.9)
    mb.v = project(mb, np.ones(3))
    s = ConstraintEmbedding(mb, independent=["rocker"])
    assert s.forward_dynamics(mb.q, mb.v, ZERO).independent == ("rocker",)
    reach = BAR.crank + BAR.coupler
    theta = np.arccos((reach**2 + BAR.ground**2 - BAR.rocker**2) / (2.0 * reach * BAR.ground))
    refused(
        lambda: s.forward_dynamics(BAR.build(theta).q, ZERO, ZERO),
        LoopError,
        r"'rocker' of 'four_bar' cannot be independent here: the closures tie it to other dofs\. Independent dofs that "
        r"work: '(crank|coupler)'\.",
    )
    assert s.forward_dynamics(mb.q, mb.v, ZERO).independent == ("rocker",)


def test_a_rank_change_during_a_solve(kind):
    """In the collapsed pose with rates that belong to no branch."""
    row = beside_slides(row_of_four_bars(1))
    row.q = REST
    refused(
        lambda: kind(row).forward_dynamics(REST, project(row, np.array([1.0, 0.35, -0.5, 0.0, 0.0])), REST),
        LoopError,
        r"no acceleration satisfies the closures of 'row': loop 'loop0' keeps a residual of \S+\. Closures that repeat "
        r"others contradict them here: the rank changes at this configuration, or what drives them does not agree\.",
    )


# -- couplings in a cycle -----------------------------------------------------------------------------------------


def wheels(last, offset=0.0):
    """Three wheels, each geared to the next and the third to the first."""
    mb = sc.Multibody("wheels")
    for name in "abc":
        mb.add_body(name, None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.couple("ab", {"a": 1, "b": -2})
    mb.couple("bc", {"b": 1, "c": -2})
    mb.couple("ca", {"c": 1, "a": -last}, offset)
    return mb


def test_couplings_in_a_cycle_that_contradict_each_other(kind):
    mb = wheels(0.25, 0.3)
    refused(
        lambda: kind(mb).assemble(ZERO),
        LoopError,
        r"'wheels' cannot be assembled from here: at the nearest approach coupling '(ab|bc|ca)' stays off by 0\.\d+; "
        r"coupling '(ab|bc|ca)' stays off by 0\.\d+; coupling '(ab|bc|ca)' stays off by 0\.\d+\. Start from another "
        r"q0\.",
    )
    refused(
        lambda: kind(mb).forward_dynamics(ZERO, ZERO, ZERO),
        LoopError,
        r"coupling 'ca' of 'wheels' is off by -0\.3; the solver takes 1e-06\. Close it first: q = s\.assemble\(q\)\.",
    )


def test_couplings_in_a_cycle_that_agree_or_lock_are_told(kind):
    """4 : 2 : 1 goes round and says one thing twice; any other ratio holds all wheels still."""
    r = kind(wheels(0.25)).forward_dynamics(ZERO, [4.0, 2.0, 1.0], [21.0, 0.0, 0.0])
    near(r.vdot, [16.0, 8.0, 4.0], 1e-12)  # (16 + 4 + 1) cdd = 4 x 21
    assert (r.rank, len(r.redundant)) == (2, 1)
    r = kind(wheels(3.0)).forward_dynamics(ZERO, ZERO, [21.0, 0.0, 0.0])
    near(r.vdot, ZERO, 1e-12)
    assert (r.rank, r.redundant) == (3, ())
    assert sc.loops.report(wheels(3.0)).mobility == 0


# -- models and operators -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [True, False])
def test_a_closure_across_two_graphs(mb, first):
    other = BAR.build(0.9)
    ends = (other["rocker"], "crank") if first else ("crank", other["rocker"])
    before = (mb.version, len(mb.loops))
    refused(
        lambda: mb.close_loop("x", *ends, sc.Pin(Z)),
        ModelError,
        r"body 'rocker' belongs to another model of the same name, 'four_bar'\.",
    )
    assert (mb.version, len(mb.loops)) == before


@pytest.mark.parametrize("augmented", [TreeAugmented, FullyAugmented])
def test_operators_of_an_augmented_solver(augmented, mb):
    refused(
        lambda: sc.operators(augmented(mb)),
        LoopError,
        rf"{augmented.__name__} keeps the closures of 'four_bar' as rows next to the tree, so there are no operators "
        r"of the closed chain; sc\.loops\.ConstraintEmbedding\(mb\) makes it an SKO model that has them\.",
    )


def test_operators_of_a_hybrid():
    mb = sc.load("robotiq_2f85")
    loop = mb.loops[0].name
    s = ConstraintEmbedding(mb, embed=[loop])
    with pytest.raises(LoopError, match="are kept as rows next to the embedded tree, which alone does not know them"):
        sc.operators(s)


# -- hostile arguments --------------------------------------------------------------------------------------------

HOSTILE = [None, "q", b"q", object(), {}, [], [[]], [None] * 5, [1j] * 5, [np.nan] * 5, [np.inf] * 5, 3.0,
           np.zeros((0, 5)), np.zeros((2, 0)), np.array(["a"] * 5), [[0.0] * 5, [0.0]], lambda: 0]  # fmt: skip
CALLS = {
    "forward_dynamics q": lambda s, mb, x: s.forward_dynamics(x, mb.v, REST),
    "forward_dynamics v": lambda s, mb, x: s.forward_dynamics(mb.q, x, REST),
    "forward_dynamics force": lambda s, mb, x: s.forward_dynamics(mb.q, mb.v, x),
    "assemble q0": lambda s, mb, x: s.assemble(x),
    "project_velocity v": lambda s, mb, x: s.project_velocity(mb.q, x),
    "project q": lambda s, mb, x: put_back(s, x, mb.v),
    "project v": lambda s, mb, x: put_back(s, mb.q, x),
    "inverse_dynamics": lambda s, mb, x: s.inverse_dynamics(mb.q, mb.v, x),
    "independent": lambda s, mb, x: s.independent(x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_hostile_arguments_are_answered_or_refused_and_change_nothing(kind, mb, call):
    s = kind(mb)
    first = s.forward_dynamics(mb.q, mb.v, REST).vdot
    told = []
    for x in HOSTILE:
        try:
            CALLS[call](s, mb, x)
        except SoacraftError as error:
            told.append(str(error))
    assert len(told) >= 12
    assert min(map(len, told)) > 20
    near(s.forward_dynamics(mb.q, mb.v, REST).vdot, first, 1e-13)


@pytest.mark.parametrize("call", [x for x in CALLS if x != "independent"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_too_large_to_work_with_give_a_finite_answer_or_an_error(kind, mb, call):
    s = kind(mb)
    try:
        found = CALLS[call](s, mb, [1e308] * (2 if call == "inverse_dynamics" else 5))
    except SoacraftError:
        return
    assert np.isfinite(found.vdot if call.startswith("forward") else found).all()


def test_a_closure_between_a_body_and_itself(mb):
    refused(
        lambda: close(mb, "x", "crank", "crank", sc.Pin(Z)),
        LoopError,
        r"loop 'x': 'crank' and 'crank/x_end' are both on 'crank'; a loop closes between two bodies\.",
    )
