"""The version of parameters next to that of the structure: what was made for a model stays valid, with new numbers."""

import pickle
import threading

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, StaleError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, forward_dynamics_derivatives
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.sizes.scale import scale_of


def close(found, wanted, tolerance=1e-11):
    found, wanted = np.asarray(found), np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * max(1.0, np.abs(wanted).max(initial=0.0)))


def welded():
    """Pins with welds between, at the base and at the tip, and nodes; every pin has armature."""
    rng = np.random.default_rng(3)
    mb, parent = sc.Multibody("welded"), None
    for i, weld in enumerate((True, False, True, True, False, False, True)):
        hinge = sc.Weld() if weld else sc.Universal((1, 0, 0), (0, 1, 0)) if i == 4 else sc.Pin((0, 1, 0))
        parent = mb.add_body(f"b{i}", parent, hinge, random_inertia(rng), random_pose(rng), random_pose(rng))
        parent.add_node("node", random_pose(rng))
        parent.armature = 0.0 if weld else 0.3
    mb.set_state(*mb.random_state(1))
    return mb


CHANGES = {
    "inertia": lambda mb, name, rng: setattr(mb[name], "inertia", random_inertia(rng)),
    "inboard": lambda mb, name, rng: setattr(mb[name], "inboard", random_pose(rng)),
    "outboard": lambda mb, name, rng: setattr(mb[name], "outboard", random_pose(rng).inv),
    "node": lambda mb, name, rng: setattr(mb[f"{name}/node"], "pose", random_pose(rng)),
    "gravity": lambda mb, name, rng: setattr(mb, "gravity", rng.standard_normal(3)),
}


@pytest.mark.parametrize("name", [f"b{i}" for i in range(7)])
@pytest.mark.parametrize("change", CHANGES)
def test_a_handle_goes_on_at_full_speed(change, name):
    """Quick calls answer at once, with the new numbers; of a Jacobian the first one notes the node anew."""
    mb = welded()
    d, q, v, x = sc.Dynamics(mb), np.array(mb.q), np.array(mb.v), np.ones(mb.nv)
    d.jacobian(q, "b6/node")
    CHANGES[change](mb, name, np.random.default_rng(7))
    anew = mb.copy()
    for call in ("forward_dynamics", "inverse_dynamics"):
        passed_on = getattr(d, call).passed_on
        close(getattr(d, call)(q, v, x), getattr(dyn, call)(anew, q, v, x), 1e-10)
        assert getattr(d, call).passed_on == passed_on
    close(d.mass_matrix(q), dyn.mass_matrix(anew, q))
    close(d.poses(q).translation, dyn.poses(anew, q).translation)
    for _ in range(2):
        close(d.jacobian(q, "b6/node"), dyn.jacobian(anew, q, "b6/node"))
    assert mb.version == d.graph.version


@pytest.mark.parametrize("hinge", ["b1", "b4"])
def test_armature(hinge):
    """Other numbers are a parameter, with none at one dof of two as well; the first and the last are the structure."""
    mb = welded()
    d, q, v, x = sc.Dynamics(mb), np.array(mb.q), np.array(mb.v), np.ones(mb.nv)
    for J in (0.7, np.array([0.0, 0.9])[: mb[hinge].hinge.nv] + (hinge == "b1"), 0.2):
        mb[hinge].armature = J
        close(d.forward_dynamics(q, v, x), dyn.forward_dynamics(mb.copy(), q, v, x), 1e-10)
    assert d.forward_dynamics.passed_on == 0
    mb[hinge].armature = 0.0
    with pytest.raises(StaleError, match="this handle of 'welded' was made before a structural change"):
        d.forward_dynamics(q, v, x)
    d = sc.Dynamics(mb)
    mb[hinge].armature = 0.2
    with pytest.raises(StaleError):
        d.forward_dynamics(q, v, x)


def test_springs_go_to_python_once():
    mb = sc.load("arm7")
    d, q, v, x = sc.Dynamics(mb), np.ones(7), np.ones(7), np.ones(7)
    before = d.forward_dynamics(q, v, x)
    mb["link3"].passive = sc.Passive(stiffness=4.0, damping=2.0)
    wanted = dyn.forward_dynamics(mb.copy(), q, v, x)
    assert np.abs(wanted - before).max() > 1e-3
    for _ in range(3):
        close(d.forward_dynamics(q, v, x), wanted)
    assert d.forward_dynamics.passed_on == 1


def test_the_mass_of_a_body_whose_weight_is_carried():
    """From none to some: a force that only Python knows comes to act."""
    mb = sc.load("arm7")
    mb["link3"].inertia, mb["link3"].gravity_compensation = sc.Inertia(), 1.0
    d, q, x = sc.Dynamics(mb), np.ones(7), np.zeros(7)
    d.inverse_dynamics(q, x, x)
    mb["link3"].inertia = sc.Inertia(5.0, (0.1, 0.2, 0.3))
    close(d.inverse_dynamics(q, x, x), dyn.inverse_dynamics(mb.copy(), q, x, x))


def test_old_states_have_the_numbers_of_new_parameters():
    mb = welded()
    old = mb.state(mb.q, np.ones(mb.nv), forces={"b6/node": np.arange(6.0)})
    shared, sub = old.replace(vdot=np.ones(mb.nv)), mb.subgraph(["b4", "b5"], anchor="moving")
    part, bound = sub.state(), sc.operators(old)
    again = pickle.loads(pickle.dumps(part))
    before = old.configuration, np.asarray(bound.b), part.b, again.b
    assert shared.configuration is old.configuration
    mb["b1"].inboard, mb["b5"].inertia, mb.gravity = sc.Pose(translation=(1, 2, 3)), sc.Inertia(9.0), (1, 0, 0)
    mb["b6/node"].pose = sc.Pose(translation=(3, 2, 1))
    twin = mb.copy()
    fresh = twin.state(old.q, old.v, forces={"b6/node": np.arange(6.0)})
    close(np.asarray(bound.b), np.asarray(sc.operators(fresh).b))
    close(old.alpha, fresh.alpha)
    close(part.b, twin.subgraph(["b4", "b5"], anchor="moving").state().b)
    assert shared.configuration is old.configuration is not before[0]
    with pytest.raises(StaleError, match="the parameters of 'welded' changed before all numbers of an older form"):
        before[0].edges("origin")
    copy = again.graph.multibody
    copy["b1"].inboard, copy["b5"].inertia, copy.gravity = sc.Pose(translation=(1, 2, 3)), sc.Inertia(9.0), (1, 0, 0)
    close(again.b, part.b)


@pytest.mark.parametrize("other", [{"vdot": 1.0}, {"v": 2.0}], ids=["one motion", "one configuration"])
def test_states_that_share_numbers_follow_at_different_times(other):
    """One asks after the first change, the other after the second: nothing of between is kept for it."""
    mb = welded()
    one = mb.state(mb.q, np.ones(mb.nv))
    late = one.replace(**{name: np.full(mb.nv, x) for name, x in other.items()})
    mb["b1"].inboard = sc.Pose(translation=(1, 2, 3))
    assert one.alpha.shape == (7, 6)
    mb["b4"].inboard = mb["b2"].outboard = sc.Pose(translation=(3, 2, 1))
    fresh = mb.copy().state(late.q, late.v, late.vdot)
    close(late.alpha, fresh.alpha)
    close(late.b, fresh.b)
    close(late.configuration.world[1], fresh.configuration.world[1])


def test_the_current_state_is_another_object():
    mb = welded()
    before = mb.current
    assert mb.current is before
    mb.gravity = (1.0, 0.0, 0.0)
    assert mb.current is not before


@pytest.mark.parametrize("change", CHANGES)
def test_programs_have_the_numbers_of_new_parameters(change):
    """Products at a snapshot, at the current state and of a compiled expression; also those that nodes take part in."""
    mb = welded()
    x, bound = np.ones(mb.nv), (sc.operators(mb.state(mb.q, mb.v)), sc.operators(mb))

    def products(s):
        J = s.B(["b2/node", "b6/node"]).T * s.phi.T * s.H.T
        return J, s.H * s.phi * s.M * s.phi.T * s.H.T, (s.H * s.phi * s.M * s.phi.T * s.H.T).inv

    expressions = [expr for s in bound for expr in products(s)]
    compiled = [expr.compile() for expr in products(bound[1])]
    for expr in expressions:
        expr * x
    for name in ("b6", "b2"):
        CHANGES[change](mb, name, np.random.default_rng(7))
        wanted = [np.asarray(expr * x) for expr in products(sc.operators(mb.copy()))]
        for expr, number in zip(expressions, wanted * 2, strict=True):
            close(expr * x, number)
        for call, number in zip(compiled, wanted, strict=True):
            close(call(mb.q, mb.v, x), number)


def test_nodes_that_move_while_the_kernels_are_out_of_date():
    """Springs outdate the kernels; the node that moves then is told to nobody, and is read with all the rest."""
    mb = welded()
    d, q = sc.Dynamics(mb), np.array(mb.q)
    d.jacobian(q, "b6/node")
    mb["b1"].passive = sc.Passive(stiffness=4.0)
    mb["b6/node"].pose = random_pose(np.random.default_rng(8))
    for _ in range(2):
        close(d.jacobian(q, "b6/node"), dyn.jacobian(mb.copy(), q, "b6/node"))


def test_an_sko_model_of_before_is_what_it_was_or_refused():
    """Its blocks are numbers; a and b, if nobody asked for them yet, would be of other parameters."""
    mb = sc.serial_chain(3)
    mb.v = np.ones(3)
    asked, unasked = mb.sko(), mb.sko(mb.state(v=[1.0, 2.0, 3.0]))
    M, b = asked.M(2).copy(), asked.b(2).copy()
    mb["link3"].inertia = sc.Inertia(7.0)
    np.testing.assert_array_equal(asked.M(2), M)
    np.testing.assert_array_equal(asked.b(2), b)
    with pytest.raises(StaleError, match="the parameters of 'chain' changed"):
        unasked.b(2)


def test_a_node_counts_for_the_length_of_a_model():
    mb = sc.serial_chain(2)
    assert scale_of(mb).length == 2.0
    mb["link2"].add_node("far", sc.Pose(translation=(9, 0, 0)))
    assert scale_of(mb).length == 10.0
    mb["link2/far"].pose = sc.Pose(translation=(4, 0, 0))
    assert scale_of(mb).length == 5.0
    mb.gravity = (0, 0, -1)
    assert scale_of(mb).time == np.sqrt(5.0)


@pytest.mark.parametrize("how", ["handle", "function"])
def test_results_of_before_answer_for_bodies(how):
    """Their numbers are what they were; those of a node would be made of old and new parameters."""
    mb = welded()
    d = sc.Dynamics(mb) if how == "handle" else dyn
    g = () if how == "handle" else (mb,)
    q, v = np.array(mb.q), np.array(mb.v)
    for ask in (lambda: d.poses(*g, q), lambda: d.velocities(*g, q, v)):
        found = ask()
        mb["b6"].add_node(f"late{mb.parameters}")
        before, late = np.array(found["b6/node"]), np.array(found[f"b6/late{mb.parameters}"])
        np.testing.assert_array_equal(late, np.array(found["b6"]))
        body = np.array(found["b6"])
        mb["b6/node"].pose = random_pose(np.random.default_rng(mb.parameters))
        np.testing.assert_array_equal(np.array(found["b6"]), body)
        with pytest.raises(StaleError, match="it answers for bodies, not for 'b6/node', which would be of other"):
            found["b6/node"]
        assert np.abs(np.array(ask()["b6/node"]) - before).max() > 1e-3


# -- a user's own hinge ----------------------------------------------------------------------------------------


class Rack(sc.Hinge):
    """It travels `gain` metres for each unit."""

    nq = nv = 1

    def __init__(self, gain=1.0):
        self.gain = gain

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        self._last = q
        return sc.Pose(translation=(self.gain * q[0] + getattr(self, "shift", 0.0), 0, 0))

    def H_T(self, q):
        return np.array([[0], [0], [0], [self.gain], [0], [0]])


def on_racks(*hinges):
    mb = sc.Multibody("racks")
    for i, hinge in enumerate(hinges):
        mb.add_body(f"r{i}", None, hinge, sc.Inertia(1.0))
    mb.set_state(np.ones(len(hinges)), np.ones(len(hinges)))
    return mb


def test_an_attribute_of_a_hinge():
    hinge = Rack()
    mb = on_racks(hinge)
    d, s, state = sc.Dynamics(mb), sc.operators(mb), mb.state()
    assert mb.pose("r0").translation[0] == 1.0
    parameters = mb.parameters
    hinge.gain = 3.0
    assert mb.parameters > parameters
    assert mb.pose("r0").translation[0] == mb.pose("r0", state=state).translation[0] == 3.0
    close(d.mass_matrix([1.0]), [[9.0]])
    close(s.H.array(), [[0, 0, 0, 3, 0, 0]])
    back = pickle.loads(pickle.dumps(mb))
    assert back.pose("r0").translation[0] == 3.0
    back["r0"].hinge.gain = 5.0
    assert (back.pose("r0").translation[0], mb.pose("r0").translation[0]) == (5.0, 3.0)
    twin = mb.copy()
    twin["r0"].hinge.gain = 4.0  # a copy shares the hinge
    assert mb.pose("r0").translation[0] == twin.pose("r0").translation[0] == 4.0


def test_the_unit_of_a_hinge():
    class Either(Rack):
        word = "m"
        dof_units = property(lambda self: self.word)

    hinge = Either()
    mb = on_racks(hinge)
    assert mb.layout.units.hinge == ("m",)
    hinge.word = "r"
    assert mb.layout.units.hinge == ("r",)


def test_what_a_hinge_notes_while_it_is_asked_is_no_change():
    mb = on_racks(Rack())
    parameters = mb.parameters
    for q in (0.1, 0.2):
        mb.q = [q]
        assert mb.pose("r0").translation[0] == q
        close(dyn.forward_dynamics(mb, [q], [0.0], [1.0]), [1.0])
    assert mb.parameters == parameters


def test_equal_hinges_that_an_attribute_tells_apart():
    """What is not among the parameters of `__init__` is no part of their comparison."""
    one, other = Rack(), Rack()
    other.shift = 5.0
    assert one == other
    mb = on_racks(one, other)
    assert [mb.pose(x).translation[0] for x in ("r0", "r1")] == [1.0, 6.0]
    one.shift = 2.0
    assert [mb.pose(x).translation[0] for x in ("r0", "r1")] == [3.0, 6.0]


def test_the_sizes_of_a_hinge_in_use_stay():
    hinge = Rack()
    hinge.nq = 1
    mb = on_racks(hinge)
    before = mb.parameters
    with pytest.raises(ModelError, match=r"nv of the hinge Rack\(gain=1\) cannot change from 1 to 2 while a model"):
        hinge.nv = 2
    assert (hinge.nv, mb.parameters) == (1, before)


def test_the_hinge_of_a_loop():
    mb = sc.serial_chain(2)
    slot = Rack()
    mb.close_loop("slot", "inertial", "link2/tip", slot)
    before = mb.parameters
    slot.gain = 2.0
    assert mb.parameters > before


# -- closed chains ---------------------------------------------------------------------------------------------


def four_bar():
    """Three rods of 1 m whose last tip is pinned to the ground at 1.5 m."""
    mb = sc.serial_chain(3)
    mb.root.add_node("bearing", sc.Pose(translation=(1.5, 0, 0)))
    mb.close_loop("pinned", "inertial/bearing", "link3/tip", sc.Pin((0, 1, 0)))
    mb.q = [-1.0, 1.5, 0.5]
    return mb


@pytest.mark.parametrize("solver", [TreeAugmented, ConstraintEmbedding, FullyAugmented])
def test_solvers_go_on(solver):
    mb = four_bar()
    s, force = solver(mb), np.ones(mb.nv)
    q = s.assemble(mb.q)
    v = s.project_velocity(q, np.ones(mb.nv))
    call, result = s.forward_dynamics, s.forward_dynamics(q, v, force)
    forward_dynamics_derivatives(s, q, v, force), s.mixed_dynamics(q, v, force, force, mb.dof_names[:1])
    s.inverse_dynamics(q, v, result.vdot)
    rng = np.random.default_rng(2)

    def compare(q, v):
        twin = solver(mb.copy())
        wanted = twin.forward_dynamics(q, v, force)
        for own, others in zip(*(forward_dynamics_derivatives(x, q, v, force) for x in (s, twin)), strict=True):
            close(own, others, 1e-8)
        inverse = [x.inverse_dynamics(q, v, wanted.vdot) for x in (s, twin, s)]
        close(inverse[::2], [inverse[1]] * 2, 1e-9)
        mixed = [x.mixed_dynamics(q, v, force, np.ones(mb.nv), mb.dof_names[:1]) for x in (s, twin, s)]
        close(mixed[::2], [mixed[1]] * 2, 1e-9)
        for each in (s.forward_dynamics, call, s.forward_dynamics):
            found = each(q, v, force)
            close(found.vdot, wanted.vdot, 1e-9)
            assert found.residual < 1e-9
        batch = s.forward_dynamics(np.stack([q, q]), v, force)
        close(batch.vdot, [wanted.vdot, wanted.vdot], 1e-9)

    mb.bodies[1].inertia = random_inertia(rng)
    compare(q, v)
    with pytest.raises(StaleError, match="rank and independent dofs of this result were not asked for before"):
        assert result.rank
    mb.gravity = (1.0, 2.0, 3.0)
    compare(q, v)
    mb["link3/tip"].pose = sc.Pose(translation=(1.05, 0, 0))
    mb.bodies[1].passive = sc.Passive(stiffness=3.0)
    with pytest.raises(LoopError, match="is open by"):
        s.forward_dynamics(q, v, force)
    q = s.assemble(q)
    compare(q, s.project_velocity(q, v))
    mb.bodies[2].inboard = sc.Pose(translation=(0.95, 0, 0))
    q = s.assemble(q)
    compare(q, s.project_velocity(q, v))


def test_operators_of_an_embedded_chain_go_on():
    mb = four_bar()
    s = ConstraintEmbedding(mb)
    mb.q = s.assemble(mb.q)
    o, snapshot = s.operators(), s.operators(mb.q, np.zeros(mb.nv))
    masses = [x.H * x.phi * x.M * x.phi.T * x.H.T for x in (o, snapshot)]
    before = [mass.array() for mass in masses]
    mb.bodies[0].inertia = random_inertia(np.random.default_rng(4))
    twin = ConstraintEmbedding(mb.copy())
    t = twin.operators()
    wanted = (t.H * t.phi * t.M * t.phi.T * t.H.T).array()
    for mass, old in zip(masses, before, strict=True):
        assert np.abs(mass.array() - old).max() > 1e-3 * np.abs(old).max()
        close(mass.array(), wanted, 1e-9)


# -- edits by other threads ------------------------------------------------------------------------------------


class Meddling(Rack):
    """While it is asked for something, another thread edits the model."""

    method, edit = "", staticmethod(lambda: None)

    def meddle(self, method):
        if method == self.method:
            thread = threading.Thread(target=self.edit)
            thread.start()
            thread.join()

    def pose(self, q):
        self.meddle("pose")
        return super().pose(q)

    def H_T(self, q):
        self.meddle("H_T")
        return super().H_T(q)

    def integrate(self, q, dv):
        self.meddle("integrate")
        return super().integrate(q, dv)


EDITS = {
    "structure": lambda mb: mb.add_body("more", None, sc.Free(), sc.Inertia(1.0)),
    "fewer": lambda mb: mb.remove("r2"),
    "parameter": lambda mb: setattr(mb["r1"], "inertia", sc.Inertia(4.0)),
}
ASKED = {
    "mb.pose": ("pose", lambda mb: mb.pose("r0")),
    "mb.velocity": ("H_T", lambda mb: mb.velocity("r0")),
    "mb.integrate": ("integrate", lambda mb: mb.integrate(np.ones(3), np.ones(3))),
    "mb.sko": ("H_T", lambda mb: mb.sko()),
    "forward_dynamics": ("H_T", lambda mb: dyn.forward_dynamics(mb, np.ones(3), np.ones(3), np.ones(3))),
    "kinetic_energy": ("pose", lambda mb: dyn.kinetic_energy(mb, np.ones(3), np.ones(3))),
    "jacobian": ("pose", lambda mb: dyn.jacobian(mb, np.ones(3), ["r0", "r2"])),
    "operators": ("H_T", lambda mb: sc.operators(mb).H.array()),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("asked", ASKED)
def test_an_edit_during_a_computation(asked, edit):
    hinge = Meddling()
    mb = on_racks(Rack(), hinge, Rack())
    hinge.method, ask = ASKED[asked]
    hinge.edit = lambda: EDITS[edit](mb)
    with pytest.raises(StaleError):
        ask(mb)
    hinge.method = ""
    assert (mb.q.shape, mb.v.shape) == ((mb.nq,), (mb.nv,))
    if edit == "parameter" and asked not in ("mb.sko", "mb.pose"):
        close(ask(mb), ask(mb.copy()), 0.0)


def test_a_refused_call_leaves_its_out_alone():
    hinge = Meddling()
    mb = on_racks(Rack(), hinge, Rack())
    hinge.method, hinge.edit, out = "H_T", lambda: EDITS["parameter"](mb), np.full(3, 7.0)
    with pytest.raises(StaleError, match=r"edited while|changed before"):
        dyn.forward_dynamics(mb, np.ones(3), np.ones(3), np.ones(3), out=out)
    np.testing.assert_array_equal(out, 7.0)


def test_a_batch_belongs_to_one_set_of_parameters():
    """Batches run without Python's lock, while another thread changes what they read."""
    mb = sc.load("arm7")
    d, rng = sc.Dynamics(mb), np.random.default_rng(0)
    q, v, x = rng.standard_normal((3, 3000, 7))
    one, other = mb["link7"].inertia, sc.Inertia(30.0, (0.1, 0.2, 0.3), np.eye(3))
    wanted = []
    for inertia in (one, other):
        mb["link7"].inertia = inertia
        wanted.append(d.forward_dynamics(q, v, x))
    found, done = [], threading.Event()

    def work():
        for _ in range(12):
            found.append(d.forward_dynamics(q, v, x, threads=2))
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        mb["link7"].inertia = one
        mb["link7"].inertia = other
    thread.join()
    assert len(found) == 12
    assert all(any(np.array_equal(x, y) for y in wanted) for x in found)
