"""Derivatives of the operators of embedded systems, against central differences along the closed motions."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.by_name import by_name
from tests.loops.cases import (
    CLOSING,
    HOLONOMIC,
    FourBar,
    close,
    closed_graphs,
    library,
    near,
    project,
    row_of_four_bars,
    tie,
)
from tests.ops.differences import every_hinge, expressions, gap, mass_matrix
from tests.profiles import tries
from tests.strategies import keep
from tests.user_hinges import Bent

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SpaceError, StaleError
from soacraft.loops import ConstraintEmbedding
from soacraft.loops.embedding.rates import UnitRate
from soacraft.model import serial_chain
from soacraft.model.samples.random_models import random_inertia, random_pose

TOLERANCE = 1e-8
Z = (0, 0, 1)
#: Enough of the operators for large models.
FEW = [*"H E_phi phi M P D psi".split(), "Jacobian", "mass matrix", "its inverse", "compliance of nodes"]


# -- differences -----------------------------------------------------------------------------------------------------


class Closed:
    """An embedded system at a closed state, moving, and its operators a little further along closed motions."""

    def __init__(self, mb, nodes=None, independent=None, step=5e-4):
        self.mb, self.solver, self.step = mb, ConstraintEmbedding(mb, independent=independent), step
        mb.v = np.zeros(mb.nv)
        self.dofs = self.solver.epoch.dofs
        mb.q = q = self.solver.complete(mb.q)
        self.rates = np.random.default_rng(1).standard_normal(len(self.dofs))
        mb.v = self.solver.expand(q, by_name(self.solver, q, self.rates))
        self.s = sc.operators(self.solver)
        self.nodes = [mb.bodies[-1].name, mb.bodies[0].name] if nodes is None else nodes
        self.known = expressions(self.s, self.nodes)

    def along(self, dof):
        """Unit vector of an independent dof, the velocity for None."""
        return self.rates if dof is None else np.eye(len(self.dofs))[self.dofs.index(dof)]

    def differences(self, dof, of):
        """The derivatives of arrays {name: array} that `of` makes of operators, of order four."""
        total = {}
        for at, weight in zip((-2, -1, 1, 2), (1, -8, 8, -1), strict=True):
            step = at * self.step * self.solver.expand(self.mb.q, by_name(self.solver, self.mb.q, self.along(dof)))
            q = self.solver.complete(self.mb.integrate(self.mb.q, step))
            for name, x in of(self.solver.operators(q, np.zeros(self.mb.nv))).items():
                total[name] = total.get(name, 0.0) + weight / (12 * self.step) * x
        return total

    def expected(self, dof, names):
        def arrays(s):
            return {name: x.array() for name, x in expressions(s, self.nodes).items() if name in names}

        return self.differences(dof, arrays)

    def worst(self, dofs=None, names=None):
        """The largest gap, relative to the derivative, the operator or one."""
        names, found = list(self.known) if names is None else names, {}
        for dof in self.dofs if dofs is None else dofs:
            for name, wanted in self.expected(dof, names).items():
                expr = self.known[name]
                off = (expr.dot() if dof is None else expr.diff(dof)).array() - wanted
                size = max(1.0, np.abs(wanted).max(initial=0.0), np.abs(expr.array()).max(initial=0.0))
                found[name, dof] = np.abs(off).max(initial=0.0) / size
        return max((x, what) for what, x in found.items())


# -- models ----------------------------------------------------------------------------------------------------------


def balls():
    """A spatial ring of pins and balls, closed by a ball: two dofs besides the turning of the rods."""
    mb = serial_chain(3, [sc.Pin((0, 1, 0)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 0, 1))])
    mb.set_state(*mb.random_state(4))
    close(mb, "ring", "inertial", "link3", sc.Spherical(), 2)
    return mb


def nested():
    """A loop that hangs from a member of a loop, a branch outside, armature inside; maps of hinges that vary."""
    hinges = [sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), Z), sc.Gimbal(), sc.Helical((1, 0, 0), 0.2)]
    mb = serial_chain(8, hinges * 2)
    mb["link2"].armature = [0.3, 0.4]
    mb.set_state(*mb.random_state(7))
    close(mb, "first", "inertial", "link3", sc.Universal((1, 0, 0), Z), 1)
    close(mb, "second", "link3", "link6", sc.Spherical(), 2)
    return mb


def carried():
    """A four-bar on a moving arm, an arm on its coupler: the loop's parent and children move."""
    rng, mb = np.random.default_rng(3), sc.Multibody("carried")
    mb.add_body("base", None, sc.Free(), random_inertia(rng), random_pose(rng))
    mb.add_body("arm", "base", sc.Universal((1, 0, 0), (0, 1, 0)), random_inertia(rng), random_pose(rng))
    bar = FourBar()
    far, tips = sc.Pose(translation=(bar.ground, 0, 0)), [sc.Pose(translation=(x, 0, 0)) for x in (0.4, 1.1, 0.9)]
    mb.add_body("crank", "arm", sc.Pin(Z), random_inertia(rng))
    mb.add_body("coupler", "crank", sc.Pin(Z), random_inertia(rng), tips[0]).add_node("end", tips[1])
    mb.add_body("rocker", "arm", sc.Pin(Z), random_inertia(rng), far).add_node("end", tips[2])
    mb.add_body("hand", "coupler", sc.Gimbal(), random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(2))
    q = mb.q.copy()
    beta, gamma = bar.angles(0.7)
    for name, x in (("crank", 0.7), ("coupler", beta - 0.7), ("rocker", gamma)):
        q[mb.q_slice(name)] = x
    mb.set_state(q, np.zeros(mb.nv))
    mb.close_loop("ring", "rocker/end", "coupler/end", sc.Pin(Z))
    return mb


def geared():
    """An arm whose hinges are geared, on a cart."""
    rng, mb = np.random.default_rng(5), sc.Multibody("geared")
    mb.add_body("cart", None, sc.Planar(), random_inertia(rng))
    for name, parent, axis in (("upper", "cart", (0, 1, 0)), ("lower", "upper", (1, 0, 1))):
        mb.add_geared_hinge(name, parent, sc.Pin(axis), random_inertia(rng), ratio=7, rotor=random_inertia(rng),
                            inboard=random_pose(rng))  # fmt: skip
    mb.q = ConstraintEmbedding(mb).assemble(mb.random_state(1)[0])
    return mb


def coupled():
    """Hinges tied by polynomials, along a path and beside it."""
    mb = serial_chain(4, [sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), Z), sc.Pin(Z), sc.Prismatic((1, 0, 0))])
    mb.set_state(*mb.random_state(6))
    tie(mb, "cam", ["link1", "link2.1", "link4"], [(1.0, 0.3), (-1.5, 0.2, 0.1), (0.5, -0.4)])
    tie(mb, "square", ["link3", "link4"], [(0.3, 0.8), (1.0,)])
    return mb


def twice():
    """The same ring closed twice: every row is redundant."""
    mb = balls()
    close(mb, "again", "inertial", "link3", sc.Spherical(), 2)
    return mb


def rolling():
    """A ball that rolls on the ground closes the loop."""
    mb = serial_chain(3, [sc.Gimbal(), sc.Universal((0, 1, 0), Z), sc.Spherical()])
    mb.set_state(*mb.random_state(3))
    close(mb, "floor", "inertial", "link3", sc.RollingBall(0.3), 5)
    return mb


def own(hinge=None):
    """It is a hinge of the tree and closes the loop."""
    bent = Bent() if hinge is None else hinge
    mb = serial_chain(3, [sc.Spherical(), bent, sc.Spherical()])
    mb.set_state(*mb.random_state(8))
    close(mb, "ring", "inertial", "link3", bent, 3)
    return mb


MODELS = {
    "four-bar": lambda: FourBar().build(0.7),
    "four-bar cut elsewhere": lambda: FourBar().build(0.7, "rocker"),
    "balls": balls,
    "nested": nested,
    "carried": carried,
    "geared": geared,
    "coupled": coupled,
    "closed twice": twice,
    "rolling": rolling,
    "of one's own": own,
}


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_are_those_of_differences(name):
    """Every operator and kind of expression, along every independent dof and along the velocity."""
    closed = Closed(MODELS[name]())
    off, what = closed.worst([*closed.dofs, None])
    assert off < TOLERANCE, what
    assert closed.solver.changes == []


@pytest.mark.parametrize(("name", "dofs", "step"), [
    ("five_bar", None, 5e-4),
    ("robotiq_2f85", None, 5e-4),
    ("cassie", ["cassie-pelvis.1", "left-hip-pitch", "left-achilles-rod.0", "right-plantar-rod", None], 1e-4),
])  # fmt: skip
def test_robots(name, dofs, step):
    closed = Closed(library(name), step=step)
    off, what = closed.worst(dofs, FEW)
    assert off < 1e-7, what


@tries(15)
@given(mb=closed_graphs(max_bodies=5, hinges=HOLONOMIC, closing=[x for x in CLOSING if x.holonomic]))
def test_the_kinetic_energy_of_random_systems(mb):
    """v* dMcal v = v* dM v + 2 v* M dX v_i, from the gradient of the tree and from the linearized rows: other code."""
    solver = ConstraintEmbedding(mb)
    found = solver.model(mb.state())
    keep(min((x.ratio for x in found.solved.values()), default=1.0) > 1e-3)
    lin = sc.loops.linearize(solver, mb.q, mb.v, np.zeros(mb.nv))
    M = sc.dynamics.mass_matrix(mb, mb.q, ignore_loops=True)
    dM = sc.analysis.mass_matrix_gradient(mb, mb.q, ignore_loops=True)
    Mcal, v = mass_matrix(sc.operators(solver)), mb.v
    for dof, along, turned in zip(lin.dof_names, lin.X.T, lin.Y.T, strict=True):
        wanted = v @ (dM @ along) @ v, 2 * v @ M @ turned
        energy = v[found.independent] @ np.asarray(Mcal.diff(dof) * v[found.independent])
        assert abs(energy - sum(wanted)) < 1e-8 * max(1.0, *np.abs(wanted))


def test_the_four_bar_in_closed_form():
    """J'(theta) by Lagrange, and the derivative of log det."""
    bar = FourBar()
    s = sc.operators(ConstraintEmbedding(bar.build(0.7), independent=["crank"]))
    rest = bar.acceleration(0.7, 0.0, 0.0)
    J = 1.0 / (bar.acceleration(0.7, 0.0, 1.0) - rest)
    slope = 2.0 * J * (rest - bar.acceleration(0.7, 1.0, 0.0))
    near(mass_matrix(s).array(), [[J]])
    near(mass_matrix(s).diff("crank").array(), [[slope]])
    near((s.D.inv * s.D.diff("crank")).trace(), slope / J)


@pytest.mark.parametrize("name", ["nested", "carried", "coupled"])
def test_log_det(name):
    """d log det = tr(D^-1 dD), against differences of the determinant of the dense matrix."""
    closed = Closed(MODELS[name]())
    s = closed.s
    for dof in closed.dofs[::3]:
        wanted = closed.differences(dof, lambda s: {"it": np.linalg.slogdet(mass_matrix(s).array())[1]})["it"]
        near((s.D.inv * s.D.diff(dof)).trace(), wanted, 1e-8)


def test_a_hinge_of_ones_own_is_as_good_as_ours():
    ours = Closed(own(sc.Universal((1, 0, 0), (0, 1, 0))))
    mine = Closed(own())
    assert mine.dofs == ours.dofs
    for dof in mine.dofs:
        assert gap(mass_matrix(mine.s).diff(dof).array(), mass_matrix(ours.s).diff(dof).array()) < 1e-9


def test_free_bodies_have_the_derivatives_of_the_tree():
    """Along a dof inboard of the loop and with the loop held, the tree's derivative projected is the derivative."""
    closed = Closed(carried())
    Xt = closed.solver.model(closed.mb.state()).Xt
    tree = sc.operators(closed.mb, ignore_loops=True)
    for body, dof in (("base", 4), ("arm", 1)):
        wanted = Xt.T @ mass_matrix(tree).diff(body, dof).array() @ Xt
        near(mass_matrix(closed.s).diff(body, dof).array(), wanted, 1e-11)


def test_aggregated_trees():
    """Compound bodies without loops: the mass matrix is that of the tree, its dofs in another order."""
    mb = every_hinge()
    groups = [[body.name for body in mb.bodies[2].subtree()][:3], [mb.bodies[0].name]]
    compound = sc.aggregate(mb, *groups)
    s, tree = sc.operators(compound), sc.operators(mb)
    order = [mb.dof_names.index(name) for name in compound.dofs]
    for body in mb.bodies:
        for j in range(body.hinge.nv):
            wanted = mass_matrix(tree).diff(body, j).array()[np.ix_(order, order)]
            assert gap(mass_matrix(s).diff(body, j).array(), wanted) < 1e-11
            assert gap((s.D.inv * s.D.diff(body, j)).trace(), (tree.D.inv * tree.D.diff(body, j)).trace()) < 1e-10
    near(mass_matrix(s).dot().array(), mass_matrix(tree).dot().array()[np.ix_(order, order)], 1e-11)


@pytest.mark.parametrize("name", ["nested", "rolling", "carried"])
def test_the_coriolis_matrix(name):
    """C v is the bias less that at rest, and d/dt(mass matrix) - 2 C is skew."""
    closed = Closed(MODELS[name]())
    s, mb = closed.s, closed.mb
    at_rest = closed.solver.operators(mb.q, np.zeros(mb.nv))
    near(np.asarray(s.coriolis * closed.rates), np.asarray(s.C) - np.asarray(at_rest.C))
    assert np.abs(np.asarray(s.C) - np.asarray(at_rest.C)).max() > 1e-2
    assert (mass_matrix(s).dot() - s.coriolis - s.coriolis.T).is_zero()
    assert sc.prove(mass_matrix(s).dot(), s.coriolis + s.coriolis.T)


def test_sub_graphs():
    """A part with a loop of its own, its anchor at rest or moving."""
    mb = serial_chain(5, sc.Universal((0, 1, 0), Z))
    mb.set_state(*mb.random_state(2))
    close(mb, "ring", "link2", "link5", sc.Spherical(), 3)
    mb.v = project(mb, mb.v)
    names = ["link2", "link3", "link4", "link5"]
    whole = sc.operators(ConstraintEmbedding(mb))
    for anchor in ("rest", "moving"):
        s = sc.operators(ConstraintEmbedding(mb.subgraph(names, anchor=anchor)))
        for dof in s.binding.owner.dofs:
            near(s.P.diff(dof).array(), whole.P.diff(dof).array()[6:, 6:], 1e-11)
        near(s.D.dot().array(), whole.D.dot().array()[2:, 2:], 1e-11)


# -- mistakes are seen -----------------------------------------------------------------------------------------------


def plain_X(rate):
    x = np.zeros((rate._HA.shape[1],) * 2)
    for k, block in rate._x.items():
        six = slice(rate._at[k].start, rate._at[k].start + 6)
        x[six, six] = block
    return x


MISTAKES = {
    "members that do not carry each other": ("X", property(plain_X)),
    "dependent dofs that follow as before": ("_dX", property(lambda rate: 0.0 * rate.found.solved[rate.u].X)),
    "the wrong sign of that": (
        "_opened", lambda rate, X, right=UnitRate._opened: -right(rate, X),
    ),
    "hinge maps of members that stay": ("_of_hinge", lambda rate, k: 0.0),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_seen(mistake, monkeypatch):
    name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(UnitRate, name, wrong)
    assert Closed(nested()).worst([None], FEW)[0] > 1e-3


def test_the_turning_of_the_hinge_of_a_closure_counts(monkeypatch):
    """A universal closure, whose map varies."""
    monkeypatch.setattr("soacraft.loops.embedding.rates.dH_of", lambda hinge, q: np.zeros((hinge.nv, 6, hinge.nv)))
    assert Closed(nested()).worst([None], ["H"])[0] > 1e-3


# -- structure -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["H", "E_phi", "P", "D", "K", "psi", "Upsilon", "B", "mass matrix", "its inverse"])
def test_derivatives_keep_the_promises_of_operators(name):
    """Products, transposes, blocks, tags; the text reads back."""
    closed = Closed(carried())
    expr = closed.known[name]
    for found in (expr.diff(closed.dofs[-4]), expr.diff("arm", 1), expr.along("hand", 2), expr.dot()):
        report = sc.check_operator(found, tolerance=1e-8)
        assert report.ok, report


def test_text():
    s = sc.operators(ConstraintEmbedding(carried(), independent=["crank"]))
    texts = {
        s.phi.diff("crank"): "phi_tilde * X('crank') * phi",
        s.E_phi.diff("arm", 1): "E_phi * X('arm', 1)",
        s.H.diff("crank"): "dH('crank')",
        s.H.diff("arm", "arm.0"): "0*H",
        s.M.diff("crank"): "0*M",
        s.P.diff("crank"): "P.diff('crank')",
        s.P.dot(): "P.dot()",
        s.W("crank") + s.M: "W('crank') + M",
    }
    for expr, text in texts.items():
        assert expr.text().replace(" ", "") == text.replace(" ", ""), expr.text()
    assert not s.W("crank").array().any()
    assert not s.W_nd(["hand", "coupler/end"], "crank").array().any()


def test_only_the_unit_that_moves_changes():
    """A row of separate four-bars on a chain: one block of X and of dH, P of what is inboard."""
    closed = Closed(carried())
    s = closed.s
    at = s.body.index("crank+coupler+rocker")
    dof = next(name for name in closed.dofs if name in ("crank", "coupler", "rocker"))
    assert set(s.X(dof).blocks().entries) == set(s.dH(dof).blocks().entries) == {(at, at)}
    inboard = {s.body.index("base"), s.body.index("arm")}
    assert {i for i, _ in s.P.diff(dof).blocks().entries} == inboard


def test_a_dof_has_several_names():
    closed = Closed(carried(), independent=["crank"])
    D, mb = closed.s.D, closed.mb
    same = [D.diff("crank"), D.diff(mb["crank"]), D.diff("crank+coupler+rocker"), D.diff("crank", "crank")]
    same += [D.diff("crank+coupler+rocker", "crank")]
    assert len({x.key() for x in same}) == 1
    mb = sc.Multibody("held")
    mb.add_body("one", None, sc.Spherical(), random_inertia(np.random.default_rng(1)))
    close(mb, "hold", "inertial", "one", sc.Pin(Z))
    D_of_one = sc.operators(ConstraintEmbedding(mb)).D  # a compound body of one body has its name, not its numbers
    assert D_of_one.diff("one", 2).key() == D_of_one.diff("one.2").key()
    assert D.diff("arm.1").key() == D.diff("arm", 1).key() == D.diff("arm", "arm.1").key()


def test_leaves_of_the_tree_can_be_moved_to_the_embedded_system():
    closed = Closed(carried())
    tree = sc.operators(closed.mb, ignore_loops=True)
    moved = [x.with_leaves(lambda leaf: leaf.bound_to(closed.s.binding)) for x in (tree.X("arm", 1), tree.H * tree.X_v)]
    near(moved[0].array(), closed.s.X("arm", 1).array(), 1e-14)
    near(moved[1].array(), (closed.s.H * closed.s.X_v).array(), 1e-14)


def test_live_and_at():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    found = mass_matrix(sc.operators(solver)).diff("crank")
    before, q = found.array(), solver.advance(mb.q, [0.6])
    snapshot = mass_matrix(solver.operators(q, np.zeros(3))).diff("crank").array()
    near(found.at(q=q, v=np.zeros(3)).array(), snapshot, 1e-12)
    near(found.array(), before, 1e-14)
    mb.set_state(q, np.zeros(3))
    near(found.array(), snapshot, 1e-12)
    assert gap(before, snapshot) > 1e-2


def test_dot_follows_the_velocity():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    s = sc.operators(solver)
    rate, slope = s.D.dot(), s.D.diff("crank").array()
    assert not rate.array().any()
    for speed in (1.5, -4.0):
        mb.v = solver.expand(mb.q, [speed])
        near(rate.array(), speed * slope, 1e-12)


def test_derivatives_do_not_depend_on_forces():
    closed = Closed(carried())
    pushed = sc.operators(closed.solver, f_ext={"hand": [1.0, 2, 3, 4, 5, 6]}, force=np.ones(closed.mb.nv))
    for dof in closed.dofs[::4]:
        near(pushed.D.diff(dof).array(), closed.s.D.diff(dof).array(), 1e-14)


# -- refused ---------------------------------------------------------------------------------------------------------


def test_names_that_are_not_independent_dofs_are_refused():
    D = sc.operators(ConstraintEmbedding(carried(), independent=["crank"])).D
    free = [f"base.{i}" for i in range(6)] + ["arm.0", "arm.1", "crank", "hand.0", "hand.1", "hand.2"]
    known = f"the independent dofs of 'carried' with compound bodies are {', '.join(map(repr, free))}"
    for body, dof, kind, message in (
        ("rocker", 0, LoopError, "dof 'rocker' depends on others by the closures, so it cannot be differentiated "
         f"along: {known}. sc.loops.ConstraintEmbedding(mb, independent=[...]) chooses others."),
        ("crank+coupler+rocker", 1, ModelError,
         f"compound body 'crank+coupler+rocker' has the independent dofs 'crank', so there is no dof 1; {known}."),
        ("arm", 2, ModelError, "dof must be a number from 0 to 1 or a name, got 2: the hinge of 'arm' has 2 dofs, "
         f"arm.0 arm.1; {known}."),
        ("arm", "crank", ModelError, f"there is no dof 'crank': the hinge of 'arm' has 2 dofs, arm.0 arm.1; {known}."),
        ("coupler/end", 0, ModelError, f"'coupler/end' is not a body of 'carried'; {known}."),
    ):  # fmt: skip
        with pytest.raises(kind) as error:
            D.diff(body, dof)
        assert str(error.value) == message
    with pytest.raises(ModelError, match=r"'nobody'.*; the independent dofs of 'carried'"):
        D.diff("nobody")
    with pytest.raises(SpaceError, match=r"diff needs a body or its name; .* write dot\(\)"):
        D.diff(None)


def test_second_derivatives_are_refused():
    s = sc.operators(ConstraintEmbedding(FourBar().build(0.7), independent=["crank"]))
    for ask, what in (
        (lambda: mass_matrix(s).diff("crank").diff("crank"), r"diff\('crank'\)"),
        (lambda: s.D.dot().dot(), r"dot\(\)"),
        (lambda: s.coriolis.diff("crank"), r"diff\('crank'\)"),
    ):
        with pytest.raises(ModelError, match=f"compound bodies cannot be differentiated again, here by {what}: that"):
            ask()


def test_a_change_of_rank_has_no_derivative():
    """The collapsed parallelogram: two ways go on."""
    mb = row_of_four_bars(1)
    mb.set_state([0.0, 0.0, 0.0], np.zeros(3))
    s = sc.operators(ConstraintEmbedding(mb))
    with pytest.raises(LoopError, match="the rank of 'loop0' of 'row' changes here, so its operators have no deriv"):
        mass_matrix(s).diff(s.binding.owner.dofs[0]).array()


def test_stale_operators_have_no_derivatives():
    mb = FourBar().build(0.7)
    s = sc.operators(ConstraintEmbedding(mb, independent=["crank"]))
    found = s.D.diff("crank")
    mb["crank"].inertia = sc.Inertia(2.0)
    other = sc.operators(ConstraintEmbedding(mb.copy(), independent=["crank"])).D.diff("crank")
    np.testing.assert_allclose(found.array(), other.array(), atol=1e-12 * np.abs(other.array()).max())
    mb.add_body("more", None, sc.Weld())
    for ask in (found.array, lambda: s.D.diff("crank")):
        with pytest.raises(StaleError, match="made before a structural change of the model"):
            ask()


def test_a_loop_to_the_ground_under_a_moving_anchor():
    """Its time derivative needs the motion of the anchor; derivatives along dofs do not."""
    mb = serial_chain(4, [sc.Pin((0, 1, 0)), sc.Spherical(), sc.Universal((0, 1, 0), Z), sc.Spherical()])
    mb.set_state(*mb.random_state(2))
    close(mb, "ground", "inertial", "link4", sc.Spherical(), 3)
    mb.v = project(mb, mb.v)
    s = sc.operators(ConstraintEmbedding(mb.subgraph(["link2", "link3", "link4"], anchor="moving")))
    assert np.abs(s.D.diff(s.binding.owner.dofs[0]).array()).max() > 0.0
    with pytest.raises(LoopError, match=r"loop 'ground' holds bodies of .* to the inertial frame while their anchor"):
        s.D.dot()


def test_loops_kept_as_rows_are_not_in_the_operators():
    with pytest.raises(LoopError, match="'loop1' of 'row' is kept as rows next to the embedded tree"):
        sc.operators(ConstraintEmbedding(row_of_four_bars(2), embed=["loop0"]))
