"""Derivatives along parameters, against differences: every hinge, every kind of parameter, every quantity."""

import numpy as np
import pytest
from tests.analysis.cases import STENCIL, armed
from tests.dynamics.calls import GRAVITY, close, subtree, tree, wrenches
from tests.strategies import EVERY_HINGE

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.analysis.parametric.quantities import QUANTITIES
from soacraft.errors import LoopError, ModelError, StateError


def hand(hinge):
    """Three bodies in a row and a branch: the middle one hangs by the hinge, with all that a hinge can have."""
    mb = sc.random_tree(4, 7, [sc.Pin((1, 2, 3)), sc.Prismatic((0, 1, 1))], 0.5, gravity=GRAVITY)
    body = mb.bodies[1]
    outboard = sc.Pose.from_rpy(0.3, -0.2, 0.5, (0.1, 0.2, -0.3))
    mb.reattach(body, body.parent, hinge, inboard=body.inboard, outboard=outboard)
    body.add_node("tool", sc.Pose.from_rpy(0.4, 0.1, -0.6, (0.2, -0.1, 0.4)))
    if hinge.nv:
        body.armature = np.linspace(0.2, 0.4, hinge.nv)
        body.passive = sc.Passive(stiffness=2.0 if hinge.holonomic else 0.0, damping=0.3)
    body.gravity_compensation = 0.4
    return mb, body


def kinds_of(body):
    """Every kind of parameter that the body, its hinge and its node have, but those that exclude others."""
    names = [f"{body.name}.{kind}" for kind in ("mass", "com", "moment", "inboard", "outboard")]
    if body.hinge.nv:
        names += [f"{body.hinge_name}.{kind}" for kind in ("armature", "damping")]
        names += [f"{body.hinge_name}.stiffness"] if body.hinge.holonomic else []
    return [*names, f"{body.name}/tool.pose"]


def along(mb, names, function, count=2, step=1e-3):
    """Random directions that change all numbers, and the derivatives along them by differences of order six: the
    parameters of a copy are set.
    """
    rng, other = np.random.default_rng(0), mb.copy()
    x0 = analysis.parameters(mb, names)
    ways, columns = rng.uniform(0.5, 1.0, (len(x0), count)) * rng.choice([-1.0, 1.0], (len(x0), count)), []
    for way in ways.T:
        seen = []
        for at in STENCIL[:, 0]:
            analysis.set_parameters(other, names, x0 + at * step * way)
            seen.append(np.asarray(function(other)))
        columns.append(np.tensordot(STENCIL[:, 1], seen, (0, 0)) / step)
    return ways, np.stack(columns, axis=-1)


def agree(mb, names, ours, function, tolerance=1e-9, count=2):
    ways, theirs = along(mb, names, function, count)
    close(ours @ ways, theirs, tolerance)
    assert np.abs(theirs).max() > 1e-3


def arguments(g, names, seed=1):
    rng = np.random.default_rng(seed)
    q, v = g.random_state(rng)
    given = {"q": q, "v": v, "vdot": rng.standard_normal(g.nv), "force": rng.standard_normal(g.nv)}
    return [given[name] for name in names]


def moved_to(other, forces):
    """The same forces on another model."""
    theirs = {}
    for key, wrench in forces.items():
        axes, w = getattr(wrench, "expressed_in", None), np.asarray(wrench)
        name = getattr(axes, "full_name", axes)
        theirs[getattr(key, "full_name", key)] = w if axes is None else sc.Wrench(w[:3], w[3:], expressed_in=name)
    return theirs


@pytest.mark.parametrize("hinge", EVERY_HINGE, ids=lambda hinge: type(hinge).__name__)
def test_inverse_dynamics_with_every_hinge(hinge):
    mb, body = hand(hinge)
    given = arguments(mb, ("q", "v", "vdot"))
    f_ext = wrenches(mb, np.random.default_rng(2)) | {f"{body.name}/tool": np.arange(1.0, 7.0)}

    def forces(other):
        return dynamics.inverse_dynamics(other, *given, moved_to(other, f_ext))

    names = kinds_of(body)
    agree(mb, names, analysis.parameter_derivatives(mb, "inverse_dynamics", names, *given, f_ext=f_ext), forces)
    ten = analysis.parameter_derivatives(mb, "inverse_dynamics", f"{body.name}.inertia", *given, f_ext=f_ext)
    close(ten, analysis.parameter_regressor(mb, *given, f_ext).matrix[:, 10:20], 1e-13)
    axis = f"{body.hinge_name}.axis"
    if type(hinge) in (sc.Pin, sc.Prismatic, sc.Helical, sc.Cylindrical):
        ours = analysis.parameter_derivatives(mb, "inverse_dynamics", axis, *given, f_ext=f_ext)
        agree(mb, [axis], ours, forces, count=1)
        close(ours @ analysis.parameters(mb, axis), 0.0 * ours[:, 0], 1e-13)  # its length does not matter
    else:
        with pytest.raises(ModelError, match="has not one axis; turn it by 'inboard' and 'outboard' of 'body2'"):
            analysis.parameter_derivatives(mb, "inverse_dynamics", axis, *given)


def test_the_axis_is_that_of_another_hinge():
    """The hinge with its axis set is the hinge made with that axis, its frames staying where they are."""
    mb = sc.Multibody("two", gravity=GRAVITY)
    a = mb.add_body("a", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.1, 0.2, 0.3), np.eye(3)))
    for hinge in (sc.Pin((1, 2, 3)), sc.Helical((1, 2, 3), 0.2), sc.Prismatic((1, 2, 3)), sc.Cylindrical((1, 2, 3))):
        other, axis = mb.copy(), np.array([-3.0, 1.0, 0.5])
        inertia, at = sc.Inertia(2.0, (0.3, -0.1, 0.2), np.diag([1.0, 2.0, 2.5])), sc.Pose(translation=(0.4, 0.1, 0))
        other.add_body("b", "a", hinge, inertia, inboard=at)
        turned = mb.copy()
        kind = {"axis": axis} | ({"pitch": 0.2} if isinstance(hinge, sc.Helical) else {})
        turned.add_body("b", "a", type(hinge)(**kind), inertia, inboard=at)
        analysis.set_parameters(other, "b.axis", axis)
        np.testing.assert_allclose(analysis.parameters(other, "b.axis"), axis / np.linalg.norm(axis), atol=1e-15)
        given = arguments(other, ("q", "v", "vdot"))
        other.q = turned.q = given[0]
        close(dynamics.inverse_dynamics(other, *given), dynamics.inverse_dynamics(turned, *given), 1e-13)
        close(other.pose("b").translation, turned.pose("b").translation, 1e-13)
    analysis.set_parameters(mb, "a.axis", [0, 0, -1])  # about face
    np.testing.assert_allclose(a.inboard.rotation @ a.hinge.axis, [0, 0, -1], atol=1e-15)


def all_of(mb):
    """Some of every kind, on several branches; armature and damping where the model has some."""
    bodies = [body for body in mb.bodies if body.armature.any()]
    node = next(node for body in mb.bodies for node in body.nodes)
    first, second, third = bodies[0], bodies[-1], mb.bodies[2]
    return [
        f"{first.name}.inertia", f"{second.name}.inboard", f"{second.name}.outboard", f"{third.name}.inboard",
        f"{first.hinge_name}.armature", f"{node.full_name}.pose", f"{mb.bodies[0].name}.outboard",
    ]  # fmt: skip


CALLS = {
    **{name: getattr(dynamics, name) for name in QUANTITIES if name not in ("node_motion",)},
    "node_motion": lambda g, q, v, vdot, nodes: np.concatenate(dynamics.node_motion(g, q, v, vdot, nodes)[2:], -1),
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity(quantity):
    mb = armed(tree(3, n=7))
    names = all_of(mb)
    nodes = [names[5].removesuffix(".pose"), mb.bodies[-1].name]
    given = [nodes if name == "nodes" else arguments(mb, [name])[0] for name in QUANTITIES[quantity][0]]
    ours = analysis.parameter_derivatives(mb, quantity, names, *given)
    if quantity == "node_motion":
        ours = np.concatenate(ours[1:], axis=-2)
    agree(mb, names, ours, lambda other: CALLS[quantity](other, *given), 1e-8, count=1)


def test_how_nodes_are_displaced():
    mb = armed(tree(3, n=7))
    names, q = all_of(mb), mb.random_state(1)[0]
    nodes = [names[5].removesuffix(".pose"), mb.bodies[-1].name]
    zero = np.zeros(mb.nv)
    ours = analysis.parameter_derivatives(mb, "node_motion", names, q, zero, zero, nodes)[0]
    ways, turns = along(mb, names, lambda g: dynamics.node_motion(g, q, zero, zero, nodes)[0])
    _, travels = along(mb, names, lambda g: dynamics.node_motion(g, q, zero, zero, nodes)[1])
    close((ours @ ways)[:, 3:], travels, 1e-9)
    R = dynamics.node_motion(mb, q, zero, zero, nodes)[0]
    tilde = np.einsum("kabc,kdb->kadc", turns, R)  # dR R*
    close((ours @ ways)[:, 0], tilde[:, 2, 1], 1e-9)
    close((ours @ ways)[:, 1], tilde[:, 0, 2], 1e-9)
    close((ours @ ways)[:, 2], tilde[:, 1, 0], 1e-9)


@pytest.mark.parametrize("anchor", ["rest", "moving"])
def test_sub_graphs(anchor):
    mb = armed(tree(3, n=9, bases=1))
    mb.set_state(*mb.random_state(3))
    g = subtree(mb, anchor)
    root, last = g.bodies[0], g.bodies[-1]
    names = [f"{root.name}.inboard", f"{root.name}.outboard", f"{last.name}.com", f"{last.name}.inboard"]
    given = arguments(g, ("q", "v", "vdot"))
    bodies = [body.name for body in g.bodies]
    for quantity in ("inverse_dynamics", "mass_matrix", "jacobian", "kinetic_energy"):
        rest = {"inverse_dynamics": given, "mass_matrix": given[:1], "jacobian": [given[0], last.name],
                "kinetic_energy": given[:2]}[quantity]  # fmt: skip
        ours = analysis.parameter_derivatives(g, quantity, names, *rest)
        agree(mb, names, ours, lambda other, f=quantity, x=rest: getattr(dynamics, f)(
            other.subgraph(bodies, anchor=anchor), *x), 1e-8, count=1)  # fmt: skip
    if anchor == "moving":
        with pytest.raises(StateError, match="moving anchor, whose acceleration is not separated from gravity here"):
            analysis.parameter_derivatives(g, "gravity_force", names, given[0])
    outside = next(body.name for body in mb.bodies if body not in g.bodies)
    with pytest.raises(ModelError, match=f"parameter '{outside}.mass': '{outside}' is not on a body of"):
        analysis.parameter_derivatives(g, "mass_matrix", f"{outside}.mass", given[0])


def test_batches():
    mb = armed(tree(3, n=7))
    names, rng = all_of(mb), np.random.default_rng(0)
    q = np.array([mb.random_state(rng)[0] for _ in range(6)]).reshape(2, 3, mb.nq)
    v, x = rng.standard_normal((3, mb.nv)), rng.standard_normal((2, 1, mb.nv))
    f_ext = wrenches(mb, rng, (2, 1))
    one = {}
    for key, w in f_ext.items():
        axes, (moment, force) = getattr(w, "expressed_in", None), np.split(np.asarray(w)[1, 0], 2)
        one[key] = np.asarray(w)[1, 0] if axes is None else sc.Wrench(moment, force, expressed_in=axes)
    for quantity in ("inverse_dynamics", "forward_dynamics"):
        many = analysis.parameter_derivatives(mb, quantity, names, q, v, x, f_ext=f_ext)
        close(many[1, 2], analysis.parameter_derivatives(mb, quantity, names, q[1, 2], v[2], x[1, 0], f_ext=one), 1e-9)
    for quantity in ("mass_matrix", "log_det_mass_matrix", "center_of_mass"):
        many = analysis.parameter_derivatives(mb, quantity, names, q)
        close(many[1, 2], analysis.parameter_derivatives(mb, quantity, names, q[1, 2]), 1e-9)
    many = analysis.parameter_derivatives(mb, "jacobian", names, q, mb.bodies[-1].name)
    close(many[1, 2], analysis.parameter_derivatives(mb, "jacobian", names, q[1, 2], mb.bodies[-1].name), 1e-9)


def test_springs_between_nodes():
    """They do not change with inertias; what moves their ends is refused, or taken by differences."""
    mb = sc.load("double_pendulum")
    mb["lower"].add_node("end", sc.Pose(translation=(0.1, 0, -0.5)))
    mb.root.add_node("hook", sc.Pose(translation=(1.0, 0, 0)))
    mb["lower"].armature = 0.2
    mb.add_spring("spring", "inertial/hook", "lower/end", stiffness=50.0)
    names, given = ["upper.mass", "lower.com", "lower.armature"], arguments(mb, ("q", "v", "force"))
    ours = analysis.parameter_derivatives(mb, "forward_dynamics", names, *given)
    agree(mb, names, ours, lambda m: dynamics.forward_dynamics(m, *given), 1e-8)
    with pytest.raises(StateError, match=r"'lower.inboard_x' moves the ends of springs or bushings between nodes of"):
        analysis.parameter_derivatives(mb, "forward_dynamics", "lower.inboard_x", *given)
    free = analysis.parameter_derivatives(mb, "forward_dynamics", ["lower.inboard_x"], *given, passive=False)
    agree(mb, ["lower.inboard_x"], free, lambda m: dynamics.forward_dynamics(m, *given, passive=False), 1e-8)


def test_flexible_bodies_are_refused():
    mb = sc.load("double_pendulum")
    with mb._edits.lock:
        mb._edits.structure()
        mb.body("upper")._own = ("mode",)
    with pytest.raises(ModelError, match="'upper' of 'double_pendulum' is flexible, and these are derivatives"):
        analysis.parameter_derivatives(mb, "mass_matrix", "lower.mass", np.zeros(3))


def test_any_analysis_by_differences():
    """The period of a pendulum, (1/2) (l/g)^1/2 by its length; the model itself stays as it is."""
    mb = sc.load("pendulum")
    before = sc.analysis.parameters(mb)

    def rate(model):
        return np.abs(analysis.linearize(model, [0.0], [0.0], [0.0]).eigenvalues.imag).max()

    slope = analysis.parameter_derivatives(mb, rate, ["bob.com_z", "bob.mass"])
    np.testing.assert_allclose(slope, [0.5 * np.sqrt(9.81), 0.0], atol=1e-9)  # l = -com_z
    np.testing.assert_array_equal(sc.analysis.parameters(mb), before)
    with pytest.raises(StateError, match="takes no further arguments"):
        analysis.parameter_derivatives(mb, rate, "bob.mass", [0.0])


def test_refusals():
    mb = sc.load("double_pendulum")
    call = analysis.parameter_derivatives
    q = [0.1, 0.2]
    for error, text, args in [
        (StateError, "parameter_derivatives knows no derivative of 'mass_matri'; did you mean 'mass_matrix'",
         ("mass_matri", "lower.mass", q)),
        (StateError, "parameter_derivatives of 'inverse_dynamics' takes q, v, vdot, got 1 arguments.",
         ("inverse_dynamics", "lower.mass", q)),
        (ModelError, "parameter_derivatives: parameter 'lower.mas' is not a body, hinge or node, a dot and a kind; "
         "did you mean 'mass'", ("mass_matrix", "lower.mas", q)),
        (ModelError, "parameter_derivatives: parameter 'mass' is not a body", ("mass_matrix", "mass", q)),
        (ModelError, "parameter_derivatives: parameter 'lowe.mass': 'double_pendulum' has no body or hinge 'lowe'",
         ("mass_matrix", "lowe.mass", q)),
        (ModelError, "parameter_derivatives: parameter 'lower.com_x' is given twice.",
         ("mass_matrix", ["lower.com", "lower.com_x"], q)),
        (ModelError, "parameter_derivatives: parameters 'lower.mass' and 'lower.J_xx' set the same thing; give one "
         "of them.", ("mass_matrix", ["lower.mass", "lower.J_xx"], q)),
        (ModelError, "parameter_derivatives: parameters 'lower.inboard_x' and 'lower.axis_x' set the same thing",
         ("mass_matrix", ["lower.axis_x", "lower.inboard_x"], q)),
        (ModelError, "parameter_derivatives: parameter 'lower.pose': 'lower' is no node; a body is placed by",
         ("mass_matrix", "lower.pose", q)),
        (ModelError, "parameter_derivatives: parameter 'lower.armature_1': the hinge has 1 dofs.",
         ("mass_matrix", "lower.armature_1", q)),
        (ModelError, "parameters of parameter_derivatives are names such as 'link3.mass' or 'link3.inboard', got 7.",
         ("mass_matrix", 7, q)),
        (ModelError, "parameter_derivatives: no parameters are given", ("mass_matrix", [], q)),
    ]:  # fmt: skip
        with pytest.raises(error) as raised:
            call(mb, *args)
        assert str(raised.value).startswith(text), str(raised.value)
    with pytest.raises(StateError, match="of 'mass_matrix' takes no f_ext: no force enters it"):
        call(mb, "mass_matrix", "lower.mass", q, f_ext={"lower": np.zeros(6)})
    with pytest.raises(ModelError, match="parameter_derivatives takes a Multibody or a sub-graph of one, got 7"):
        call(7, "mass_matrix", "lower.mass", q)
    bars = sc.load("five_bar")
    with pytest.raises(LoopError, match="parameter_derivatives"):
        call(bars, "mass_matrix", f"{bars.bodies[0].name}.mass", bars.q)


def test_setting_is_all_or_nothing():
    mb = sc.load("double_pendulum")
    before = analysis.parameters(mb)
    for names, values, text in [
        (["upper.mass", "lower.mass"], [2.0, -1.0], "set_parameters: inertia of 'lower': mass of an Inertia must not "
         "be negative, got -1"),
        (["upper.mass", "lower.armature"], [2.0, -1.0], "set_parameters: armature of 'lower': the armature of hinge "
         "'lower' must not be negative, got (-1,)."),
        (["upper.mass", "lower.m"], [2.0, 0.0], "set_parameters: inertia of 'lower': the mass must be positive, got 0"),
        (["upper.mass", "lower.axis"], [2.0, 0.0, 0.0, 0.0], "set_parameters: axis of 'lower': an axis must not be"),
        (["upper.mass"], [2.0, 1.0], "values of set_parameters must have shape (1,), got shape (2,)"),
    ]:  # fmt: skip
        with pytest.raises(ModelError) as raised:
            analysis.set_parameters(mb, names, values)
        assert str(raised.value).startswith(text), str(raised.value)
        np.testing.assert_array_equal(analysis.parameters(mb), before)


def test_values_come_back():
    mb = armed(tree(5, n=9))
    names = [*all_of(mb), f"{mb.bodies[5].name}.mass", f"{mb.bodies[5].name}.moment"]
    mb.bodies[5].passive = sc.Passive(damping=0.5)
    names += [f"{mb.bodies[5].hinge_name}.damping"] if mb.bodies[5].hinge.nv else []
    x = analysis.parameters(mb, names)
    state = mb.state()
    y = x + 1e-2 * np.abs(np.random.default_rng(1).standard_normal(len(x)))
    analysis.set_parameters(mb, names, y)
    np.testing.assert_allclose(analysis.parameters(mb, names), y, atol=1e-13)
    assert state.version == mb.version  # handles stay
    assert len(analysis.parameter_names(mb, names)) == len(x)
