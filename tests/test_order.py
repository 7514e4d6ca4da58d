"""Vectors that know their order are converted or refused, never read in another one.

Every public function that takes q, v, vdot or forces of a model is in a table here, or exempt with a reason. It is
called with state arrays of a model that has the same bodies in another order, which must give what the numbers in its
own order give, and with those of a model of other bodies, which must be refused.
"""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from functools import reduce

import numpy as np
import pytest
from tests import order_cases as cases
from tests.order_cases import MAKE, STATE, SWAPPED, TREE, at_state

import soacraft as sc
from soacraft import analysis, contact, loops, pycraft, robot
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, SpaceError, StateError
from soacraft.order import in_order, known_order, order_of

REFUSAL = r"takes .*, one after another, but these are numbers of .*, of another model or sub-graph\. Give them by name"

# -- the table --------------------------------------------------------------------------------------------------------


def tree_functions(f, q, v):
    """The functions of dynamics, and the methods of a handle: `f(name)` is one of them."""
    node = "leg/tip"
    one = {
        "accelerations": (q, v, v), "bias_force": (q, v), "center_of_mass": (q,), "centroidal_momentum_matrix": (q,),
        "compensating_force": (q, {node: np.ones(6)}), "composite_inertia": (q,), "forward_dynamics": (q, v, v),
        "gravity_force": (q,), "interbody_forces": (q, v, v), "inverse_dynamics": (q, v, v), "jacobian": (q, node),
        "jacobian_dot_v": (q, v, node), "kinetic_energy": (q, v), "log_det_mass_matrix": (q,), "mass_matrix": (q,),
        "mass_matrix_inverse": (q,), "mass_matrix_multiply": (q, v), "mass_matrix_solve": (q, v),
        "momentum": (q, v), "operational_space_compliance": (q, node), "passive_energy": (q,),
        "passive_force": (q, v), "potential_energy": (q,), "velocities": (q, v),
    }  # fmt: skip
    several = {
        "forward_dynamics_derivatives": lambda: f("forward_dynamics_derivatives")(q, v, v)[0],
        "inverse_dynamics_derivatives": lambda: f("inverse_dynamics_derivatives")(q, v, v)[0],
        "mixed_dynamics": lambda: f("mixed_dynamics")(q, v, v, v, ["leg"])[0],
        "node_motion": lambda: f("node_motion")(q, v, v, [node]).velocity,
        "poses": lambda: f("poses")(q).translation,
    }
    return {name: (lambda name=name, args=args: f(name)(*args)) for name, args in one.items()} | several


def analyses(mb, q, v):
    return {
        "analysis.Diagonalized.eps_of": lambda: analysis.diagonalize(mb, np.array(mb.q), np.array(mb.v)).eps_of(v),
        "analysis.Diagonalized.nu_of": lambda: analysis.diagonalize(mb, np.array(mb.q), np.array(mb.v)).nu_of(v),
        "analysis.christoffel": lambda: analysis.christoffel(mb, q),
        "analysis.coriolis_matrix": lambda: analysis.coriolis_matrix(mb, q, v),
        "analysis.diagonalize": lambda: analysis.diagonalize(mb, q, v).factor,
        "analysis.disturbance_jacobian": lambda: analysis.disturbance_jacobian(mb, q, "foot/tip", ["arm"]),
        "analysis.equilibrium": lambda: analysis.equilibrium(mb, free=["arm"], q=q).q,
        "analysis.fixman_force": lambda: analysis.fixman_force(mb, q),
        "analysis.fixman_potential": lambda: analysis.fixman_potential(mb, q),
        "analysis.forward_dynamics_sensitivity": lambda: analysis.forward_dynamics_sensitivity(mb, q, v, v),
        "analysis.jacobian_gradient": lambda: analysis.jacobian_gradient(mb, q, "foot/tip"),
        "analysis.linearize": lambda: analysis.linearize(mb, q, v, v).A,
        "analysis.log_det_gradient": lambda: analysis.log_det_gradient(mb, q),
        "analysis.log_det_mass_matrix": lambda: analysis.log_det_mass_matrix(mb, q),
        "analysis.manipulability": lambda: analysis.manipulability(mb, q, "foot/tip").singular_values,
        "analysis.mass_matrix_gradient": lambda: analysis.mass_matrix_gradient(mb, q),
        "analysis.modes": lambda: analysis.modes(mb, q).hz,
        "analysis.operational_space": lambda: analysis.operational_space(mb, q, "foot/tip", allow_singular=True)
        .compliance,
        "analysis.parameter_regressor": lambda: analysis.parameter_regressor(mb, q, v, v).matrix,
        "analysis.underactuated": lambda: analysis.underactuated(mb, q, v, passive=["arm"]).inertia,
    }


def of_graphs(mb, q, v):
    s, zero = sc.operators(mb, numbering="tip"), np.zeros(4)
    twice = mb.copy()
    return {
        "model.Multibody.state": lambda: mb.state(q, v, v).q,
        "model.Multibody.set_state": lambda: (twice.set_state(q, v), twice.q)[1],
        "model.Multibody.q": lambda: (setattr(twice, "q", q), twice.q)[1],
        "model.Multibody.integrate": lambda: mb.integrate(q, v),
        "model.Multibody.difference": lambda: mb.difference(zero, q),
        "model.Multibody.integrate_jacobians": lambda: mb.integrate_jacobians(q, v)[0],
        "model.Multibody.difference_jacobians": lambda: mb.difference_jacobians(zero, q)[0],
        "model.Multibody.qdot": lambda: mb.qdot(q, v),
        "model.State.replace": lambda: mb.state().replace(q=q, v=v).v,
        "ops.operators": lambda: sc.operators(mb, force=v).vdot,
        "ops.operators, numbered": lambda: sc.operators(mb, force=v, numbering="tip").vdot,
        "Operator.at": lambda: s.M.at(q=q).array(),
        "Operator.__mul__": lambda: s.H.T * v,
        "Operator.__mul__, not numbered": lambda: sc.operators(mb).H.T * v,
        "Operator.__mul__, of numbers computed from it": lambda: s.H.T * (0.5 * v + v.copy()),
        "StackedVector.__add__": lambda: s.v + v,
        "StackedVector.dot": lambda: s.v.dot(v),
        "Operators.vector": lambda: s.vector("hinge", v),
        "Operators.diagonal": lambda: s.diagonal("N", v).array(),
        "Operator.compile": lambda: sc.operators(mb).phi.compile()(q),
        "pycraft.SpatialVector": lambda: pycraft.SpatialVector(s, v),
        "pycraft.IdClass": lambda: pycraft.IdClass(s) * v,
        "pycraft.HStarClass": lambda: pycraft.HStarClass(s) * v,
    }


def of_scenes(mb, q, v):
    scene = contact.Scene(mb)
    return {
        "contact.Scene.distances": lambda: scene.distances(q).distance,
        "contact.Scene.contacts": lambda: scene.contacts(q, 1.0).distance,
        "contact.Scene.fastest": lambda: scene.fastest(q, v),
        "contact.Scene.fastest_of": lambda: scene.fastest_of(q, v),
        "contact.Scene.turning": lambda: scene.turning(q, v)[0],
        "contact.Scene.time_of_impact": lambda: scene.time_of_impact(np.array(mb.q), q)[0],
        "contact.Scene.cast_rays": lambda: scene.cast_rays(q, (0, 0, 5.0), (0, 0, -1.0)).distance,
    }


def of_closed(mb, q, v):
    found = {}
    for kind in (loops.TreeAugmented, loops.FullyAugmented, loops.ConstraintEmbedding):
        s, name = kind(mb), f"loops.{kind.__name__}"
        one = {
            "assemble": (q,), "bias_force": (q, v), "constraint_matrix": (q,), "gravity_force": (q,),
            "mass_matrix": (q,), "mass_matrix_inverse": (q,), "project_velocity": (q, v), "velocity_map": (q,),
            "jacobian": (q, "coupler"), "operational_space_compliance": (q, "coupler"),
        }  # fmt: skip
        found |= {f"{name}.{f}": (lambda s=s, f=f, args=args: getattr(s, f)(*args)) for f, args in one.items()}
        found |= {
            f"{name}.forward_dynamics": lambda s=s: s.forward_dynamics(q, v, v).vdot,
            f"{name}.inverse_dynamics": lambda s=s: s.inverse_dynamics(q, v, {"crank": 0.3}, actuated=["crank"]),
            f"{name}.inverse_dynamics, vdot of all dofs": lambda s=s: s.inverse_dynamics(
                np.array(mb.q), np.zeros(3), 1.0 * v
            ),
            f"{name}.mixed_dynamics": lambda s=s: s.mixed_dynamics(q, v, v, v, ["crank"])[0],
            f"{name}.project": lambda s=s: s.project(q, v)[1],
            f"{name}.independent": lambda s=s: len(s.independent(q)),
        }
    e, t = loops.ConstraintEmbedding(mb, independent=["crank"]), loops.TreeAugmented(mb)
    return found | {
        "loops.ConstraintEmbedding.complete": lambda: e.complete(q),
        "loops.ConstraintEmbedding.expand": lambda: e.expand(q, [1.0]),
        "loops.ConstraintEmbedding.advance": lambda: e.advance(q, {"crank": 0.1}),
        "loops.ConstraintEmbedding.log_det_mass_matrix": lambda: e.log_det_mass_matrix(q),
        "loops.ConstraintEmbedding.operators": lambda: e.operators(q, v, force=v).vdot,
        "loops.ConstraintEmbedding.sko": lambda: e.sko(q, v).H(0),
        "loops.TreeAugmented.operators": lambda: t.operators(q, v, force=v).Gc.array(),
        "loops.forward_dynamics_derivatives": lambda: loops.forward_dynamics_derivatives(t, q, v, v).dq,
        "loops.linearize": lambda: loops.linearize(t, q, v, v).A,
        "loops.report": lambda: loops.report(mb, q).rank,
        "loops.modes": lambda: loops.modes(t, q).hz,
        "kinematics.inverse_kinematics": lambda: sc.inverse_kinematics(
            mb, [sc.Position("coupler", mb.pose("coupler").translation)], q0=q
        ).q,
    }


#: Calls by the kind of model that they are of.
PARTS = {
    "tree": (analyses, of_graphs, of_scenes, cases.of_laws, cases.of_objects, cases.of_limbs, cases.of_motions,
             cases.of_estimates, cases.of_tasks, cases.of_stances, cases.of_worlds, cases.of_studies, cases.of_runs),
    "bar": (of_closed,), "walker": (cases.of_walkers,), "planar": (cases.of_chains,),
}  # fmt: skip


def calls(kind, mb, q, v):
    """Every public function by name, as a call that reads q or v."""
    table = {}
    if kind == "tree":
        plain = tree_functions(lambda name: lambda *args: getattr(dyn, name)(mb, *args), q, v)
        handle = tree_functions(lambda name: getattr(sc.Dynamics(mb), name), q, v)
        table |= {f"dynamics.{name}": call for name, call in plain.items()}
        table |= {f"dynamics.Dynamics.{name}": call for name, call in handle.items()}
    for part in PARTS[kind]:
        table |= part(mb, q, v)
    return table


def names_of(kind):
    mb = at_state(kind)
    return list(calls(kind, mb, mb.q, mb.v))


PAIRS = [(kind, name) for kind in MAKE for name in names_of(kind)]


@pytest.mark.parametrize(("kind", "name"), [pair for pair in PAIRS if pair[0] in SWAPPED])
def test_state_arrays_of_the_same_bodies_are_put_in_order(kind, name):
    mb, other = at_state(kind), at_state(kind, SWAPPED[kind])
    wanted = calls(kind, mb, mb.q, mb.v)[name]()
    found = calls(kind, at_state(kind), other.q, other.v)[name]()
    np.testing.assert_allclose(np.asarray(found, dtype=float), np.asarray(wanted, dtype=float), atol=1e-11, rtol=1e-9)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_state_arrays_of_other_bodies_are_refused(kind, name):
    mb, other = at_state(kind), at_state(kind, prefix="other_")
    with pytest.raises((StateError, SpaceError), match=REFUSAL):
        calls(kind, mb, other.q, other.v)[name]()
    np.testing.assert_array_equal(mb.q, at_state(kind).q)
    np.testing.assert_array_equal(mb.v, at_state(kind).v)


# -- nothing is left out ----------------------------------------------------------------------------------------------

#: Parameters that are vectors in the order of a model.
VECTORS = {"q", "v", "vdot", "force", "q0", "q1", "dv"}
ROOMS = ("dynamics", "analysis", "loops", "kinematics", "robot", "robot.study", "robot.components", "robot.ros", "sim",
         "contact", "model", "ops", "pycraft")  # fmt: skip
OWN_KINDS = {"loops.Solver": "the base of the three solvers", "model.Graph": "the base of Multibody and SubGraph"}
IN_A_RUN = "a run asks it, with the state that it keeps"
OF_ONE_HINGE = "a run asks it of its hinge, with the state that it keeps"
#: What has such parameters and reads no vector of a user's model, or reads it through a function of the table.
EXEMPT = {
    "binding": "asked by operators",
    "compiled_parts": "a debugging view of a plan, of arrays that were read",
    "held": "of states that were read",
    "loops.Aggregate": "states by mb.state",
    "loops.Cut": "q by joint name",
    "loops.Derivatives.__init__": "a result",
    "loops.FullyAugmented.operators": "refused",
    "loops.FullyAugmented.sko": "refused",
    "loops.Result.__init__": "a result",
    "loops.TreeAugmented.sko": "refused",
    "loops.equilibrium": "by analysis.equilibrium and assemble",
    "kinematics.report": "loops.report",
    "analysis.generalized_jacobian": "needs a free base; read_problem as the others",
    "dynamics.operational_space_inertia": "of operational_space_compliance",
    "dynamics.Dynamics.operational_space_inertia": "of operational_space_compliance",
    "robot.Task.wanted": "the base of the tasks",
    "robot.balance_load": "numbers of matrices that are given with it: there is no model",
    "robot.components.LQR.Params": "made by components.LQR, of numbers that were read",
    "robot.tip_over": "a force in space, of three numbers",
    "contact.Scene.smooth": "of distances that were computed",
    "contact.plastic_impact": "by project_velocity",
    "model.SubGraph": "as Multibody; see the tests of sub-graphs below",
    "model.SKOModel": "blocks have nodes; see the tests of SKO models below",
    "model.State.__init__": "made by mb.state",
    "model.State.at_numbers": "of numbers that were read",
    **{f"sim.Contact.{x}": IN_A_RUN for x in ("begin", "begin_batch", "out_of", "out_of_end", "start")},
    "sim.ContactHistory.__init__": "made by a run, of its rows",
    "sim.ContactHistory.sunk": "Run.check asks it, with the velocities of its rows",
    "sim.Impacts.begin_run": IN_A_RUN,
    **{f"sim.{kind}.{x}": OF_ONE_HINGE for kind in ("HingeFriction", "JointLimit")
       for x in ("impose", "runs_back", "take")},
    **{f"sim.JointLimit.{x}": OF_ONE_HINGE
       for x in ("is_hop", "nearer", "require_inside", "require_kept", "touched", "unit")},
    **{f"sim.{kind}.{x}": "the force of one dof, a number" for kind in ("HingeFriction", "JointLimit")
       for x in ("excess", "release")},
}  # fmt: skip


def public():
    """Every public function and method with a parameter that is a vector of a model.

    Records (dataclasses) hold what they are made of: who reads it is in the table.
    """
    found = {}
    for room in ROOMS:
        module = reduce(getattr, room.split("."), sc)
        for name in module.__all__:
            thing = getattr(module, name)
            parts = {f"{room}.{name}": thing}
            if inspect.isclass(thing):
                members = inspect.getmembers(thing, callable)
                makes = () if dataclasses.is_dataclass(thing) else ("__init__",)
                parts = {f"{room}.{name}.{k}": f for k, f in members if not k.startswith("_") or k in makes}
            for full, f in parts.items():
                try:
                    names = inspect.signature(f).parameters
                except (TypeError, ValueError):
                    continue
                if VECTORS & set(names):
                    found[full] = f
    return found


def is_exempt(name, by):
    return name.startswith(by) or name.endswith(by)


def test_every_public_function_that_takes_vectors_is_in_the_table():
    called = {name.partition(",")[0] for _, name in PAIRS}
    known = called | {f"{name}.__init__" for name in called}
    rest = {name for name in public() if name not in known and not any(name.startswith(x) for x in OWN_KINDS)}
    assert sorted(x for x in rest if not any(is_exempt(x, by) for by in EXEMPT)) == []
    assert sorted(by for by in EXEMPT if not any(is_exempt(x, by) for x in rest)) == [], "these need no exemption"
    assert len(public()) > 200


def test_limbs_tell_their_coordinates_from_those_of_others():
    """A limb has hinges of its own, from its base to its tip."""
    mb, chain = at_state("tree"), sc.serial_chain(3)
    leg = robot.Robot(mb).limb("leg", "inertial", "foot/tip")
    three = mb.subgraph(["hip", "leg", "foot"])
    for name in ("pose", "placed", "jacobian"):
        f = getattr(leg, name)
        np.testing.assert_array_equal(_numbers(f(three.q)), _numbers(f(np.array(three.q))))
        with pytest.raises(StateError, match="q of limb 'leg' " + REFUSAL):
            f(chain.q)
    with pytest.raises(StateError, match="near of limb 'leg' " + REFUSAL):
        leg.ik(leg.pose(three.q), near=chain.q)


def _numbers(x):
    return np.asarray(getattr(x, "translation", x))


# -- what knows its order ---------------------------------------------------------------------------------------------


def test_state_arrays_and_what_is_computed_from_them_know_their_order():
    mb = at_state("tree")
    v = mb.v
    for x in (v, 2.0 * v, v + v, -v, v + np.ones(4), np.sin(v), v.copy(), np.add(v, 1.0), mb.state().v, mb.vdot):
        assert known_order(x) is mb.layout.v_order
    for x in (v[:2], v[::-1], np.asarray(v), np.array(v), v.tolist(), v > 0.0, v @ v, v.sum(), np.outer(v, v),
              v[:, None] * v, np.concatenate([v, v]), mb.layout.nv):  # fmt: skip
        assert known_order(x) is None
    other = at_state("tree", SWAPPED["tree"])
    assert known_order(v + other.v) is None  # of two orders it has none
    written = v.copy()
    written[0] = 7.0
    written += 1.0
    assert written[0] == 8.0
    assert known_order(pickle.loads(pickle.dumps(mb.layout.v_order))) is None
    assert pickle.loads(pickle.dumps(mb.layout.v_order)) is mb.layout.v_order


def test_a_state_array_in_a_numbering_from_the_tip():
    """The velocities of the bodies, H* v by hand: that of each hinge along its axis."""
    mb = at_state("tree")
    s = sc.operators(mb, numbering="tip")
    order = [s.body.labels[k] for k in s.body.order]
    assert order != [body.name for body in mb.bodies]
    wanted = [[*(STATE["tree"][1][name] * np.array(TREE[name][1])), 0, 0, 0] for name in order]
    np.testing.assert_allclose(np.asarray(s.H.T * mb.v).reshape(4, 6), wanted, atol=1e-12)
    plain = np.concatenate([mb.v[mb.v_slice(name)] for name in order])
    np.testing.assert_array_equal(np.asarray(s.H.T * plain), np.asarray(s.H.T * mb.v))


def test_sub_graphs_of_one_size_are_told_apart():
    mb = at_state("tree")
    left, right = mb.subgraph(["leg", "foot"]), mb.subgraph(["hip", "arm"])
    for call in (lambda: dyn.mass_matrix(left, right.q), lambda: left.state(right.q), lambda: left.set_state(right.q),
                 lambda: sc.operators(left).H.T * right.v, lambda: left.integrate(right.q, right.v)):  # fmt: skip
        with pytest.raises((StateError, SpaceError), match=REFUSAL):
            call()
    with pytest.raises(StateError, match="has 2 entries, got 4"):
        dyn.mass_matrix(left, mb.q)
    whole = mb.subgraph(["hip", "arm", "leg", "foot"])
    np.testing.assert_allclose(dyn.mass_matrix(whole, mb.q), dyn.mass_matrix(mb, mb.q), rtol=1e-13, atol=1e-15)


def test_numbers_of_an_older_structure():
    """A body that came in between makes another order; copies and other parameters do not."""
    mb = at_state("tree")
    q = mb.q
    mb["arm"].inertia = sc.Inertia(3.0)
    np.testing.assert_array_equal(mb.state(q).q, q)
    np.testing.assert_array_equal(mb.copy().state(q).q, q)
    mb.remove("arm")
    mb.add_body("tail", "foot", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StateError, match=REFUSAL):
        mb.set_state(q)


def test_nodes_of_sko_models():
    m = sc.random_sko(5, seed=2)
    x = np.linspace(1, 2, sum(m.nvs))
    s = sc.operators(m, v=x, numbering="tip")
    np.testing.assert_array_equal(np.asarray(sc.operators(m, v=s.v).v), x)
    mb = at_state("tree")
    four = sc.SKOModel([-1, 0, 1, 2], [None, *[[[1.0]]] * 3], [[[1.0]]] * 4, [[[1.0]]] * 4)
    for call in (lambda: sc.operators(four, v=mb.v), lambda: sc.operators(four, force=mb.v),
                 lambda: dyn.mass_matrix_multiply(four, None, mb.v), lambda: sc.operators(four).M * mb.v):  # fmt: skip
        with pytest.raises((StateError, SpaceError), match=REFUSAL):
            call()


def test_quick_calls_take_what_is_in_order():
    """State arrays of the model itself, of a copy and of the same bodies by another name for the model."""
    mb = at_state("tree")
    call = sc.Dynamics(mb).forward_dynamics
    force = np.zeros(4)
    call(mb.q, mb.v, force), call(mb.copy().q, 2.0 * mb.v, force)
    assert call.answered == 2
    assert call.passed_on == 0
    other = at_state("tree", SWAPPED["tree"])
    call(other.q, other.v, force)
    assert call.passed_on == 1


def test_orders():
    one = order_of(["a", "b", "c"], [1, 2, 0])
    assert one is order_of(["a", "b"], [1, 2])
    assert one.entries_of(order_of(["b", "a"], [2, 1])).tolist() == [1, 2, 0]
    assert one.entries_of(order_of(["b", "a"], [1, 2])) is None
    assert one.entries_of(order_of(["b", "d"], [2, 1])) is None
    assert in_order([1.0, 2.0, 3.0], one, "x") == [1.0, 2.0, 3.0]
    assert repr(order_of("abcdef", [1] * 6)) == "'a', 'b', 'c', ..., 'f'"


# -- independent dofs -------------------------------------------------------------------------------------------------


def crank_slider():
    """A crank of 0.3 m, a rod of 1 m and a slider of 2 kg, along x, without gravity."""
    mb = sc.Multibody("slider_crank", gravity=(0, 0, 0))
    mb.add_body("crank", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.15, 0, 0), 0.02 * np.eye(3)))
    rod = sc.Inertia(1.5, (0.5, 0, 0), 0.1 * np.eye(3))
    mb.add_body("conrod", "crank", sc.Pin((0, 0, 1)), rod, sc.Pose(translation=(0.3, 0, 0)))
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    mb.close_loop("pin", mb["conrod"].add_node("end", sc.Pose(translation=(1, 0, 0))), mb["slider"], sc.Pin((0, 0, 1)))
    return mb


def torque_by_energy(angle, speed):
    """The torque of a crank at constant speed: the slope of the kinetic energy of the three bodies along its angle."""
    def energy(a):
        b = -np.arcsin(0.3 * np.sin(a))
        db = -0.3 * np.cos(a) / np.cos(b) * speed
        elbow = 0.3 * speed * np.array([-np.sin(a), np.cos(a)])
        middle = elbow + 0.5 * db * np.array([-np.sin(b), np.cos(b)])
        slide = elbow[0] - db * np.sin(b)
        crank = 0.5 * (0.02 + 1.0 * 0.15**2) * speed**2
        return crank + 0.5 * 1.5 * middle @ middle + 0.5 * 0.1 * db**2 + 0.5 * 2.0 * slide**2

    h = 1e-3
    return (8 * (energy(angle + h) - energy(angle - h)) - (energy(angle + 2 * h) - energy(angle - 2 * h))) / (12 * h)


@pytest.mark.parametrize("kind", [loops.TreeAugmented, loops.FullyAugmented, loops.ConstraintEmbedding])
def test_accelerations_by_name_whatever_is_independent(kind):
    mb, speed = crank_slider(), 4.0
    s = kind(mb)
    for angle in (0.4, 1.3, 2.5):
        b = -np.arcsin(0.3 * np.sin(angle))
        q = s.assemble([angle, b - angle, 0.3 * np.cos(angle) + np.cos(b)], fixed=["crank"])
        v = loops.ConstraintEmbedding(mb, independent=["crank"]).expand(q, [speed])
        force = s.inverse_dynamics(q, v, {"crank": 0.0}, actuated=["crank"])
        np.testing.assert_allclose(force, [torque_by_energy(angle, speed), 0, 0], atol=1e-8)
        batch = s.inverse_dynamics(np.stack([q, q]), v, {"crank": np.zeros((2, 1))}, actuated=["crank"])
        np.testing.assert_allclose(batch, [force, force], atol=1e-9)
        np.testing.assert_allclose(s.forward_dynamics(q, v, force).vdot[0], 0.0, atol=1e-8)


@pytest.mark.parametrize("kind", [loops.TreeAugmented, loops.FullyAugmented, loops.ConstraintEmbedding])
def test_bare_numbers_of_independent_dofs_are_refused_unless_these_were_named(kind):
    mb = at_state("bar")
    s, q, v = kind(mb), np.array(mb.q), np.array(mb.v)
    names = s.independent(q)
    text = rf"vdot of 'bar' is bare numbers of independent dofs, which were not named: .* here '{names[0]}'\. Give them"
    for given in ([0.0], np.zeros(1), np.zeros((2, 1))):
        for actuated in (None, ["crank"]):
            with pytest.raises(StateError, match=text):
                s.inverse_dynamics(q, v, given, actuated=actuated)
    with pytest.raises(LoopError, match=r"given for 'crank', 'rocker', which do not set the others: 1 dof is"):
        s.inverse_dynamics(q, v, {"crank": 0.0, "rocker": 0.0})
    with pytest.raises(LoopError, match=r"given for no dofs, which do not set the others"):
        s.inverse_dynamics(q, v, {})
    with pytest.raises(StateError, match=r"vdot of 'bar': .*'crnk'"):
        s.inverse_dynamics(q, v, {"crnk": 0.0})


def test_an_embedding_with_named_dofs_takes_bare_numbers_in_their_order():
    mb = at_state("bar")
    q, v = np.array(mb.q), np.array(mb.v)
    named, chosen = loops.ConstraintEmbedding(mb, independent=["rocker"]), loops.ConstraintEmbedding(mb)
    np.testing.assert_allclose(named.expand(q, [0.9]), v, atol=1e-12)
    np.testing.assert_allclose(named.expand(q, {"rocker": 0.9}), v, atol=1e-12)
    np.testing.assert_allclose(
        named.inverse_dynamics(q, v, [0.5]), named.inverse_dynamics(q, v, {"rocker": 0.5}), atol=1e-12
    )
    for call, what in ((chosen.expand, "v_independent"), (chosen.advance, "dv_independent")):
        with pytest.raises(StateError, match=rf"{what} of 'bar' is bare numbers of independent dofs"):
            call(q, [0.9])
    with pytest.raises(StateError, match="is given for 'crank', but its independent dofs are 'rocker'"):
        named.expand(q, {"crank": 0.9})
    s = sc.operators(chosen)
    np.testing.assert_allclose(chosen.expand(q, s.v), v, atol=1e-12)  # a stacked vector knows its dofs


def test_dofs_named_in_another_order_than_they_stand_are_given_by_name():
    mb = sc.load("five_bar")
    t = loops.TreeAugmented(mb)
    mb.q = t.assemble(mb.q)
    names = t.independent(mb.q)
    swapped = loops.ConstraintEmbedding(mb, independent=list(reversed(names)))
    straight = loops.ConstraintEmbedding(mb, independent=list(names))
    assert swapped.independent(mb.q) == names
    x = dict(zip(names, (0.1, 0.2, 0.3), strict=True))
    np.testing.assert_allclose(swapped.expand(mb.q, x), straight.expand(mb.q, [0.1, 0.2, 0.3]), atol=1e-12)
    with pytest.raises(StateError, match="which were named in another order than that of the model"):
        swapped.expand(mb.q, [0.1, 0.2, 0.3])
    with pytest.raises(StateError, match="which were named in another order than that of the model"):
        pickle.loads(pickle.dumps(swapped)).expand(mb.q, [0.1, 0.2, 0.3])
