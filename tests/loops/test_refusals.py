"""What solvers of closed chains refuse, by text: all kinds, hybrids too; that a refusal changes nothing."""

import re
from functools import cache

import numpy as np
import pytest
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, Z, close, near, project, refused, row_of_four_bars

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, SoacraftError, StaleError, StateError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.position import project as put_back

FOUR_BAR = FourBar()
BOTH = (TreeAugmented, FullyAugmented)
ZERO = np.zeros(3)


@pytest.fixture
def mb():
    made = FOUR_BAR.build(0.9)
    made.v = project(made, np.ones(3))
    return made


@pytest.fixture(params=BOTH)
def solver(request, mb):
    return request.param(mb)



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


@cache
def moving_pair():
    made = beside_slides(FOUR_BAR.build(0.9))
    made.v = project(made, np.ones(5))
    return made


@pytest.fixture
def pair():
    return moving_pair().copy()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


# -- states off the closures ---------------------------------------------------------------------------------------


def test_an_open_loop_is_refused_with_its_gap(solver, mb):
    refused(
        lambda: solver.forward_dynamics(mb.q + np.array([0.0, 0.01, 0.0]), mb.v, ZERO),
        LoopError,
        r"loop 'ring' of 'four_bar' is open by 0\.011 m and \S+ rad; the solver takes 3\.4e-06 m and 1e-06 rad\. "
        r"Close it first: q = s\.assemble\(q\)\.",
    )


def test_a_velocity_that_opens_a_loop_is_refused(solver, mb):
    refused(
        lambda: solver.forward_dynamics(mb.q, mb.v + np.array([0.1, 0.0, 0.0]), ZERO),
        LoopError,
        r"loop 'ring' of 'four_bar' opens at 0\.\d+ \(m/s or rad/s\) with this v; the solver takes \S+\. Make v agree "
        r"first: v = s\.project_velocity\(q, v\)\.",
    )


def test_a_coupling_that_does_not_hold_is_refused(solver, mb):
    gear = sc.serial_chain(2)
    gear.couple("gear", {"link1": 1, "link2": -2}, offset=0.5)
    s = type(solver)(gear)
    refused(
        lambda: s.forward_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]),
        LoopError,
        r"coupling 'gear' of 'chain' is off by -0\.5; the solver takes 2e-06\. Close it first: q = s\.assemble\(q\)\.",
    )
    refused(
        lambda: s.forward_dynamics([0.5, 0.0], [1.0, 0.0], [0.0, 0.0]),
        LoopError,
        r"coupling 'gear' of 'chain' opens at 1 \(m/s or rad/s\) with this v; the solver takes \S+e-06\. .*",
    )


def test_the_tolerance_is_what_the_user_says(mb):
    q = mb.q + np.array([0.0, 1e-4, 0.0])
    assert TreeAugmented(mb, tolerance=1e-3).forward_dynamics(q, ZERO, ZERO).rank == 2
    for bad, text in ((0.0, "must be positive, got 0.0"), (np.nan, "must be finite"), ("a", "must be real numbers")):
        with pytest.raises(ModelError, match=f"tolerance of TreeAugmented {text}"):
            TreeAugmented(mb, tolerance=bad)


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


def test_a_state_off_the_closures(kind, pair):
    refused(
        lambda: kind(pair).forward_dynamics(pair.q + np.array([0.0, 0.01, 0.0, 0.0, 0.0]), pair.v, REST),
        LoopError,
        r"loop 'ring' of 'four_bar' is open by 0\.011 m and \S+ rad; the solver takes 3\.4e-06 m and 1e-06 rad\. "
        r"Close it first: q = s\.assemble\(q\)\.",
    )
    refused(
        lambda: kind(pair).forward_dynamics(pair.q, np.array([1.0, 0.0, 0.0, 0.0, 0.0]), REST),
        LoopError,
        r"loop 'ring' of 'four_bar' opens at \d\.\d+ \(m/s or rad/s\) with this v; the solver takes \S+e-06\. Make v "
        r"agree first: v = s\.project_velocity\(q, v\)\.",
    )


def test_a_state_too_far_off_to_be_projected(kind, pair):
    """The crank turned by a half, the others held back: a whole mechanism away."""
    refused(
        lambda: put_back(kind(pair), [0.0, np.pi, 0.0, 0.0, 0.0], pair.v),
        LoopError,
        r"the state of 'four_bar' is too far off its closures to be projected: loop 'ring' is open by 2\.6 m and "
        r"\S+ rad, and \S+ stays \(radians, or lengths of the loop\)\. Close it first: q = s\.assemble\(q\)\.",
    )


def test_a_driven_closure_is_not_the_one_that_is_too_far_off(kind):
    """Two loops in a row: the second is open by more, but what drives it says where it is."""
    mb = row_of_four_bars(2)
    q = np.array(mb.q)
    for name, turn in (("crank0", 1.3), ("crank2", 3.0)):
        q[mb.q_slice(name)] += turn
    drive = {"loop1": (np.zeros(6), np.zeros(6))}
    for U, name in ((None, "loop1"), (drive, "loop0")):
        with pytest.raises(LoopError, match=rf"too far off its closures to be projected: loop '{name}' is open by"):
            kind(mb).project(q, 0 * mb.v, U)


def test_a_bias_force_of_velocities_that_open_a_loop_is_refused(kind, pair):
    """As forward dynamics refuses them; at rest there is nothing to refuse."""
    s = kind(pair)
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' opens at \S+ \(m/s or rad/s\) with this v"):
        s.bias_force(pair.q, np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    near(s.bias_force(pair.q, 0 * pair.v), s.gravity_force(pair.q), 1e-9)


def test_a_projected_state_is_the_nearest_one(kind, pair):
    """Against small steps of least squares in the metric of the mass matrix."""
    off = np.array([2e-5, -1e-5, 3e-5, 1e-5, -2e-5])
    q, v = put_back(kind(pair), pair.q + off, pair.v + off)
    M = sc.dynamics.mass_matrix(pair, pair.q, ignore_loops=True)
    along = np.array([project(pair, x) for x in np.eye(5)[[0, 3]]]).T
    stays = along @ np.linalg.solve(along.T @ M @ along, along.T @ M @ off)
    near(q, pair.q + stays, 1e-8)
    assert kind(pair).forward_dynamics(q, v, REST).residual < 1e-12


# -- closures that contradict each other, ranks --------------------------------------------------------------------


def test_drives_that_contradict_each_other_are_refused(solver, mb):
    box = sc.Multibody("box")
    box.add_body("box", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    for name in ("one", "two"):
        close(box, name, "inertial", "box", sc.Weld())
    s, up = type(solver)(box), np.array([0, 0, 0, 0, 0, 1.0])
    still = np.zeros(6)
    refused(
        lambda: s.forward_dynamics(box.q, still, still, U={"one": (still, up), "two": (still, -up)}),
        LoopError,
        r"no acceleration satisfies the closures of 'box': loop '(one|two)' keeps a residual of [12]\S*\. "
        r"Closures that repeat others contradict them here: the rank changes at this configuration, or what drives "
        r"them does not agree\.",
    )


def test_a_singular_pose_with_a_motion_off_every_branch_is_refused(solver, mb):
    """All in one line a four-bar of rods of 1 m has two branches; between them its motion cannot go on."""
    row = row_of_four_bars(1)
    flat = np.zeros(3)
    for name in ("crank0", "crank1"):
        assert row.dof_names.index(name) in (0, 1)
    row.q = flat
    off = np.array([1.0, 0.35, -0.5])
    v = project(row, off)
    refused(
        lambda: type(solver)(row).forward_dynamics(flat, v, ZERO),
        LoopError,
        r"no acceleration satisfies the closures of 'row': loop 'loop0' keeps a residual of \S+\. .*",
    )


@pytest.mark.parametrize(
    ("U", "error", "text"),
    [
        (3, StateError, r"U of 'four_bar' is given as \{name: \(u, udot\)\}, got 3\."),
        ({"rng": (1, 2)}, LoopError, r"U names 'rng', but the active loops and couplings of 'four_bar' are 'ring'\."),
        ({"ring": 3}, StateError, r"U of 'ring' must be a pair \(u, udot\), got 3\."),
        ({"ring": (np.zeros(5), np.zeros(6))}, StateError, r"u of 'ring' must .*"),
        ({"ring": (np.zeros(6), np.full(6, np.nan))}, StateError, r"udot of 'ring' must be finite, .*"),
    ],
)
def test_bad_drives(solver, mb, U, error, text):
    refused(lambda: solver.forward_dynamics(mb.q, mb.v, ZERO, U=U), error, text)


def test_a_closure_whose_axes_turn_cannot_be_driven():
    other = FOUR_BAR.build(0.9, hinge=sc.Universal((0, 0, 1), (1, 0, 0)))
    refused(
        lambda: TreeAugmented(other).forward_dynamics(other.q, ZERO, ZERO, U={"ring": (np.zeros(6), np.zeros(6))}),
        LoopError,
        r"loop 'ring' cannot be driven: the motions that Universal\(.*\) forbids turn with its coordinates\. A driven "
        r"closure needs a hinge that forbids always the same ones, such as .*",
    )


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


# -- models, numbers, structure ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BOTH)
def test_what_is_not_a_model(kind):
    refused(
        lambda: kind("arm"), ModelError, rf"{kind.__name__} takes a Multibody or a sub-graph of one, got 'arm'\."
    )


def test_a_structural_change_makes_a_solver_stale(solver, mb):
    q, v = mb.q, mb.v
    mb.close_loop("more", "crank", "rocker", sc.Spherical(), active=False)
    refused(
        lambda: solver.forward_dynamics(q, v, ZERO),
        StaleError,
        r"this solver of 'four_bar' was made before a structural change of the model; make a new one with "
        rf"sc\.loops\.{type(solver).__name__}\(\.\.\.\)\.",
    )


@pytest.mark.parametrize("ask", ["sko", "operators"])
def test_an_augmented_solver_has_no_operators(solver, mb, ask):
    if ask == "operators" and type(solver) is TreeAugmented:  # it has those of the tree with its closures
        assert isinstance(solver.operators(mb.q), sc.loops.ClosedOperators)
        return
    refused(
        lambda: getattr(solver, ask)(mb.q),
        LoopError,
        rf"{type(solver).__name__} keeps the closures of 'four_bar' as rows next to the tree, so there are no "
        r"operators of the closed chain; sc\.loops\.ConstraintEmbedding\(mb\) makes it an SKO model that has them; "
        r"sc\.loops\.TreeAugmented\(mb\) has those of the tree with Q, Gc and S\.",
    )


def test_operators_of_an_augmented_solver(pair):
    augmented = FullyAugmented
    refused(
        lambda: sc.operators(augmented(pair)),
        LoopError,
        rf"{augmented.__name__} keeps the closures of 'four_bar' as rows next to the tree, so there are no operators "
        r"of the closed chain; sc\.loops\.ConstraintEmbedding\(mb\) makes it an SKO model that has them; "
        r"sc\.loops\.TreeAugmented\(mb\) has those of the tree with Q, Gc and S\.",
    )


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
    X = s.expand(mb.q, by_name(s, mb.q, [1.0]))
    M = dyn.mass_matrix(mb, mb.q, ignore_loops=True)
    near((ops.H * ops.phi * ops.M * ops.phi.T * ops.H.T).array(), X @ M @ X, 1e-12)
    for kind in (ConstraintEmbedding, TreeAugmented, FullyAugmented):
        refused(
            lambda kind=kind: dyn.forward_dynamics(kind(mb), mb.q, mb.v, ZERO),
            ModelError,
            r"forward_dynamics takes a Multibody or .*\. It has its own: s\.forward_dynamics\(\.\.\.\)\.",
        )


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (dict(q=[np.nan, 0, 0]), "q of 'four_bar' must be finite: entry 0, of hinge 'crank', is nan"),
        (dict(v=[0, np.inf, 0]), "v of 'four_bar' must be finite"),
        (dict(force=[1.0, 2.0]), "force of 'four_bar' has 3 entries, got 2"),
        (dict(force="torque"), "force of 'four_bar' has 3 entries, got 'torque'"),
        (dict(q=np.zeros((2, 3)), v=np.zeros((3, 3))), "the leading (batch) axes do not agree"),
        (dict(f_ext=3), "external forces are given as {node: wrench}, got 3"),
    ],
)
def test_bad_numbers(solver, mb, change, text):
    given = {"q": mb.q, "v": mb.v, "force": ZERO, **change}
    with pytest.raises(StateError, match=re.escape(text)):
        solver.forward_dynamics(**given)


def test_a_refusal_leaves_the_solver_as_it_was(solver, mb):
    first = solver.forward_dynamics(mb.q, mb.v, ZERO).vdot
    for bad in (dict(q=mb.q + 0.1), dict(v=np.ones(3)), dict(force=[np.nan] * 3)):
        with pytest.raises((LoopError, StateError)):
            solver.forward_dynamics(**{"q": mb.q, "v": mb.v, "force": ZERO, **bad})
    assert np.array_equal(solver.forward_dynamics(mb.q, mb.v, ZERO).vdot, first)


@pytest.mark.parametrize("first", [True, False])
def test_a_closure_across_two_graphs(pair, first):
    other = FOUR_BAR.build(0.9)
    ends = (other["rocker"], "crank") if first else ("crank", other["rocker"])
    before = (pair.version, len(pair.loops))
    refused(
        lambda: pair.close_loop("x", *ends, sc.Pin(Z)),
        ModelError,
        r"body 'rocker' belongs to another model of the same name, 'four_bar'\.",
    )
    assert (pair.version, len(pair.loops)) == before


def test_two_models_of_one_name(mb):
    other = FOUR_BAR.build(0.9)
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


def test_a_closure_between_a_body_and_itself(pair):
    refused(
        lambda: close(pair, "x", "crank", "crank", sc.Pin(Z)),
        LoopError,
        r"loop 'x': 'crank' and 'crank/x_end' are both on 'crank'; a loop closes between two bodies\.",
    )


# -- hostile arguments ---------------------------------------------------------------------------------------------

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
def test_hostile_arguments_are_answered_or_refused_and_change_nothing(kind, pair, call):
    s = kind(pair)
    first = s.forward_dynamics(pair.q, pair.v, REST).vdot
    told = []
    for x in HOSTILE:
        try:
            CALLS[call](s, pair, x)
        except SoacraftError as error:
            told.append(str(error))
    assert len(told) >= 12
    assert min(map(len, told)) > 20
    near(s.forward_dynamics(pair.q, pair.v, REST).vdot, first, 1e-13)


@pytest.mark.parametrize("call", [x for x in CALLS if x != "independent"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_too_large_to_work_with_give_a_finite_answer_or_an_error(kind, pair, call):
    s = kind(pair)
    try:
        found = CALLS[call](s, pair, [1e308] * (2 if call == "inverse_dynamics" else 5))
    except SoacraftError:
        return
    assert np.isfinite(found.vdot if call.startswith("forward") else found).all()
