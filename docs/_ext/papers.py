"""The five documents item by item: what each says, the call that shows it, and what the call answers.

A call is an expression that is true, or a relative error of at most `ENOUGH`. It is run when the documentation is
built and in the tests. What soacraft does not have is listed with the reason; relations of the list of identities need
no line of their own here, they are run from there.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import papers_sko

import soacraft as sc
from soacraft import pycraft
from soacraft.citations import PAPERS, cite
from soacraft.ops.verify import difference
from soacraft.view import structure

ENOUGH = 1e-8
ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # what is printed in the papers is kept with its tests
    sys.path.append(ROOT)


class Item(NamedTuple):
    """One item of a paper. With a reason its call may be refused: then it is not there yet, for that reason."""

    paper: str
    place: str
    what: str
    call: str = ""
    reason: str = ""


class Row(NamedTuple):
    """An item with what its call answered."""

    item: Item
    status: str
    holds: bool


ITEMS = (
    # -- the PyCraft paper ----------------------------------------------------------------------------------------
    Item("000", "section 1", "the lines of the introduction", "listings('introduction')"),
    Item("000", "section 1", "g may be any connected sub-tree",
         "identity((m := massmat(sc.operators(g.subgraph(['link3', 'link4', 'link5'])))) * m.inv)"),
    Item("000", "section 1", "flexible bodies: the same expressions",
         "identity((m := massmat(sc.operators(flexible_arm()))) * m.inv)"),
    Item("000", "section 1", "closed graphs by constraint embedding",
         "identity((m := massmat(sc.operators(bars))) * m.inv)"),
    Item("000", "section 1", "O(N) products, nothing dense", "massmat(s).cost().at(n=100) == 500"),
    Item("000", "Eq. 3", "velocities, base to tips",
         "difference(s.V, np.concatenate([g.velocity(x) for x in g.bodies]))"),
    Item("000", "Eq. 4", "phi(x, y) = [[I, l~], [0, I]]", "printed_phi(s.phi['link2', 'link6'])"),
    Item("000", "Eq. 5", "stacked vectors, tip first",
         "difference(np.asarray(t.V)[:6], s.V['link7'])"),
    Item("000", "Eq. 6, 7", "H block diagonal, E_phi below the diagonal", "below(t.E_phi) and t.H.pattern() == {'d'}"),
    Item("000", "Eq. 11-13", "nodes, pick-off, Jacobian",
         "difference((s.B(tool).T * s.phi.T * s.H.T).array(), sc.dynamics.jacobian(g, g.q, tool))"),
    Item("000", "Eq. 14, 15", "spatial inertia", "difference(body.M['link4', 'link4'], g['link4'].inertia.matrix())"),
    Item("000", "Eq. 1, 16", "mass matrix", "difference(massmat(s).array(), sc.dynamics.mass_matrix(g, g.q))"),
    Item("000", "Eq. 17", "equations of motion",
         "difference(s.T, sc.dynamics.inverse_dynamics(g, g.q, g.v, g.vdot))"),
    Item("000", "section 3", "SpatialVector, a map of bodies", "list(pycraft.V(g)) == list(g.bodies)"),
    Item("000", "section 3", "operators with elements of your own", "own_elements()"),
    Item("000", "section 3", "C++ classes of operators", reason="expressions are Python; their programs run in C++"),
    *(Item("000", f"Listing {n}", "typed as printed, misprints mended", f"listings('{n}')") for n in range(1, 24)),
    Item("000", "Eq. 19, 22, 23, 36", "R, P and Upsilon by recursions",
         "all(sc.check_operator(x) for x in (s.R, s.P, s.Upsilon))"),
    Item("000", "section 4.4", "decomposition of the inverse mass matrix",
         "sc.prove(massmat(s).inv, s.D.inv - s.D.inv*s.H*s.psi*s.K - s.K.T*s.psi.T*s.H.T*s.D.inv + s.K.T*s.Omega*s.K)"),
    Item("000", "Eq. 38", "Christoffel symbols",
         "difference(np.einsum('ijk,j,k->i', sc.analysis.christoffel(g, g.q), g.v, g.v), s.coriolis * g.v)"),
    Item("000", "Eq. 39, 40", "H~ of a hinge", "(s.X('link3').T + s.X('link3')).is_zero()"),
    Item("000", "Eq. 41a", "derivative of E_phi", "slope(s.E_phi, W*s.E_phi - s.E_phi*(W - X))"),
    Item("000", "Eq. 41b", "derivative of phi", "slope(s.phi, (W - X)*s.phi - s.phi*W + s.phi*X*s.phi)"),
    Item("000", "Eq. 41c", "derivative of H*", "slope(s.H.T, (W - X)*s.H.T)"),
    Item("000", "Eq. 41d", "derivative of M", "slope(s.M, W*s.M - s.M*W)"),
    Item("000", "Eq. 42", "derivative of the mass matrix",
         "slope(massmat(s), s.H*s.phi*(X*s.phi*s.M - s.M*s.phi.T*X)*s.phi.T*s.H.T)"),
    Item("000", "Eq. 43", "lambda", "slope(s.P, lam + (W - X)*s.P - s.P*(W - X))"),
    Item("000", "Eq. 44a, 44b", "derivatives of D and its inverse",
         "slope(s.D, s.H*lam*s.H.T) and slope(s.D.inv, -(s.D.inv*s.H*lam*s.H.T*s.D.inv))"),
    Item("000", "Eq. 44c", "derivative of G", "slope(s.G, s.tau_bar*lam*s.H.T*s.D.inv + (W - X)*s.G)"),
    Item("000", "Eq. 44d, 44e", "derivatives of tau and tau bar",
         "slope(s.tau, s.tau_bar*lam*s.H.T*s.D.inv*s.H + (W - X)*s.tau - s.tau*(W - X))"),
    Item("000", "Eq. 44f", "derivative of E_psi",
         "slope(s.E_psi, W*s.E_psi - s.E_psi*(W - X) - s.E_psi*lam*s.H.T*s.D.inv*s.H)"),
    Item("000", "Eq. 45", "derivative of I + H phi K",
         "slope(I + s.H*s.phi*s.K, s.H*s.phi*(X*s.phi_tilde*s.P + s.tau_bar*lam)*s.H.T*s.D.inv)"),
    Item("000", "Eq. 46", "derivative of I - H psi K",
         "slope(L, -(s.H*s.psi*(X*s.phi*s.K + s.tau_bar*lam*s.H.T*s.D.inv)*L))"),
    Item("000", "Eq. 47", "log det of the mass matrix",
         "difference(sc.dynamics.log_det_mass_matrix(g, g.q), np.linalg.slogdet(massmat(s).array())[1])"),
    Item("000", "Eq. 48", "its gradient",
         "difference(2*(s.P*s.Upsilon*X).trace(), sc.analysis.log_det_gradient(g, g.q)[2])"),
    Item("000", "section 5", "derivatives against differences",
         "sc.check_derivative(massmat(s), 'link3').ok and "
         "difference(massmat(s).diff('link3').array(), by_differences()) < 1e-9"),
    Item("000", "section 5.2", "diagonalized dynamics", "there(sc.analysis.diagonalize(g, g.q, g.v))"),
    Item("000", "section 6", "under-actuated systems",
         "there(sc.analysis.underactuated(g, g.q, g.v, passive=['link7']))"),
    # -- the serial-chain slides ------------------------------------------------------------------------------------
    Item("001", "topic 1", "6D vectors and cross products",
         "difference(sc.spatial.crf(s.V['link3']), -sc.spatial.crm(s.V['link3']).T)"),
    Item("001", "topic 1", "phi(x, y) and the parallel axis theorem",
         "difference((J := g['link4'].inertia).transformed(pose).matrix(), pose.phi() @ J.matrix() @ pose.phi().T)"),
    Item("001", "topic 4", "O(N) inverse dynamics", "difference(s.T, massmat(s)*g.vdot + s.C)"),
    Item("001", "topic 5", "composite bodies", "(s.E_phi.lyapunov(s.M) - s.R).is_zero()"),
    Item("001", "topic 6", "articulated bodies, force decompositions",
         "difference(s.f, s.P*(s.alpha - s.a) + s.z)"),
    Item("001", "topic 8", "O(N) forward dynamics with external forces",
         "difference(sc.operators(g, force=g.v, f_ext={tool: np.ones(6)}).vdot, "
         "sc.dynamics.forward_dynamics(g, g.q, g.v, g.v, f_ext={tool: np.ones(6)}))"),
    Item("001", "topologies", "serial, tree, closed",
         "g.topology.is_serial and not tree.topology.is_serial and sc.load('five_bar').is_closed"),
    Item("001", "numbering", "phi(2, 1) by the papers' numbers", "difference(t.phi[2, 1], s.phi['link6', 'link7'])"),
    Item("001", "poses", "k+1Tk through the hinge",
         "((b := g['link3']).inboard @ b.hinge.pose(g.q[2:3]) @ b.outboard).is_close(g.pose('link3', 'link2'))"),
    Item("001", "hinges", "H* of pin, prismatic, helical, cylindrical, ball, free",
         "all(h.H_T(h.neutral()).shape == (6, h.nv) for h in (sc.Pin([0, 0, 1]), sc.Prismatic([0, 0, 1]), "
         "sc.Helical([0, 0, 1], 0.1), sc.Cylindrical([0, 0, 1]), sc.Spherical(), sc.Free()))"),
    Item("001", "hinges", "rolling ball", "sc.check_hinge(sc.RollingBall(0.2))"),
    Item("001", "velocities", "V = V+ + Delta_V", "difference(s.V, s.V_plus + s.Delta_V)"),
    Item("001", "velocities", "inertially referenced: phi = I",
         "identity(sc.operators(g, axes='origin').phi['link1', 'link7'])"),
    Item("001", "structure", "nilpotent, 1-resolvent, power series",
         "sc.prove(s.E_phi**7, 0*s.E_phi) and sc.prove((I - s.E_phi).inv, s.phi)"),
    Item("001", "structure", "phi lower triangular", "below(t.phi - I)"),
    Item("001", "structure", "any numbering", "identity((m := massmat(sc.operators(g, numbering=shuffled))) * m.inv)"),
    Item("001", "sweeps", "scatter and gather, O(N)",
         "s.phi.explain().product[0].kind == 'gather' and s.phi.T.explain().product[0].kind == 'scatter'"),
    Item("001", "sweeps", "those of phi tilde", "difference(s.phi_tilde*ones, s.phi*ones - ones)"),
    Item("001", "sweeps", "compensating torques H phi B f",
         "difference(s.H*s.phi*s.B(tool)*np.ones(6), inertial_force())"),
    Item("001", "Jacobian", "its rate",
         "difference((s.B(tool).T*s.phi.T*s.H.T).dot()*g.v, sc.dynamics.jacobian_dot_v(g, g.q, g.v, tool))"),
    Item("001", "frames", "the two frames of a hinge by name", "there(g['link3/inboard'], g['link3/outboard'])",
         "a node at `body.inboard` stands for them"),
    Item("001", "stacked vectors", "theta, alpha+ and z+",
         "difference(s.f, s.P_plus*s.alpha_plus + s.z_plus) if np.array_equal(s.q, g.q) else 1.0"),
    Item("001", "structure", "E_phi strictly triangular, nilpotent and singular; phi unit triangular and invertible",
         "(e := s.E_phi.properties()).triangular and e.nilpotent and e.invertible is False and "
         "s.phi.properties().invertible"),
    Item("001", "Kane's method", "partial velocities phi.T*H.T", "kane(g)"),
    Item("001", "pictures", "flow of the sweeps", reason="`explain()` names the sweeps; no picture of them"),
    # -- the PyCraft slides -----------------------------------------------------------------------------------------
    Item("002", "dialogue", "the session of the slides, typed", "slides()"),
    Item("002", "equations", "M thdd + C = T, V, alpha, f, T",
         "max(difference(s.alpha, s.phi.T*(s.H.T*g.vdot + s.a)), difference(s.f, s.phi*(s.M*s.alpha + s.b)))"),
    Item("002", "families", "forward dynamics three ways",
         "difference(massmat(s).inv*g.v, np.linalg.solve(massmat(s).array(), g.v))"),
    Item("002", "trees", "branches and predecessors",
         "len(tree.branches()) > 1 and tree.topology.closest_common_ancestor(0, len(tree) - 1) == 0"),
    Item("002", "operational space", "Lambda^-1 = B* Omega B = B*(k) Y(k) B(k)",
         "((B := s.B(tool)).T*s.Omega*B - B.T*s.Upsilon*B).is_zero()"),
    Item("002", "closed chains", "free dynamics, constraint forces, correction",
         "closed_dynamics()"),
    Item("002", "closed chains", "the formula with D^-1/2 typed as operators",
         "closed_formula()"),
    Item("002", "sensitivities", "by dofs and by time", "(s.M.dot() - s.W_v*s.M + s.M*s.W_v).is_zero()"),
    Item("002", "extensions", "determinant, generalized and disturbance Jacobian, linearization, re-rooting",
         "there(*(getattr(sc.analysis, x) for x in "
         "'linearize generalized_jacobian disturbance_jacobian reroot'.split()))"),
    Item("002", "extensions", "geared and prescribed motion",
         "there(g.add_geared_hinge, sc.dynamics.mixed_dynamics)"),
    Item("002", "extensions", "flexible bodies",
         "identity((m := massmat(sc.operators(flexible_arm()))) * m.inv)"),
    Item("002", "applications", "parameter sensitivities: masses, lengths, axes",
         "difference(sc.analysis.parameter_derivatives(g, 'mass_matrix', lengths, g.q), by_lengths())"),
    Item("002", "applications", "optimization of parameters", "counterbalanced()"),
    Item("002", "equations", "an operator expression next to its loop",
         "'V(k) = phi*(k+1,k) V(k+1) + H*(k) v(k)' in repr((s.phi.T*s.H.T).explain(loops=True).loops)"),
    Item("002", "conclusions", "parallels with Kalman filtering: Riccati, gain, innovations; page `estimation`",
         "filtered(g)"),
    Item("002", "applications", "simulation", "there(sc.sim)"),
    # -- the architecture paper -------------------------------------------------------------------------------------
    Item("003", "section II", "SKO and SPO families of your own", "own_kernel()"),
    Item("003", "section II", "parallels with optimal estimation", "filtered(g)"),
    Item("003", "section II", "E_phi and the adjacency matrix of the graph",
         "np.array_equal(sc.algebra.values.support.support(s.E_phi), g.topology.adjacency() > 0)"),
    Item("003", "section II", "several bodies as one",
         "identity((m := massmat(sc.operators(sc.aggregate(tree, ['left_thigh', 'left_shank'])))) * m.inv)"),
    Item("003", "section II-A", "paths follow a change of topology", "changed_topology()"),
    Item("003", "section III", "pose, velocity and acceleration of any pair of frames",
         "there(g.velocity('link7', 'link2', expressed_in='link4'), g.acceleration('link7', 'link2'))"),
    Item("003", "section III", "sub-graphs for every algorithm",
         "sc.dynamics.mass_matrix(g.subgraph(['link6', 'link7']), g.q[5:]).shape == (2, 2)"),
    Item("003", "section III", "mixed dynamics",
         "there(sc.dynamics.mixed_dynamics(g, g.q, g.v, np.zeros(7), np.zeros(7), prescribed=['link3']))"),
    Item("003", "section III", "TA, FA and CE agree", "three_solvers()"),
    Item("003", "section IV", "the two lines of PyCraft, typed", "architecture()"),
    Item("003", "section IV", "Python for development, validation and benchmarks",
         "sc.verify(lambda s: s.H*s.psi*s.M*s.psi.T*s.H.T, lambda s: s.D)"),
    Item("003", "section V", "simulation of a model in time", "there(sc.sim)"),
    Item("003", "section VI", "operational space inertia, manipulability",
         "there(sc.analysis.manipulability)"),
    Item("003", "section III", "a Jacobian of one frame relative to another",
         "between_frames()"),
    Item("003", "section III", "frames that the user moves",
         "there(g.pose(tool, relative_to=sc.MovingFrame('eye', g.root).set(sc.Pose(translation=(1, 0, 0)))))"),
    Item("003", "section III", "a platform from several models", "assembled()"),
    Item("003", "section III", "other modules follow a change of state", "told()"),
    Item("003", "Eq. 2", "closures as numbers: Gc, and Gc v - U = 0",
         "np.abs(np.asarray((c := closed()).Gc*c.v - c.U)).max() < 1e-12"),
    Item("003", "section III", "non-smooth contact", "there(sc.contact)", "no contact"),
    Item("003", "section IV", "parameters fitted to records", "fitted()"),
    Item("003", "section VI", "dual arms: move and squeeze", "there(sc.robot.Holding)", "see `sc.robot`"),
    # -- the SKO-models paper ---------------------------------------------------------------------------------------
    Item("004", "section 2.1", "SKO models of any blocks", "identity((m := massmat(k)) * m.inv)"),
    Item("004", "section 2.2", "rigid trees are SKO models",
         "difference(massmat(sc.operators(g.sko(axes='inertial'))).array(), massmat(s).array())"),
    Item("004", "Lemma 1, Eq. 4-6", "gather", "difference(k.phi*x, gathered(k, x))"),
    Item("004", "Lemma 2, Eq. 7-9", "scatter", "difference(k.phi.T*x, k.phi.array().T @ x)"),
    Item("004", "Algorithm 3.1, Eq. 10", "Newton-Euler",
         "difference(s.T, sc.dynamics.inverse_dynamics(g, g.q, g.v, g.vdot))"),
    Item("004", "Eq. 15", "elements of A X B*",
         "difference((Z := k.phi*k.M*k.psi.T)[0, 1], Z.array()[k.body.block(0), k.body.block(1)])"),
    Item("004", "Eq. 25, Algorithm 4.3", "elements of A* X B",
         "difference((Z := k.phi.T*k.M*k.psi)[0, 1], Z.array()[k.body.block(0), k.body.block(1)])"),
    Item("004", "Eq. 26", "diagOf", "sc.prove(sc.diag_of(k.phi.T*k.M*k.psi), k.E_phi.T.lyapunov(k.M, k.E_psi.T))"),
    Item("004", "Algorithm 4.1, 4.2", "composite bodies", "difference(massmat(k).array(), dense_mass_matrix(k))"),
    Item("004", "section 4.2", "zeros of the mass matrix of a tree",
         "not massmat(sc.operators(tree))['left_foot', 'right_foot'].any()"),
    Item("004", "Algorithm 6.1", "articulated-body forward dynamics",
         "difference(sc.operators(g, force=g.v).vdot, sc.dynamics.forward_dynamics(g, g.q, g.v, g.v))"),
    Item("004", "Corollary 6.1", "unit triangular factor", "below(t.H*t.phi*t.K)"),
    Item("004", "Eq. 61-63, Fig. 4-6", "blocks between branches", "len(sc.operators(tree).phi.by_branch()) > 1"),
    Item("004", "Fig. 4-6", "structure with the borders of the segments",
         "'┼' in structure(massmat(sc.operators(tree)))"),
    Item("004", "section 7", "related bodies, segments, adjacency",
         "tree.topology.is_ancestor('pelvis', 'left_foot') and "
         "tree.topology.common_ancestor('left_foot', 'right_foot') == 'pelvis' and "
         "tree.topology.adjacency().sum() == len(tree) - 1 "
         "and 'left_foot' in tree.topology.branch_of('left_thigh').names"),
    Item("004", "section 8.2", "cycles are refused",
         "refused(lambda: sc.SKOModel([1, 0], [np.eye(2)]*2, [np.eye(2)]*2, [np.eye(2)]*2))"),
    Item("004", "Eq. 52-53", "determinants of any SKO model",
         "difference(massmat(k).log_det(), np.linalg.slogdet(massmat(k).array())[1])"),
    Item("004", "section 2.1", "M positive semi-definite and H of full rank, or refused",
         "refused(lambda: sc.SKOModel([-1], [None], [[[1.0]]], [[[-1.0]]])) and "
         "refused(lambda: sc.SKOModel([-1], [None], [[[1.0, 2.0], [2.0, 4.0]]], [np.eye(2)]))"),
    Item("004", "section 2.2", "Kane's partial velocities", "kane(g)"),
    Item("004", "section 2.3", "several nodes of an SKO model as one",
         "difference(np.linalg.slogdet(massmat(sc.operators(sc.aggregate(cable(), ['0', '1']))).array())[1], "
         "massmat(sc.operators(cable())).log_det())"),
    Item("004", "section 7", "sub-graphs and segments of an SKO model",
         "len(cable().branches()) == 1 and cable().subgraph(['1']).nq == 1"),
    Item("004", "section 8", "the named algorithms for any SKO model", "pendulum_of_cable()"),
    Item("004", "section 8.1", "the recipe; page `sko` has four models",
         "difference(sc.dynamics.mass_matrix(cable(), [0.2, 0.2]), [[2.0, 1.0], [1.0, 1.0]])"),
    Item("004", "section 8.2", "several parents point to loops",
         "refused(lambda: sc.SKOModel([-1, 0, (0, 1)], [None, [[1]], [[1]]], [[[1]]]*3, [[[1]]]*3))"),
    Item("004", "section 9", "derivatives of SKO models of functions",
         "sc.check_derivative(massmat(sc.operators(cable())), '1').ok"),
)  # fmt: skip


@cache
def names() -> dict[str, Any]:
    """What the calls are written with."""
    g, tree, bars = sc.load("arm7"), sc.load("biped"), sc.load("five_bar")
    q, v = g.random_state(seed=3)
    g.set_state(q, v, np.linspace(-1, 1, g.nv))
    tree.set_state(*tree.random_state(seed=3))
    solver = sc.loops.ConstraintEmbedding(bars)
    bars.q = solver.assemble(bars.q)
    s, k = sc.operators(g, axes="inertial"), sc.operators(sc.random_sko(6, seed=3))
    W, X, I = s.W("link3"), s.X("link3"), sc.I
    return vars(SimpleNamespace(
        sc=sc, np=np, pycraft=pycraft, difference=difference, I=I, g=g, tree=tree, bars=solver, s=s, k=k,
        t=sc.operators(g, axes="inertial", numbering="tip"), body=sc.operators(g), tool="link7/tool", W=W, X=X,
        lam=s.E_psi.lyapunov(X * s.P - s.P * X), L=I - s.H * s.psi * s.K, ones=np.ones(42), x=np.ones(k.body.size),
        pose=sc.Pose.from_rpy(0.1, 0.2, 0.3, translation=(1, 2, 3)),
        lengths=["link3.inboard_z", "link4.axis_x"],
        shuffled=[f"link{i}" for i in (3, 1, 7, 5, 2, 6, 4)],
    )) | FUNCTIONS | papers_sko.FUNCTIONS | {"structure": structure}  # fmt: skip


def massmat(s: Any) -> Any:
    """The mass matrix."""
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def identity(x: Any) -> bool:
    """Whether an operator or array is the identity."""
    return bool(x.is_identity()) if isinstance(x, sc.Operator) else bool(np.allclose(x, np.eye(len(x))))


def below(x: Any) -> bool:
    """Whether the dense matrix is strictly lower block triangular."""
    rows, cols = x.spaces
    above = [(i, j) for i in range(1, len(rows) + 1) for j in range(i, len(cols) + 1)]
    return not any(np.abs(x[i, j]).max(initial=0.0) > 1e-12 for i, j in above)


def slope(expr: Any, found: Any) -> bool:
    """Whether an expression is the derivative along the third hinge."""
    return bool((expr.diff("link3") - found).is_zero())


def flexible_arm() -> Any:
    """A beam of two modes on a pin, with a body at its tip."""
    fx, mb = sc.flexible, sc.Multibody("arm")
    fe = fx.beam(1.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), 4)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    mb.add_body("beam", None, sc.Pin((0, 0, 1)), modal=fx.reduce(fe, ["root", "tip"], modes=2), hinge_node="root")
    mb.add_body("hand", "beam/tip", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)))
    return mb


def by_differences() -> Any:
    """The derivative of the mass matrix along the third hinge, by differences."""
    g, h = names()["g"], 1e-3
    at = lambda t: sc.dynamics.mass_matrix(g, g.integrate(g.q, t * np.eye(7)[2]))  # noqa: E731
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def printed_phi(block: Any) -> bool:
    """Whether a block reads [[I, l~], [0, I]]."""
    l = block[:3, 3:]
    return bool(np.allclose(block[:3, :3], np.eye(3)) and np.allclose(l, -l.T) and not block[3:, :3].any())


def typed(*texts: str) -> dict[str, Any]:
    """What lines leave when they are run with the printed names."""
    g = names()["g"]
    found = {name: getattr(pycraft, name) for name in pycraft.__all__}
    found |= {"sc": sc, "g": g, "mbodyObj": g, "nodes": [g["link7/tool"]], "bd3": g.bodies[-3], "print": lambda x: None}
    for text in texts:
        exec(text, found)
    return found


@cache
def listings(number: str) -> bool:
    """Whether a listing runs after those before it; its assertions are in it."""
    from tests.pycraft import printed

    order = list(printed.LISTINGS)
    before = [] if number == "introduction" else order[1 : order.index(number)]
    return bool(typed(*(printed.listing(n) for n in [*before, number])))


def slides() -> bool:
    """The dialogue of the slides."""
    from tests.pycraft import printed

    found = typed(printed.SLIDES_BEFORE + printed.mended(printed.SLIDES, printed.SLIDES_MENDED))
    return bool(np.allclose(found["Betadot"], names()["g"].vdot))


def architecture() -> bool:
    """The two lines of the architecture paper."""
    from tests.pycraft import printed

    found = typed(printed.ARCHITECTURE_BEFORE + printed.ARCHITECTURE)
    return bool(np.allclose(found["thetaddot"], names()["g"].vdot))


def own_elements() -> bool:
    """Elements set by index."""
    X = pycraft.SpatialMatrixOperator(names()["g"])
    X["link1"]["link2"] = np.eye(6)
    return bool(X.asArray().sum() == 6)


def own_kernel() -> bool:
    """A kernel operator of one's own has a propagation operator of one sweep."""
    tree = names()["tree"]
    s = sc.operators(tree)
    E = s.sparse("E", {(x.parent, x): np.eye(6) for x in tree.bodies if x.parent in tree.bodies})
    return bool(((sc.I - E) * (sc.I - E).inv).is_identity())


def inertial_force() -> Any:
    """J* f for a wrench in inertial axes."""
    g = names()["g"]
    return sc.dynamics.jacobian(g, g.q, "link7/tool").T @ np.ones(6)


def gathered(s: Any, x: Any) -> Any:
    """phi x by the recursion of the paper."""
    tree, space = s.body.tree, s.body
    y = {i: x[space.block(i)] for i in range(tree.n)}
    for i in tree.tips_to_base():
        y[i] = y[i] + sum(s.E_phi[i, j] @ y[j] for j in tree.children(i))
    return np.concatenate([y[i] for i in range(tree.n)])


def dense_mass_matrix(s: Any) -> Any:
    """By dense products."""
    H, phi, M = (x.array() for x in (s.H, s.phi, s.M))
    return H @ phi @ M @ phi.T @ H.T


def solvers() -> list[Any]:
    """The accelerations of a five-bar linkage by three solvers."""
    mb = sc.load("five_bar")
    kinds = (sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding)
    made = [kind(mb) for kind in kinds]
    q = made[-1].assemble(mb.q)
    zero = np.zeros(mb.nv)
    found = [solver.forward_dynamics(q, zero, np.ones(mb.nv)) for solver in made]
    return [np.asarray(getattr(x, "vdot", x)) for x in found]


def three_solvers() -> float:
    """How far they differ."""
    a, b, c = solvers()
    return max(difference(a, b), difference(a, c))


@cache
def closed() -> Any:
    """The operators of a ring of four links on the ground, moving, with those of its closure."""
    mb = sc.serial_chain(4, sc.Spherical())
    mb.set_state(*mb.random_state(seed=3))
    mb.root.add_node("pier", mb.pose("link4/tip"))
    mb.close_loop("ring", "inertial/pier", "link4/tip", sc.Spherical())
    solver = sc.loops.TreeAugmented(mb)
    mb.v = solver.project_velocity(mb.q, mb.v)
    return sc.operators(solver)


def closed_formula() -> bool:
    """Whether L* D^-1/2 [I - b*(b b*)^-1 b] D^-1/2 L is proved to be what Mcal^-1 and Gc give."""
    c = closed()
    b, root, L = c.Q*c.Bc.T*c.psi.T*c.H.T*c.D.inv.sqrt(), c.D.inv.sqrt(), c.I - c.H*c.psi*c.K
    inverse = massmat(c).inv
    typed = L.T*root*(c.I - b.T*(b*b.T).inv*b)*root*L
    return bool(sc.prove(typed, inverse - inverse*c.Gc.T*c.S.inv*c.Gc*inverse))


def assembled() -> bool:
    """Whether a hand with loops, taken into an arm, comes out of it again."""
    mb = sc.load("arm7")
    mb.add_model(sc.load("robotiq_2f85"), "link7", sc.Weld(), prefix="hand_")
    return mb.extract("hand_base_mount", prefix="hand_").loops.names == sc.load("robotiq_2f85").loops.names


def told() -> bool:
    """Whether a function is called after a change of state."""
    mb, seen = sc.serial_chain(2), []
    with mb.subscribe(lambda change: seen.append(set(change.kinds))):
        mb.q = [0.1, 0.2]
    return seen == [{"state"}]


def between_frames() -> float:
    """How far J v is from the velocity of one frame relative to another, by a factor of it."""
    mb = sc.load("biped")
    mb.set_state(*mb.random_state(seed=1))
    one, other = mb.bodies[-1].name, f"{mb.bodies[-4].name}/inboard"
    J = sc.dynamics.jacobian(mb, mb.q, one, relative_to=other)
    return difference(J @ mb.v, np.asarray(mb.velocity(one, other)))


def closed_dynamics() -> bool:
    """Whether the augmented solver gives accelerations."""
    return bool(np.isfinite(solvers()[0]).all())


def changed_topology() -> bool:
    """Whether products are right after a body is added."""
    mb = sc.serial_chain(3)
    mb.add_body("more", "link2", sc.Pin([0, 0, 1]), sc.Inertia(1.0, [0.1, 0, 0], np.eye(3)))
    mb.set_state(*mb.random_state(seed=1))
    return bool(difference(massmat(sc.operators(mb)).array(), sc.dynamics.mass_matrix(mb, mb.q)) < 1e-12)


def by_lengths() -> Any:
    """The derivative of the mass matrix along a length and a part of an axis, by differences."""
    g, lengths, h = names()["g"].copy(), names()["lengths"], 1e-3
    x = sc.analysis.parameters(g, lengths)

    def at(step: Any) -> Any:
        sc.analysis.set_parameters(g, lengths, x + step)
        return sc.dynamics.mass_matrix(g, g.q)

    steps = h * np.eye(len(x))
    return np.stack([(8 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12 * h) for e in steps], axis=-1)


def counterbalanced() -> bool:
    """The counterweight that carries a pendulum of 1 kg and 1 m, 0.2 m beyond its pin: 5 kg."""
    mb = sc.load("pendulum")
    mb.add_body("weight", "bob", sc.Weld(), sc.Inertia.point(1.0, at=(0, 0, 0.2)))
    best = sc.analysis.optimize(mb, "weight.mass", lambda m: sc.dynamics.gravity_force(m, [1.0]))
    return bool(abs(best.values[0] - 5.0) < 1e-8)


def fitted() -> float:
    """The forces of inertias that were fitted to exact records, against those of the model."""
    g = names()["g"]
    q, v, a = np.random.default_rng(1).standard_normal((3, 60, 7))
    force = sc.dynamics.inverse_dynamics(g, q, v, a)
    found = sc.analysis.identify(g, {"q": q, "v": v, "vdot": a, "force": force})
    Y = sc.analysis.parameter_regressor(g, q[0], v[0], a[0]).matrix
    return float(difference(Y @ found.values, force[0]))


def there(*things: Any) -> str:
    """What is checked elsewhere; here it is only there."""
    assert all(x is not None for x in things)
    return "there"


def refused(call: Any) -> bool:
    """Whether a call is refused with an error of ours."""
    try:
        call()
    except sc.errors.SoacraftError:
        return True
    return False


FUNCTIONS = {
    f.__name__: f
    for f in (
        massmat, identity, below, slope, flexible_arm, by_differences, printed_phi, listings, slides, architecture,
        own_elements, by_lengths, counterbalanced, fitted, own_kernel, inertial_force, gathered, dense_mass_matrix,
        three_solvers, closed_dynamics, changed_topology, closed, closed_formula, assembled, told, between_frames,
        refused, there,
    )
}  # fmt: skip


def run(item: Item) -> Row:
    """One item with its status, by running its call."""
    if not item.call:
        return Row(item, f"not yet: {item.reason}", True)
    try:
        found = eval(item.call, dict(names()))
    except (AttributeError, TypeError, sc.errors.SoacraftError):
        if not item.reason:
            raise
        return Row(item, f"not yet: {item.reason}", True)
    if isinstance(found, str):
        return Row(item, found, True)
    if isinstance(found, float):
        return Row(item, f"holds, {found:.0e}", found <= ENOUGH)
    return Row(item, "holds" if found else "fails", bool(found))


def identity_rows(paper: str) -> list[Row]:
    """The relations of a paper, on a tree, those of serial chains on a chain."""
    at = {"serial": names()["body"], "closed": closed(), "": sc.operators(names()["tree"])}
    rows = []
    for x in sc.identities():
        own = [place.removeprefix(f"{paper} ") for place in x.equations if place.startswith(paper)]
        own = own or (["slides"] if x.source.startswith(paper) and not x.equations else [])
        if own:
            error = sc.verify(x.left, x.right, on=at["".join(x.conditions & at.keys())]).worst[1]
            call = f"sc.identities.find({x.name!r})"
            what = x.name + ("".join(f" ({c} only)" for c in sorted(x.conditions)))
            rows.append(Row(Item(paper, ", ".join(own), what, call), f"holds, {error:.0e}", error <= ENOUGH))
    return rows


@cache
def rows(paper: str) -> list[Row]:
    """Everything of one paper."""
    return [*(run(item) for item in ITEMS if item.paper == paper), *identity_rows(paper)]


def page(markdown: Any) -> str:
    """One table for each paper."""
    parts = []
    for number, (_, short, name, _) in PAPERS.items():
        found = [(row.item, row.status) for row in rows(number)]
        lines = [[cite(x.place), cite(x.what), f"`{x.call}`" if x.call else "", status] for x, status in found]
        parts.append(f"## {short}: {name}\n\n{markdown(['where', 'what', 'call', 'status'], lines)}")
    return "\n".join(parts)
