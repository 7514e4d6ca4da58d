"""One rank for all: report, solvers and independent dofs, on closures that repeat, slide, or sit at their own pins."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.by_name import by_name
from tests.loops.cases import Z, close, near, row_of_four_bars, tie
from tests.profiles import tries
from tests.strategies import SEEDS, keep, parents, pose

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.kinematics import report
from soacraft.kinematics.independent import Partition, choose
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, linearize
from soacraft.loops.inverse import force_for
from soacraft.model.samples.random_models import random_inertia
from soacraft.model.tree.parts.closures import coordinate_names

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
SCALES = (1e-6, 1e-3, 1e3, 1e6)
X = (1, 0, 0)
SKEW = (0.3, -0.5, 0.8)
HINGES = {
    "slide": lambda scale: sc.Prismatic(X),
    "skew slide": lambda scale: sc.Prismatic(SKEW),
    "pin": lambda scale: sc.Pin(Z),
    "skew pin": lambda scale: sc.Pin(SKEW),
    "tube": lambda scale: sc.Cylindrical(X),
    "plane": lambda scale: sc.Planar(),
    "ball": lambda scale: sc.Spherical(),
    "screw": lambda scale: sc.Helical(Z, 0.2 * scale),
    "weld": lambda scale: sc.Weld(),
}
KINDS = st.sampled_from(["slide", "slide", "slide", *HINGES])


# -- closed chains in any units of length -------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A closed chain to be built in any units of length."""

    bodies: tuple
    """(parent, kind of hinge, seeds of inboard pose, outboard pose and inertia) of each."""
    seed: int
    loops: tuple
    """(frame a, body b, kind of hinge, seed of the pose on a; None: at b) of each."""
    gear: tuple
    """Two coordinates that are tied, or none."""

    def build(self, scale=1.0):
        mb = sc.Multibody("drawn", gravity=(0, 0, -9.81 * scale))
        for k, (p, kind, inboard, outboard, seed) in enumerate(self.bodies):
            I = random_inertia(seed)
            I = sc.Inertia(I.mass, scale * I.com, scale**2 * I.moment)
            at = (scaled(pose(inboard), scale), scaled(pose(outboard), scale))
            mb.add_body(f"body{k}", body(p) if p >= 0 else None, HINGES[kind](scale), I, *at)
        if self.seed:
            rng = np.random.default_rng(self.seed)
            drawn = [x.hinge.random(rng) * np.where(lengths(x.hinge), scale, 1.0) for x in mb.bodies]
            mb.q = np.concatenate(drawn)
        for i, (a, b, kind, seed) in enumerate(self.loops):
            at = mb.pose(body(a)).inv @ mb.pose(body(b)) if seed is None else scaled(pose(seed), scale)
            start = mb.frame(body(a)).add_node(f"start{i}", sc.Pose(at.rotation, at.translation))
            close(mb, f"loop{i}", start, body(b), HINGES[kind](scale))
        known = sorted(coordinate_names(mb))
        if self.gear and len(known) > 1:
            first = self.gear[0] % len(known)
            pair = [known[first], known[(first + 1 + self.gear[1] % (len(known) - 1)) % len(known)]]
            slides = {x for y in mb.bodies for x in np.array(mb.dof_names[y.v_slice])[lengths(y.hinge)[: y.hinge.nv]]}
            units = [scale if x in slides else 1.0 for x in pair]
            tie(mb, "gear", pair, [(1.0 / units[0],), (-1.5 / units[1],)])
        return mb


def body(k):
    return "inertial" if k < 0 else f"body{k}"


def scaled(at, scale):
    return sc.Pose(at.rotation, scale * np.asarray(at.translation))


def lengths(hinge):
    """Which coordinates are lengths."""
    if hinge.nq != hinge.nv or not hinge.nv:
        return np.zeros(hinge.nq, dtype=bool)
    return np.linalg.norm(hinge.H_T(hinge.neutral())[:3], axis=0) == 0.0


@st.composite
def plans(draw, gears=True):
    """Chains of slides above all; closures at a body's own hinge, welds, and any others."""
    bodies = [
        (p, draw(KINDS), draw(SEEDS), draw(st.sampled_from([0, 0, 1, 2])), draw(SEEDS)) for p in draw(parents(2, 6))
    ]
    loops = []
    for _ in range(draw(st.integers(1, 3))):
        b = draw(st.integers(0, len(bodies) - 1))
        how = draw(st.sampled_from(["own", "weld", "any"]))
        if how == "own":
            loops.append((bodies[b][0], b, draw(st.sampled_from([bodies[b][1], "pin", "ball"])), None))
        else:
            a = draw(st.integers(-1, len(bodies) - 1).filter(lambda k, b=b: k != b))
            loops.append((a, b, "weld" if how == "weld" else draw(KINDS), draw(SEEDS)))
    gear = draw(st.sampled_from([(), (draw(SEEDS), draw(SEEDS))])) if gears else ()
    return Plan(tuple(bodies), draw(SEEDS), tuple(loops), gear)


def rank_by_singular_values(mb):
    """Of the Jacobian as it is, all lengths being about 1; None where it is not clear."""
    G = Constraints(mb, mb.state()).jacobian()
    values = np.linalg.svd(G, compute_uv=False) if G.size else np.zeros(0)
    return None if ((values > 1e-10) & (values < 1e-3)).any() else int(np.sum(values >= 1e-3))


def chosen(mb):
    rows = Constraints(mb, mb.state())
    return choose(rows.jacobian(), sizes_of(rows))


def counted(graph):
    """The rank by everything that tells it."""
    rest, found = np.zeros(graph.nv), {report(graph).rank}
    names = [x.name for x in (*graph.loops, *graph.couplings)]
    for s in (*(S(graph) for S in SOLVERS), ConstraintEmbedding(graph, embed=names[::2])):
        found |= {s.forward_dynamics(graph.q, rest, rest).rank, graph.nv - len(s.independent(graph.q))}
    return found


# -- drawn chains -------------------------------------------------------------------------------------------------


@tries(25)
@given(plans())
def test_all_count_the_same(plan):
    mb = plan.build()
    rank = rank_by_singular_values(mb)
    keep(rank is not None)
    assert counted(mb) == {rank}


@tries(15)
@given(plans(), st.integers(0, 5))
def test_in_sub_graphs(plan, k):
    mb = plan.build()
    part = mb.subgraph(mb.body(body(k % len(plan.bodies))).subtree())
    rank = rank_by_singular_values(part)
    keep(rank is not None)
    assert counted(part) == {rank}


@tries(18)
@given(plans(), st.sampled_from([1e-3, 1.0, 1e3]))
def test_multipliers_have_least_norm_in_all_units(plan, scale):
    """They have no part that does nothing."""
    mb = plan.build(scale)
    keep(rank_by_singular_values(plan.build()) is not None)
    rows = Constraints(mb, mb.state(v=np.zeros(mb.nv)))
    sizes, force = sizes_of(rows), scale**2 * np.linspace(1.0, 2.0, mb.nv)
    U = np.linalg.svd(sizes.scaled(rows.jacobian()) * sizes.rows[:, None], full_matrices=True)[0]
    for s in (S(mb) for S in SOLVERS):
        r = s.forward_dynamics(mb.q, np.zeros(mb.nv), force)
        parts = [-x.Q @ np.kron(np.eye(2), x.R_ab.T) @ r.multipliers[x.name] for x in rows.loops]
        found = np.concatenate([*parts, [r.multipliers[x.name] for x in rows.couplings]])
        idle = U[:, r.rank :].T @ found
        assert np.abs(idle).max(initial=0.0) <= 1e-6 * max(np.abs(found).max(initial=0.0), scale)  # of the weights


@tries(15)
@given(plans())
def test_in_all_units(plan):
    rank = rank_by_singular_values(plan.build())
    keep(rank is not None)
    assert [chosen(plan.build(scale)).rank for scale in SCALES] == [rank] * len(SCALES)


@tries(15)
@given(plans(), SEEDS)
def test_forces_give_the_accelerations_back(plan, seed):
    mb, rng = plan.build(), np.random.default_rng(seed)
    keep(rank_by_singular_values(mb) is not None)
    rest = np.zeros(mb.nv)
    for s in (*(S(mb) for S in SOLVERS), ConstraintEmbedding(mb, embed=["loop0"])):
        wanted = rng.standard_normal(len(s.independent(mb.q)))
        force = s.inverse_dynamics(mb.q, rest, by_name(s, mb.q, wanted))
        found = s.forward_dynamics(mb.q, rest, force)
        near(found.vdot_independent, wanted, 1e-9 * max(1.0, np.abs(found.vdot).max(initial=0.0)))


# -- chains of slides ---------------------------------------------------------------------------------------------


def yoke(scale=1.0, tilt=0.0):
    """Two slides welded to each other, one of them pinned to a wheel beside them: nothing moves."""
    mb, I = sc.Multibody("yoke"), sc.Inertia(1.0, (0.1 * scale, 0, 0), scale**2 * np.eye(3))
    mb.add_body("left", None, sc.Prismatic(X), I, sc.Pose(translation=(0, 0.1 * scale, 0)))
    mb.add_body("right", None, sc.Prismatic((np.cos(tilt), np.sin(tilt), 0)), I,
                sc.Pose(translation=(0, -0.1 * scale, 0)))  # fmt: skip
    mb.add_body("wheel", None, sc.Pin(Z), I, sc.Pose(translation=(2 * scale, 0, 0)))
    mb.q = [0.2 * scale, 0.2 * scale, 0.5]
    close(mb, "yoke", "left", "right", sc.Weld())
    return mb


@pytest.mark.parametrize("scale", [1.0, *SCALES])
def test_slides_that_a_wheel_holds(scale):
    """left = right, and the wheel's point would move across the slide: three dofs, rank 3."""
    mb = yoke(scale)
    close(mb, "pin", "left", "wheel", sc.Pin(Z))
    found = report(mb)
    assert (found.rank, found.mobility, found.independent, found.singular) == (3, 0, (), False)
    assert found.smallest > 0.1
    assert counted(mb) == {3}
    for S in SOLVERS:
        s, rest = S(mb), np.zeros(3)
        assert linearize(s, mb.q, rest, rest).A.shape == (0, 0)
        near(s.inverse_dynamics(mb.q, rest, []), rest)
        with pytest.raises(StateError, match="of 'yoke' has 0 entries here, got 1; they are of no dofs"):
            s.inverse_dynamics(mb.q, rest, [1.0])


@pytest.mark.parametrize("scale", [1.0, *SCALES])
@pytest.mark.parametrize(("tilt", "rank"), [(1e-4, 2), (3e-7, 1), (1e-10, 1), (0.0, 1)])
def test_slides_that_are_parallel_but_for_digits(scale, tilt, rank):
    assert chosen(yoke(scale, tilt)).rank == rank


@pytest.mark.parametrize("short", [1e-6, 1e-3, 1.0])
def test_a_slide_in_a_small_loop_and_in_a_large_one(short):
    """The tips of two cranks move across the slide they are pinned to, one of them of 10 m: all three are held."""
    mb, I = sc.Multibody("cranks"), sc.Inertia(1.0, (0, 0, 0), np.eye(3))
    mb.add_body("slide", None, sc.Prismatic(X), I)
    for name, length in (("small", short), ("large", 10.0)):
        mb.add_body(name, None, sc.Pin(Z), I, sc.Pose(translation=(-length * np.cos(0.6), -length * np.sin(0.6), 0)))
        mb[name].add_node("tip", sc.Pose(translation=(length, 0, 0)))
        mb.close_loop(f"{name} tip", "slide", f"{name}/tip", sc.Pin(Z))
    mb.q = [0.0, 0.6, 0.6]
    assert counted(mb) == {3}


@pytest.mark.parametrize("far", [0.0, 1.0, 1e4])
def test_closures_at_their_own_pins(far):
    """They repeat the pins, however long the slides in the same loops and wherever they are."""
    mb, I = sc.Multibody("pins"), sc.Inertia(1.0, (0.1, 0, 0), np.eye(3))
    mb.add_body("slide", None, sc.Prismatic(SKEW), I, sc.Pose.from_rpy(0.3, 0.2, 0.1, (far, -far, far)))
    mb.add_body("wheel", "slide", sc.Pin(SKEW), I, sc.Pose.from_rpy(0.5, 0.1, 0.7, (0.2, 0.1, 0.3)))
    mb.add_body("other", None, sc.Prismatic(X), I, sc.Pose(translation=(0, far, 0)))
    mb.q = [0.4, 0.9, 0.1]
    start = mb["slide"].add_node("start", mb.pose("slide").inv @ mb.pose("wheel"))
    close(mb, "pin", start, "wheel", sc.Pin(SKEW))
    assert counted(mb) == {0}
    close(mb, "held", "other", "wheel", sc.Pin(SKEW))  # neither slides nor pins are parallel
    assert counted(mb) == {3}


@pytest.mark.parametrize("scale", [1.0, *SCALES])
def test_a_rack_that_is_held_by_its_pinion(scale):
    """Coefficients have units too."""
    mb = sc.Multibody("rack")
    mb.add_body("pinion", None, sc.Pin(Z), sc.Inertia(1.0, (0, 0, 0), scale**2 * np.eye(3)))
    mb.add_body("rack", None, sc.Prismatic(X), sc.Inertia(1.0, (0, 0, 0), scale**2 * np.eye(3)))
    mb.couple("teeth", {"pinion": 0.1 * scale, "rack": -1.0}, 0.0)
    assert chosen(mb).rank == 1
    mb.couple("brake", {"pinion": 1.0}, 0.0)
    assert chosen(mb).rank == 2
    mb.couple("brakes", {"rack": 1.0 / scale}, 0.0)
    assert (chosen(mb).rank, len(chosen(mb).redundant)) == (2, 1)


# -- what forces cannot do ----------------------------------------------------------------------------------------


def test_forces_for_accelerations_that_the_closures_do_not_allow():
    """A choice that leaves a dof free which the closures hold."""
    mb, rest = yoke(), np.zeros(3)
    close(mb, "pin", "left", "wheel", sc.Pin(Z))
    rows = Constraints(mb, mb.state(v=rest))
    wrong = Partition(np.array([1]), np.array([0, 2]), 2, np.arange(9), 1.0, 1.0)
    text = (
        r"no acceleration of 'yoke' satisfies its closures with those given for 'right': 0\.\d+ is left at '(yoke|pin)'"
        r"\. The rank changes at this configuration, or what drives the closures does not agree\."
    )
    with pytest.raises(LoopError, match=text):
        force_for(Task(rows, rest, (), {}), wrong, np.ones(1), None, 1e-6)


class Wrong(TreeAugmented):
    """Takes a dof for independent that the closures hold."""

    def _choice(self, rows):
        return Partition(np.array([1]), np.array([0, 2]), 2, np.arange(9), 1.0, 1.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0])
def test_independent_dofs_that_are_held(scale):
    """Of a millionth of a metre, what is left of the rows is small in metres and large relative to them."""
    mb, rest = yoke(scale), np.zeros(3)
    close(mb, "pin", "left", "wheel", sc.Pin(Z))
    text = (
        r"'(yoke|pin)' of 'yoke' holds some of the dofs taken for independent, 'right': 0\.\d+ of its rows is left\. "
        r"The closures are too near a configuration where their rank changes\."
    )
    with pytest.raises(LoopError, match=text):
        linearize(Wrong(mb), mb.q, rest, rest)
    with pytest.raises(LoopError, match=text if scale < 1.0 else "no acceleration of 'yoke' satisfies its closures"):
        Wrong(mb).inverse_dynamics(mb.q, rest, {"right": scale})


def test_forces_that_rest_on_rounding():
    """A choice that takes a dof for held which no closure holds."""
    mb = yoke()
    rows, turned = Constraints(mb, mb.state(v=np.zeros(3))), ((mb["wheel"], sc.Wrench((0, 0, 1), (0, 0, 0))),)
    wrong = Partition(np.array([1]), np.array([0, 2]), 2, np.arange(5), 1.0, 1.0)
    text = (
        "forces that give 'yoke' these accelerations cannot be computed: 1 of the generalized force rests on rows that "
        "nearly repeat others. The closures are too near a configuration where their rank changes."
    )
    with pytest.raises(LoopError) as raised:
        force_for(Task(rows, np.zeros(3), turned, {}), wrong, np.ones(1), None, 1e-6)
    assert str(raised.value) == text


def test_forces_for_a_motion_that_no_acceleration_continues():
    """All in one line: a point 2 m from its axis and one 1 m from another move alike, and bend apart."""
    mb = row_of_four_bars(1)
    q, v = np.zeros(3), np.array([1.0, 2.0, 0.0])  # crank, crank, coupler
    for S in (TreeAugmented, FullyAugmented):
        with pytest.raises(LoopError, match="no acceleration of 'row' satisfies its closures with those given for "):
            S(mb).inverse_dynamics(q, v, dict.fromkeys(S(mb).independent(q), 0.0))
