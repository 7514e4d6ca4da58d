"""The compiled kernels of trees with flexible bodies against the recursions in Python, to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dynamics.calls import reference_alone
from tests.model.modal.trees import flexible_tree, random_modal, random_node, settle
from tests.profiles import tries

import soacraft as sc
from soacraft.dynamics.reference import REFERENCE
from soacraft.dynamics.table import TABLE
from soacraft.errors import SingularError, StateError
from soacraft.model.flat.compiled import kernel_table
from soacraft.model.hinges import examples

dyn = sc.dynamics
BRANCHED = (-1, 0, 0, 1, 1, 3, 5)
EVERY = tuple(examples())
HOLONOMIC = tuple(hinge for hinge in EVERY if hinge.holonomic)
NAMES = sorted(TABLE.keys() & kernel_table(flexible=True))
DIGITS = 1e-12


def close(got, wanted, names=""):
    got, wanted = (x if isinstance(x, tuple) else (x,) for x in (got, wanted))
    for a, b in zip(got, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        scale = np.abs(b).max(initial=0.0)
        assert a.shape == b.shape, names
        assert np.abs(a - b).max(initial=0.0) <= DIGITS * scale, names


def given_to(g, name, seed, batch=()):
    """Vectors for a function, with modal coordinates that stay moderate."""
    rng, row = np.random.default_rng(seed), TABLE[name]
    drawn = [np.array(g.random_state(seed + i)[0]) for i in range(int(np.prod(batch, dtype=int)))]
    q = np.reshape(drawn, (*batch, g.nq))
    q[..., g.layout.own.q] = 0.05 * rng.standard_normal((*batch, g.layout.own.q.size))
    return {x: q if x == "q" else rng.standard_normal((*batch, g.nv)) for x in row.vectors}


def frames_of(g):
    return [node for body in g.bodies for node in body.nodes]


def forces_on(g, seed, batch=(), turned=True):
    """Wrenches at nodes, in their axes; with `turned` also in those of another node and in inertial ones."""
    rng, frames = np.random.default_rng(seed), frames_of(g)
    chosen = [frames[i] for i in rng.permutation(len(frames))[:4]]
    found = {frame: rng.standard_normal((*batch, 6)) for frame in chosen}
    for frame, axes in ((chosen[0], chosen[-1]), (chosen[1], g.root)) if turned else ():
        found[frame] = sc.Wrench(*rng.standard_normal((2, 3)), expressed_in=axes)
    return found


def more(g, name, seed, batch=()):
    row = TABLE[name]
    nodes = {"nodes": frames_of(g)[:3]} if "nodes" in row.given else {}
    turned = "forces in own axes" not in kernel_table(flexible=True)[name]["parts"]
    return nodes | ({"f_ext": forces_on(g, seed, batch, turned)} if "f_ext" in row.given else {})


def names_for(g):
    """Derivatives are of trees whose dofs span where they can be; in Python they take long."""
    small = g.nv < 20 and all(group.hinge.holonomic for group in g.layout.groups)
    return [name for name in NAMES if small or not TABLE[name].holonomic]


def python(name, g, *args, **kwargs):
    """What the recursions answer."""
    with reference_alone():
        return getattr(dyn, name)(g, *args, **kwargs)


@st.composite
def trees(draw):
    """Bodies with 0 to 9 modes on nodes of their parents, held by nodes of their own, by every hinge, with rotors."""
    count = draw(st.integers(1, 6))
    parents = [draw(st.integers(-1 if k == 0 or draw(st.booleans()) else 0, k - 1)) for k in range(count)]
    modes = draw(st.lists(st.integers(0, 9), min_size=2, max_size=4).filter(any))
    return flexible_tree(parents, draw(st.integers(0, 99)), EVERY, modes, geometric=draw(st.booleans()))


@given(mb=trees(), seed=st.integers(0, 99), count=st.sampled_from([None, 1, 2, 9]))
@tries(10)
def test_kernels_agree_with_the_recursions(mb, seed, count):
    batch = () if count is None else (count,)
    for name in names_for(mb):
        args, others = given_to(mb, name, seed, batch), more(mb, name, seed, batch)
        close(getattr(dyn, name)(mb, **args, **others), python(name, mb, **args, **others), name)


@pytest.mark.parametrize("name", NAMES)
def test_a_call_goes_straight_to_the_kernel(name):
    mb = flexible_tree(BRANCHED, 3, HOLONOMIC)
    d = sc.Dynamics(mb)
    args, others = given_to(mb, name, 1), more(mb, name, 1)
    call = getattr(d, name)
    call(*args.values(), **others)
    assert (call.answered, call.passed_on) == (1, 0)


@pytest.mark.parametrize("anchor", ["rest", "moving"])
@pytest.mark.parametrize("seed", range(3))
def test_a_subgraph_anchored_on_a_deforming_node(anchor, seed):
    mb = flexible_tree(BRANCHED, seed, EVERY, modes=(2, 3, 0, 1))
    g = mb.subgraph(list(mb["body1"].subtree()), anchor=anchor)
    for name in names_for(g):
        args, others = given_to(g, name, seed), more(g, name, seed)
        close(getattr(dyn, name)(g, **args, **others), python(name, g, **args, **others), name)


@pytest.mark.parametrize("batch", [(), (3,)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_operational_space_and_mixed_dynamics_are_made_of_kernels(monkeypatch, seed, batch):
    """Of one node and of two, with springs of hinges, forces at nodes, and any dofs prescribed; Python is not asked."""
    mb = flexible_tree(BRANCHED, seed, HOLONOMIC, modes=(2, 3, 0, 6))
    for body in mb.bodies:
        if body.hinge.nv == 1:
            body.passive = sc.Passive(stiffness=2.0, damping=0.3)
    args, rng = given_to(mb, "mixed_dynamics", seed, batch), np.random.default_rng(seed)
    q, frames = args["q"], frames_of(mb)
    tasks = [
        ("operational_space_compliance", (q, frames[-1:]), {}),
        ("operational_space_compliance", (q, frames[-1:] + frames[2:3]), {}),
        ("operational_space_inertia", (q, frames[-1:]), {"allow_singular": True}),
        ("mixed_dynamics", (*args.values(), rng.random(mb.nv) < 0.4), {"f_ext": forces_on(mb, seed, batch)}),
        ("inverse_dynamics", (q, args["v"], args["vdot"]), {"modes": "free"}),
    ]
    wanted = [python(name, mb, *vectors, **others) for name, vectors, others in tasks]
    monkeypatch.setattr(REFERENCE, "run", lambda p: pytest.fail(f"{p.function} went to Python"))
    for (name, vectors, others), to in zip(tasks, wanted, strict=True):
        close(getattr(dyn, name)(mb, *vectors, **others), to, name)


def test_large_turns_of_nodes():
    """Beyond the power series of the coefficients of Jl, and with lanes on both sides of it."""
    rng = np.random.default_rng(0)
    mb = sc.Multibody("bent")
    mb.add_body("boom", None, sc.Pin((0, 0, 1)), modal=random_modal(rng, 2, geometric=False), hinge_node="root")
    mb.add_body("load", "boom/tip", sc.Pin((0, 1, 0)), sc.Inertia(1.0, moment=np.eye(3)))
    q = np.repeat(np.array(mb.q)[None], 8, axis=0)
    q[:, 1:3] = np.linspace(0.0, 4.0, 8)[:, None] * [1.0, -0.5]
    turns = [np.linalg.norm(mb["boom"].modal.nodes["tip"].lam @ x[1:3]) for x in q]
    assert min(turns) < 0.35 < max(turns)
    args = {"q": q, "v": rng.standard_normal((8, 4)), "vdot": rng.standard_normal(4)}
    close(dyn.inverse_dynamics(mb, **args), python("inverse_dynamics", mb, **args))


def test_nodes_of_the_finite_element_model():
    """They are not among the nodes that the data name first: hinges and forces may be on them too."""
    rng = np.random.default_rng(4)
    data = random_modal(rng, 3, fe_nodes={"fe:7": random_node(rng, 3), "fe:8": random_node(rng, 3)})
    mb = sc.Multibody("fe")
    boom = mb.add_body("boom", None, sc.Pin((0, 0, 1)), modal=data, hinge_node="fe:8")
    boom.add_node("sensor", on="fe:7")
    mb.add_body("camera", "boom/sensor", sc.Pin((0, 1, 0)), sc.Inertia(1.2, (0.1, 0.0, 0.0), 0.1 * np.eye(3)))
    for name in NAMES:
        args = given_to(mb, name, 2)
        others = {"nodes": ["boom/sensor"]} if "nodes" in TABLE[name].given else {}
        others |= {"f_ext": {"boom/sensor": rng.standard_normal(6)}} if "f_ext" in TABLE[name].given else {}
        close(getattr(dyn, name)(mb, **args, **others), python(name, mb, **args, **others), name)


def test_springs_dampers_and_tendons_act():
    mb = flexible_tree((-1, 0, 1, 1), 2, (sc.Pin((0, 0, 1)), sc.Spherical()))
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=2.0, damping=0.3)
    for name in ("forward_dynamics", "inverse_dynamics", "passive_force", "forward_dynamics_derivatives"):
        args = given_to(mb, name, 5)
        close(getattr(dyn, name)(mb, **args), python(name, mb, **args), name)
    args = given_to(mb, "forward_dynamics", 5)
    assert np.abs(dyn.forward_dynamics(mb, **args) - dyn.forward_dynamics(mb, **args, passive=False)).max() > 1e-3


def test_parameters_set_later_are_seen():
    mb = flexible_tree(BRANCHED, 1, EVERY)
    args, others = given_to(mb, "forward_dynamics", 1), more(mb, "forward_dynamics", 1)
    before = dyn.forward_dynamics(mb, **args, **others)
    pose = sc.Pose.from_rpy(0.1, 0.2, 0.3, translation=(0.3, -0.2, 0.1))
    for k in (1, 3):
        mb[f"body{k}"].outboard = mb[f"body{k}"].outboard @ pose
        mb[f"body{k}"].inboard = mb[f"body{k}"].inboard @ pose
        close(dyn.forward_dynamics(mb, **args, **others), python("forward_dynamics", mb, **args, **others))
    mb.gravity = (1.0, -2.0, 3.0)
    after = dyn.forward_dynamics(mb, **args, **others)
    close(after, python("forward_dynamics", mb, **args, **others))
    assert np.abs(after - before).max() > 1e-3


def test_results_go_into_out_also_where_it_is_an_input():
    mb = flexible_tree(BRANCHED, 4, EVERY)
    args = given_to(mb, "forward_dynamics", 1, (5,))
    wanted = dyn.forward_dynamics(mb, **args)
    out = np.zeros_like(wanted)
    assert dyn.forward_dynamics(mb, **args, out=out) is out
    assert np.array_equal(out, wanted)
    dyn.forward_dynamics(mb, **args, out=args["force"])
    assert np.array_equal(args["force"], wanted)


def test_a_body_bent_too_far_is_refused_with_its_name_and_out_stays():
    rng = np.random.default_rng(0)
    mb = sc.Multibody("bent")
    data = random_modal(rng, 3)
    mb.add_body("boom", None, sc.Free(), modal=data, hinge_node="root")
    settle(mb, 0)
    q = np.array(mb.q)
    q[7:] = 1e3
    out = np.ones(mb.nv)
    with pytest.raises(SingularError, match=r"flexible body 'boom' is not positive at eta = \(1e\+03"):
        dyn.forward_dynamics(mb, q, mb.v, np.zeros(mb.nv), out=out)
    assert (out == 1.0).all()


def test_what_is_not_finite_is_refused():
    mb = flexible_tree((-1, 0), 1)
    q = np.array(mb.q)
    q[-1] = np.nan
    with pytest.raises(StateError, match="must be finite: entry 4"):
        dyn.forward_dynamics(mb, q, mb.v, np.zeros(mb.nv))
