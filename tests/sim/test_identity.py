"""Identity by code: every door that compares what is given again with what was there sees an edited function.

`DOORS` lists them all: each begins with a function of one value of a global, and goes on with another one.
"""

from __future__ import annotations

import types

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.cli import main
from soacraft.errors import CampaignError, CheckpointError, SystemFileError
from soacraft.sim.identity import difference

PROGRAM = '''
import numpy as np
import soacraft as sc
from soacraft import sim
GAIN = {gain}

def scaled(x):
    return GAIN * x

def push(t, state):
    return np.full(state.graph.nv, scaled(1.0))

def end(run):
    return scaled(float(run.q[-1, 0]))

class Push:
    name = "push"
    def bind(self, mb): self.nv = mb.nv
    def force(self, t, state): return np.full(self.nv, scaled(1.0))

class Lamp(sim.Component):
    @sim.output()
    def y(p, t): return scaled(t)

def moved(t):
    return sc.Pose(translation=(scaled(t), 0.0, 0.0))

def spring(t):
    return (scaled(0.0), 0.0, 0.0)

def plain():
    s = sim.System("swing", integrator="rk4", step=0.1)
    s.add("bob", sim.Plant(sc.load("pendulum")))
    return s

def pushed():
    s = sim.System("swing", integrator="rk4", step=0.1)
    s.add("bob", sim.Plant(sc.load("pendulum"), forces=[Push()]))
    return s

def lit():
    s = plain()
    s.add("lamp", Lamp())
    return s

def framed():
    s = plain()
    s.add_frame("belt", pose=moved)
    return s

def scaled_start():
    s = plain()
    s._plants["bob"].mb.q = [0.0 * scaled(1.0)]
    return s
'''


def program(gain, edited=False):
    """A user's program, as a module; edited, its code is another one and its names are the same."""
    made = types.ModuleType("swing_study")
    text = PROGRAM.format(gain=gain)
    exec(compile(text.replace("GAIN * x", "x * GAIN") if edited else text, "swing_study.py", "exec"), made.__dict__)
    return made


def propagator(**given):
    p = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1)
    for name, arguments in given.items():
        getattr(p, name)(*arguments)
    return p


def held_by(law):
    p = propagator()
    p.control(lambda t, s: [law(t)], every=0.1)
    return p


def of_propagator(give):
    def begin(m, folder):
        p = give(m)
        p.advance_to(0.2)
        p.checkpoint(folder / "a.h5")

    def resume(m, folder, accept):
        p = give(m)
        p.restore(folder / "a.h5", accept_changes=accept)
        return p.t

    return begin, resume, CheckpointError, "p.restore(path, accept_changes=True)"


def of_system(make, **again):
    def begin(m, folder):
        s = getattr(m, make)()
        s.run(0.2)
        s.checkpoint(folder / "a.h5")

    def resume(m, folder, accept):
        given = {name: f(m) for name, f in again.items()}
        return sim.restore(folder / "a.h5", accept_changes=accept, **given).t

    return begin, resume, CheckpointError, "sim.restore(path, ..., accept_changes=True)"


def of_campaign(make, measure=lambda m: "final(bob.q[0])", opened=False):
    def campaign(m, folder, accept=False):
        given = {"measure": {"end": measure(m)}, "accept_changes": accept}
        if opened:
            if isinstance(given["measure"]["end"], str):
                del given["measure"]
            return sim.Campaign.open(folder / "runs", getattr(m, make), runs=3, **given)
        return sim.Campaign(getattr(m, make), folder / "runs", runs=3, t=0.2,
                            vary={"bob.q[bob]": sim.Uniform(0.1, 0.2)}, **given)  # fmt: skip

    def begin(m, folder):
        sim.Campaign(getattr(m, make), folder / "runs", runs=2, t=0.2, vary={"bob.q[bob]": sim.Uniform(0.1, 0.2)},
                     measure={"end": measure(m)}).run()  # fmt: skip

    def resume(m, folder, accept):
        c = campaign(m, folder, accept)
        c.run()
        return len(c.table().rows)

    return begin, resume, CampaignError, "accept_changes=True"


DOORS = {
    "Propagator.restore, force function": of_propagator(lambda m: propagator(add=[m.push])),
    "Propagator.restore, force element": of_propagator(lambda m: propagator(add=[m.Push()])),
    "Propagator.restore, field of a force element": of_propagator(
        lambda m: propagator(add=[sim.GravityField(lambda t, r, g=m.scaled: (g(1.0), 0.0, 0.0))])
    ),
    "Propagator.restore, control": of_propagator(lambda m: propagator(control=["bob", lambda t, s, g=m.scaled: g(t)])),
    "Propagator.restore, all controls": of_propagator(lambda m: propagator(control=[lambda t, s, g=m.scaled: [g(t)]])),
    "Propagator.restore, numbers that are held": of_propagator(lambda m: held_by(m.scaled)),
    "Propagator.restore, control by a number": of_propagator(lambda m: propagator(control=["bob", m.GAIN])),
    "Propagator.restore, prescribed motion": of_propagator(lambda m: propagator(prescribe=["bob", m.spring])),
    "Propagator.restore, event": of_propagator(
        lambda m: propagator(event=["far", lambda t, s, g=m.scaled: g(s.q[0]) - 9.0])
    ),
    "Propagator.restore, action of an event": of_propagator(
        lambda m: propagator(event=["far", lambda t, s: s.q[0] - 9.0, 0, lambda t, s, g=m.scaled: g(t)])
    ),
    "Propagator.restore, callback": of_propagator(lambda m: propagator(every=[0.1, lambda t, s, g=m.scaled: g(t)])),
    "sim.restore, force element": of_system("pushed", forces=lambda m: {"bob": [m.Push()]}),
    "sim.restore, component": of_system("lit", classes=lambda m: [m.Lamp]),
    "sim.restore, frame": of_system("framed", frames=lambda m: {"belt": m.moved}),
    "sim.Campaign, measure": of_campaign("plain", lambda m: m.end),
    "sim.Campaign, force element": of_campaign("pushed"),
    "sim.Campaign, component": of_campaign("lit"),
    "sim.Campaign, frame": of_campaign("framed"),
    "sim.Campaign, builder": of_campaign("scaled_start"),
    "sim.Campaign.open, measure": of_campaign("plain", lambda m: m.end, opened=True),
    "sim.Campaign.open, builder": of_campaign("scaled_start", opened=True),
}


@pytest.mark.parametrize("how", ["a global", "a function that is called"])
@pytest.mark.parametrize("door", DOORS)
def test_an_edited_function_is_refused_with_the_line_that_goes_on(door, how, tmp_path):
    begin, resume, error, line = DOORS[door]
    edited = program(3.0) if how == "a global" else program(2.0, edited=True)
    begin(program(2.0), tmp_path)
    if door != "Propagator.restore, control by a number" or how == "a global":
        with pytest.raises(error) as wrong:
            resume(edited, tmp_path, False)
        said = str(wrong.value)
        assert line in said
        assert ("was written with other" in said or "computed with other code" in said)
        if error is not CheckpointError or "component" not in door:  # of classes a checkpoint has digests alone
            assert ("was 2.0 and is 3.0" if how == "a global" else "changed") in said
    assert resume(edited, tmp_path, True) in (0.2, 3)
    if error is CheckpointError:
        assert resume(program(2.0), tmp_path, False) == 0.2


def test_what_was_accepted_is_noted_and_what_comes_after_is_not(tmp_path):
    begin, resume, _, _ = DOORS["sim.Campaign, measure"]
    begin(program(2.0), tmp_path)
    resume(program(3.0), tmp_path, True)
    assert resume(program(3.0), tmp_path, False) == 3
    assert resume(program(2.0), tmp_path, False) == 3
    with pytest.raises(CampaignError, match=r"the measure 'end': scaled.GAIN was 2.0 and is 4.0"):
        resume(program(4.0), tmp_path, False)


def test_a_folder_of_before_fingerprints_is_refused_with_the_line(tmp_path):
    import msgspec

    begin, resume, _, _ = DOORS["sim.Campaign, measure"]
    begin(program(2.0), tmp_path)
    place = tmp_path / "runs" / "campaign.json"
    old = msgspec.json.decode(place.read_bytes())
    del old["code"], old["accepted"]
    place.write_bytes(msgspec.json.encode(old))
    with pytest.raises(CampaignError, match="the measure 'end' was not compared then, or not there"):
        resume(program(2.0), tmp_path, False)


def test_reloading_a_system_that_runs_sees_another_force_of_the_same_name(tmp_path):
    s = program(2.0).pushed()
    s.save(tmp_path / "s.toml")
    s.run(0.2)
    assert str(s.reload(tmp_path / "s.toml", forces={"bob": [program(2.0).Push()]})) == "nothing changed"
    with pytest.raises(SystemFileError, match=r"another force 'push': .*GAIN was 2.0 and is 3.0"):
        s.reload(tmp_path / "s.toml", forces={"bob": [program(3.0).Push()]})


def test_the_command_line_has_the_override(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "later_study.py").write_text(PROGRAM.format(gain=3.0))
    begin, _, _, _ = DOORS["sim.Campaign, measure"]
    begin(program(2.0), tmp_path)
    order = ["campaign", "run", "--maker", "later_study:plain", "--measure", "end=later_study:end", "--runs", "3"]
    assert main([*order, "runs"]) != 0
    assert "scaled.GAIN was 2.0 and is 3.0" in capsys.readouterr().err
    assert main([*order, "--accept-changes", "runs"]) == 0


def test_a_force_element_counts_as_it_was_before_it_acted(tmp_path):
    """What `bind` looks up, and what it keeps meanwhile, is no difference."""
    p = propagator(add=[sim.Drag("bob/tip", linear=0.5)])
    p.advance_to(0.2)
    p.checkpoint(tmp_path / "a.h5")
    propagator(add=[sim.Drag("bob/tip", linear=0.5)]).restore(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match="the force 'drag at bob/tip': its code has changed"):
        propagator(add=[sim.Drag("bob/tip", linear=0.6)]).restore(tmp_path / "a.h5")


def test_models_in_closures_count_by_their_parts_and_not_by_their_state(tmp_path):
    def of(armature, q=0.0):
        mb = sc.load("pendulum")
        mb["bob"].armature = armature
        mb.set_state([q], [0.0])
        return propagator(add=[lambda t, state: np.zeros(mb.nv)])

    p = of(1.0)
    p.checkpoint(tmp_path / "a.h5")
    of(1.0, q=0.3).restore(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match="mb has changed"):
        of(2.0).restore(tmp_path / "a.h5")


def test_differences_of_several_things():
    then, now = {"a": {"x": "1"}, "b": {"x": "1"}}, {"a": {"x": "2"}, "c": {}}
    assert difference(then, now) == "a: x was 1 and is 2; b is not there; c was not compared then, or not there"
