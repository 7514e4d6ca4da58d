"""Random trees with random springs, dampers, fixed and spatial tendons next to MuJoCo: forces at a state, and motions
by the same Runge-Kutta steps."""

import mujoco
import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn

STEP, STEPS = 0.002, 100


def numbers(x):
    return " ".join(f"{y:.17g}" for y in np.atleast_1d(x))


def drawn(rng, *ball):
    """The text of a random tree: springs and dampers in all hinges, tendons over hinges, springs through sites."""
    count = 6
    text: list[list[str]] = [[] for _ in range(count)]
    children: list[list[int]] = [[] for _ in range(count)]
    bases, plain = [], []
    for k in range(count):
        parent = int(rng.integers(-1, k)) if k else -1
        (bases if parent < 0 else children[parent]).append(k)
        kind = str(rng.choice(["hinge", "hinge", "slide", *ball]))
        law = f'stiffness="{rng.uniform(2, 9):.3f}" damping="{rng.uniform(0, 0.4):.3f}"'
        joint = f'<joint name="j{k}" type="{kind}" {law}'
        if kind != "ball":
            plain.append(k)
            joint += f' axis="{numbers(rng.standard_normal(3))}" springref="{rng.uniform(-0.5, 0.5):.3f}"'
        text[k].append(joint + "/>")
        text[k].append(f'<inertial pos="{numbers(rng.uniform(-0.2, 0.2, 3))}" mass="{rng.uniform(0.5, 2):.3f}" '
                       f'diaginertia="{numbers(rng.uniform(0.05, 0.06, 3))}"/>')  # fmt: skip
        text[k] += [f'<site name="s{k}{i}" pos="{numbers(rng.uniform(-0.3, 0.3, 3))}"/>' for i in range(2)]

    def body(k):
        inner = "".join(text[k]) + "".join(map(body, children[k]))
        return f'<body name="b{k}" pos="{numbers(rng.uniform(-0.4, 0.4, 3))}">{inner}</body>'

    tendons = []
    for i in range(4):
        path = [f"s{k}{rng.integers(2)}" for k in rng.permutation(count)[: rng.integers(2, 4)]]
        path[0] = path[0] if i else "wall"
        low = rng.uniform(0.0, 0.5)
        rest = numbers([low, low + rng.uniform(0.0, 0.3)] if i % 2 else low)
        law = f'stiffness="{rng.uniform(5, 30):.3f}" damping="{rng.uniform(0, 0.5):.3f}" springlength="{rest}"'
        tendons.append(f'<spatial name="t{i}" {law}>{"".join(f"<site site={x!r}/>" for x in path)}</spatial>')
    for i in range(2 if len(plain) > 1 else 0):
        over = rng.permutation(plain)[:2]
        law = f'stiffness="{rng.uniform(2, 9):.3f}" damping="{rng.uniform(0, 0.3):.3f}"'
        law += f' springlength="{rng.uniform(0, 0.3):.3f}"'
        terms = "".join(f'<joint joint="j{k}" coef="{rng.uniform(-1, 1):.3f}"/>' for k in over)
        tendons.append(f'<fixed name="f{i}" {law}>{terms}</fixed>')
    world = '<site name="wall" pos="0.8 0.1 0.4"/>' + "".join(map(body, bases))
    return (
        f'<mujoco model="drawn"><compiler angle="radian" autolimits="true"/><option timestep="{STEP}" integrator="RK4">'
        '<flag constraint="disable" contact="disable"/></option>'
        f"<worldbody>{world}</worldbody><tendon>{''.join(tendons)}</tendon></mujoco>"
    )


@pytest.mark.parametrize("seed", range(6))
def test_forces(seed, tmp_path):
    """Ball joints too: springs, dampers and tendons as one generalized force, and the accelerations they cause."""
    rng = np.random.default_rng(seed)
    text = drawn(rng, "ball")
    (tmp_path / "drawn.xml").write_text(text)
    mb = sc.load(tmp_path / "drawn.xml")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    q, v = mb.random_state(rng)
    data.qvel[:] = v
    for body in mb.bodies:
        own, at = q[body.q_slice], model.joint(body.name.replace("b", "j")).qposadr[0]
        data.qpos[at : at + len(own)] = own if len(own) < 4 else own[[3, 0, 1, 2]]
    mujoco.mj_forward(model, data)
    assert np.abs(data.ten_length).min() > 0.0
    np.testing.assert_allclose(dyn.passive_force(mb, q, v), data.qfrc_passive, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv)), data.qacc, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(6))
def test_motions(seed, tmp_path):
    """Turns and slides: the same steps of the same method, bodies and elements in every order."""
    text = drawn(np.random.default_rng(100 + seed))
    (tmp_path / "drawn.xml").write_text(text)
    mb = sc.load(tmp_path / "drawn.xml")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = np.linspace(-0.5, 0.7, model.nv)
    mb.set_state(data.qpos, data.qvel)
    sc.sim.Propagator(mb, integrator="rk4", step=STEP).advance_to(STEP * STEPS)
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    assert np.abs(data.qpos).max() > 0.05
    np.testing.assert_allclose(mb.q, data.qpos, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(mb.v, data.qvel, rtol=1e-8, atol=1e-9)
