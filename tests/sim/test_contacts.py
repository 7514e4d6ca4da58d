"""The contacts of a run by pair and body, and what MJCF says of contact compared with MuJoCo itself."""

import mujoco
import numpy as np
import pytest
from tests.contact.scenes import G, box, free, ground, run, sphere

import soacraft as sc
from soacraft.contact.dynamics.mujoco import restitution_of
from soacraft.contact.dynamics.surfaces import Surfaces


def test_forces_of_a_stack_by_pair_and_body():
    """A box of 1 kg on one of 3 kg: the floor bears 4 g, the lower one bears g of the upper one, sums are weights."""
    mb = ground()
    box(mb, "low", mass=3.0)
    box(mb, "top", mass=1.0)
    r, touch = run(mb, [*free(0, 0, 0.1), *free(0, 0, 0.3)], np.zeros(12), 0.05, 0.01)
    seen = r.contacts
    assert seen.pairs == (("inertial/floor", "low/skin"), ("low/skin", "top/skin"))
    for name, other, weight in (
        ("low", "inertial", 4 * G),
        ("inertial/floor", None, -4 * G),
        ("top", "low", G),
        ("low", "top/skin", -G),
        ("low", None, 3 * G),
        ("top", "inertial", 0.0),
    ):
        np.testing.assert_allclose(seen.force(name, other)[1:], [[0, 0, weight]] * 5, atol=1e-7)
        assert seen.touches(name, other)[1:].all() == (weight != 0.0)
    assert not seen.force("low")[0].any()  # the start is the end of no step
    assert len(seen) == len(touch.steps) == 5
    total = sum(seen.force(x.name) for x in mb.bodies)
    vertical = r.forces["contact"][:, [5, 11]].sum(axis=1)  # along the dofs
    np.testing.assert_allclose(total[1:, 2], vertical[1:], atol=1e-9)
    with pytest.raises(sc.errors.ModelError, match="there is no shape or body with shapes 'lower'"):
        seen.force("lower")


@pytest.mark.parametrize("compiled", [True, False])
def test_an_unknown_name_is_refused_in_a_step(compiled):
    """A body that does not touch has no impulse; one that is not there is no answer."""
    mb = ground()
    box(mb, "low")
    box(mb, "aside")
    laws = {} if compiled else {"law": "poisson"}
    _, touch = run(mb, [*free(0, 0, 0.1), *free(5, 0, 3.0)], np.zeros(12), 0.02, 0.01, **laws)
    assert touch.steps
    for step in touch.steps:
        assert step.impulse_on("aside").tolist() == [0, 0, 0]
        assert step.impulse_on("low", "aside/skin").tolist() == [0, 0, 0]
        with pytest.raises(sc.errors.ModelError, match="no shape or body with shapes 'lows'; did you mean 'low'"):
            step.impulse_on("lows")
        with pytest.raises(sc.errors.ModelError, match="no shape or body with shapes 'nobody'; there are 'aside', "):
            step.impulse_on("low", "nobody")


def test_each_run_has_its_own_contacts():
    """A ball that falls: no touch before it lands; a second run of the same propagator tells its own rows alone."""
    mb = ground()
    sphere(mb)
    mb.set_state(free(0, 0, 0.2), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    p.add(sc.sim.Contact())
    first, second = p.advance_to(0.1), p.advance_to(0.3)
    assert not first.contacts.touches("ball").any()
    touched = second.contacts.touches("ball", "inertial")
    assert abs(second.t[np.argmax(touched)] - np.sqrt(2 * 0.1 / G)) < 0.02
    assert touched[-1]
    assert len(second.contacts.force("ball")) == len(second)
    smooth = sc.sim.Propagator(mb).advance_to(0.01)
    assert smooth.contacts is None


MODEL = """<mujoco><option gravity="0 0 -9.81" timestep="0.0002" integrator="RK4" cone="elliptic"/><worldbody>
<geom name="floor" type="plane" size="5 5 1" solref="{0}" friction="0.3 0.01 0.002"/>
<body name="ball" pos="0 0 0.5"><freejoint/>
<geom name="skin" type="sphere" size="0.1" mass="1" solref="{0}" friction="0.3 0.01 0.002" condim="{1}"/></body>
</worldbody></mujoco>"""


def loaded(tmp_path, *numbers, more=""):
    file = tmp_path / "m.xml"
    file.write_text(MODEL.format(*numbers).replace("</mujoco>", f"{more}</mujoco>"))
    return sc.load(file), mujoco.MjModel.from_xml_path(str(file))


@pytest.mark.parametrize("solref", ["-10000 -30", "0.01 0.5", "-10000 -300"])
def test_solref_is_restitution(tmp_path, solref):
    """A ball dropped from 0.4 m rebounds as fast as MuJoCo's, whose contact is soft, to a hundredth of the fall."""
    mb, model = loaded(tmp_path, solref, 3)
    data, theirs = mujoco.MjData(model), []
    while data.time < 0.35:
        mujoco.mj_step(model, data)
        theirs.append(data.qvel[2])
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
    p.add(sc.sim.Contact())
    ours = p.advance_to(0.35).v[:, 5]
    rebounds = [v[int(np.argmin(v)) :].max() / -v.min() for v in (np.array(theirs), ours)]
    assert rebounds[1] == pytest.approx(rebounds[0], abs=0.01)
    assert rebounds[1] == pytest.approx(restitution_of(solref, "x"), abs=0.005)


def test_what_mjcf_says_is_told(tmp_path):
    """condim and friction as MuJoCo has them in its contacts; the report has a line for each setting."""
    more = '<contact><exclude body1="ball" body2="cart"/></contact>'
    mb, model = loaded(tmp_path, "0.02 0.5", 6)
    data = mujoco.MjData(model)
    data.qpos[2] = 0.0999
    mujoco.mj_forward(model, data)
    (theirs,) = data.contact
    coefficients, e = Surfaces(sc.contact.Scene(mb)).of("ball/skin", "inertial/floor")
    assert len(coefficients) + 1 == theirs.dim
    np.testing.assert_allclose(coefficients, theirs.friction)
    assert e == pytest.approx(np.exp(-np.pi * (2 / 3) / np.sqrt(3)))  # z = 1/2: atan2 is 60 degrees
    touch = sc.sim.Contact()
    sc.sim.Propagator(mb, integrator="moreau", step=0.001).add(touch)
    text = str(touch.report())
    for line in (
        "condim 3: sliding (1 shape)",
        "condim 6: sliding, spinning and rolling (1 shape)",
        "solref (0.02, 0.5): restitution 0.2984 (2 shapes)",
    ):
        assert line in text
    assert "solimp" not in text  # as MuJoCo has it by default
    soft = MODEL.format("0.02 1", 3).replace('condim="3"', 'solimp="0.5 0.9 0.01" margin="0.01" solmix="2"')
    cart = '<body name="cart" pos="3 0 1"><freejoint/><geom size="0.1"/></body></worldbody>'
    (tmp_path / "n.xml").write_text(soft.replace("</worldbody>", cart).replace("</mujoco>", more + "</mujoco>"))
    touch = sc.sim.Contact()
    sc.sim.Propagator(sc.load(tmp_path / "n.xml"), integrator="moreau", step=0.001).add(touch)
    text = str(touch.report())
    for line in (
        "solimp (0.5, 0.9, 0.01, 0.5, 2.0): not simulated, contact is rigid (1 shape)",
        "solmix 2.0: not used, the larger restitution counts (1 shape)",
        "margin 0.01: contact begins at this distance (1 shape)",
        "exclude 'ball' - 'cart': do not touch",
    ):
        assert line in text


@pytest.mark.parametrize(("solref", "text"), [((0.02, -1), "time constant, damping ratio"), ("a b", "two numbers")])
def test_solref_that_means_nothing_is_refused(solref, text):
    with pytest.raises(sc.errors.ModelError, match=f"solref of shape 'x' is .*{text}"):
        restitution_of(solref, "shape 'x'")


def test_every_run_keeps_its_own_contacts():
    """`Contact.steps` are those of the last run, so that a long life of short runs does not fill the memory."""
    mb = ground()
    box(mb, "low", mass=3.0)
    mb.set_state(free(0, 0, 0.1), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    touch = sc.sim.Contact()
    p.add(touch)
    runs = [p.advance_to(0.05 * (i + 1)) for i in range(4)]
    assert [round(x.t, 2) for x in touch.steps] == [0.16, 0.17, 0.18, 0.19, 0.2]
    for i, x in enumerate(runs):
        np.testing.assert_allclose([y.t for y in x.contacts], 0.05 * i + 0.01 * np.arange(1, 6))
        np.testing.assert_allclose(x.contacts.force("low")[1:], [[0, 0, 3.0 * G]] * 5, atol=1e-7)


def test_contacts_are_kept_by_run_and_not_by_steppers():
    """Each run has its own steps; steps of a stepper leave none behind, and a recording has one for each row."""
    mb = ground()
    box(mb, "low", mass=3.0)
    mb.set_state(free(0, 0, 0.1), np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.01)
    touch = sc.sim.Contact()
    p.add(touch)
    first = p.run(0.05)
    second = p.run(0.4)
    assert (len(first.contacts), len(second.contacts), len(touch.steps)) == (5, 35, 35)
    step = p.stepper()
    step(200)
    assert len(step.contacts.pairs) == 4
    assert len(touch.steps) == 35
    recording = step.record(every=0.02)
    step(20)
    step(20)
    assert len(recording.run().contacts) == 20
    assert len(touch.steps) == 35
