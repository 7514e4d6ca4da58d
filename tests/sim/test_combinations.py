"""Every model with every feature in every kind of run: as docs/combinations.md says, and right.

A run in Python is the reference, and has a reference of its own: another integrator with a feature put in other words
(a filter in closed form, an event as a time), and rigid trees of the same motion.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.sim.combinations import (
    END,
    EVERY,
    FEATURES,
    MODELS,
    PUSHES,
    TWINS,
    added,
    how,
    propagator,
    system,
)

from soacraft import sim
from soacraft.errors import SoacraftError
from soacraft.sim.runs.block import Block
from soacraft.sim.stride import Stride, Walked

PAGE = Path(__file__).parents[2] / "docs" / "combinations.md"
#: Sums are in another order in compiled code.
ROUNDING = 1e-11
#: Of 20 steps of "rk4", and of a limit that bounces.
TRUNCATION = 3e-6
PAIRS = [(model, feature) for model in MODELS for feature in FEATURES]


def in_python(monkeypatch):
    monkeypatch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))


def engine(run):
    blocks = [isinstance(x, Block) for _, x in run._dense]
    if run.events and any(blocks) and not all(blocks):
        return "compiled between events"
    return "compiled" if all(blocks) else "in Python"


def end_of(mb):
    return np.concatenate([mb.q, mb.v])


# -- kinds of runs -------------------------------------------------------------------------------------------------


def one_run(model, feature, push=PUSHES[0]):
    """The end of a run, and which engine took its steps."""
    to_propagator = FEATURES[feature].to_propagator
    if to_propagator is None:
        s = system(model, feature, push)
        run = s.run(END)
        return [end_of(s.plants["body"].mb)], engine(run)
    p = propagator(model, feature, push)
    to_propagator(p)
    run = p.run(END)
    return [end_of(p.mb)], engine(run)


def stepper(model, feature, states=None):
    """A stepper, of one state or of several."""
    to_propagator, drives = FEATURES[feature].to_propagator, FEATURES[feature].drives
    if to_propagator is None:
        return None
    p = propagator(model, feature, PUSHES[0])
    to_propagator(p)
    step = p.stepper(["first"] if drives else [], states=states)
    if drives and states is not None:
        step.u[:, 0] = PUSHES
    step(round(END / how(feature)["step"]))
    ends = np.concatenate([step.q, step.v], axis=-1)
    report = str(step.report())
    between = "compiled between events" if "those of runs, compiled between events" in report else "in Python"
    word = "compiled" if "steps: compiled" in report else between
    word = f"one by one, {word}" if states is not None and word != "compiled" else word
    return (ends[None] if states is None else ends if drives else ends[:1]), word


def campaign(model, feature, folder):
    """Runs of a campaign."""
    mb = MODELS[model]()
    numbers = [f"{x}[{i}]" for x, n in (("q", mb.nq), ("v", mb.nv)) for i in range(n)]
    measures = {f"end{i}": f"body.{x}[-1]" for i, x in enumerate(numbers)}
    c = sim.Campaign(lambda: system(model, feature, PUSHES[0]), folder=folder / "runs", runs=2, t=END,
                     vary={"push.value": sim.Grid(PUSHES)}, measure=measures)  # fmt: skip
    c.run()
    table = c.table()
    assert tuple(table["push.value"]) == PUSHES
    ends = np.stack([table[x] for x in measures], axis=1)
    alone = any(row.how != "batch" for row in c._rows().values())
    return ends, f"one by one, {engine(c.rerun(0))}" if alone else "side by side"


def engine_of_environment(e):
    """The engine of the last period of an environment: that of its system's run, or of the stepper it stands on."""
    if hasattr(e, "system"):
        return engine(e.system._propagator.last_run)
    return "compiled" if "compiled" in e.report() else "in Python"


def engine_of_periods(words):
    """The engine of all periods, by those of each."""
    return next(x for x in ("in Python", "compiled between events", "compiled") if x in words)


def environment(model, feature, num_envs=None):
    """Environments whose actions are the forces on the first dof."""
    made = system(model, feature)
    act = {"drive.command": (-5.0, 5.0)}
    e = sim.gym(made, ["body.q", "body.v"], act, lambda seen, u: 0.0, every=EVERY, num_envs=num_envs)
    e.reset(seed=1)
    actions = np.array(PUSHES[:1] if num_envs is None else PUSHES)
    one, words = e if num_envs is None else e.envs[0].unwrapped if hasattr(e, "envs") else None, []
    for _ in range(round(END / EVERY)):
        seen = e.step(actions if num_envs is None else actions[:, None])[0]
        words += [] if one is None else [engine_of_environment(one)]
    if num_envs is None:
        return [seen], engine_of_periods(words)
    return seen, "side by side" if one is None else f"one by one, {engine_of_periods(words)}"


KINDS = {
    "one run": lambda model, feature, folder: one_run(model, feature),
    "stepper": lambda model, feature, folder: stepper(model, feature),
    "stepper of states": lambda model, feature, folder: stepper(model, feature, 2),
    "campaign": campaign,
    "environment": lambda model, feature, folder: environment(model, feature),
    "num_envs": lambda model, feature, folder: environment(model, feature, 2),
}


# -- the page ------------------------------------------------------------------------------------------------------


def tables():
    """The cells of the page: {(model, feature, kind): words}."""
    cells, model, kinds = {}, "", []
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            model = line[3:].strip().lower()
        columns = [x.strip() for x in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if columns and not columns[0]:
            kinds = columns[1:]
        elif model in MODELS and columns and columns[0] in FEATURES:
            cells |= {(model, columns[0], kind): words for kind, words in zip(kinds, columns[1:], strict=True)}
    return cells


CELLS = tables()


def test_the_page_has_every_combination():
    assert list(CELLS) == [(model, feature, kind) for model, feature in PAIRS for kind in KINDS]


def test_few_combinations_are_refused():
    """Of all kinds of runs at most 8: no run, no contact of a closed chain; steppers alone, of what campaigns take."""
    refused = [key for key, words in CELLS.items() if words.startswith("refused")]
    assert len(refused) <= 8
    assert {kind for _, _, kind in refused} <= {"stepper", "stepper of states"}
    assert not [x for x in refused if x[:2] == ("closed chain", "contact")]


# -- what the cells say --------------------------------------------------------------------------------------------

_REFERENCES = {}


@pytest.fixture
def reference(monkeypatch):
    """The ends of runs in Python, by model, feature and push."""

    def ends(model, feature, push):
        key = model, feature, push
        if key not in _REFERENCES:
            with monkeypatch.context() as patch:
                in_python(patch)
                (_REFERENCES[key],), word = one_run(*key)
            assert word == "in Python"
        return _REFERENCES[key]

    return ends


@pytest.mark.parametrize(("model", "feature", "kind"), CELLS)
def test_a_cell(model, feature, kind, reference, tmp_path):
    """Each of its states ends where the run in Python does; or it is refused with the words of the page."""
    words = CELLS[model, feature, kind]
    if words.startswith("refused: "):
        with pytest.raises(SoacraftError) as error:
            KINDS[kind](model, feature, tmp_path)
        assert words.removeprefix("refused: ") in str(error.value)
        return
    done = KINDS[kind](model, feature, tmp_path)
    if done is None:
        assert words == "–"
        return
    ends, by = done
    assert words == by
    for end, push in zip(ends, PUSHES, strict=False):
        wanted = reference(model, feature, push)
        np.testing.assert_allclose(end, wanted, rtol=0, atol=ROUNDING * np.abs(wanted).max())


@pytest.mark.parametrize(("model", "feature"), PAIRS)
def test_a_feature_changes_the_motion(model, feature, reference):
    """By more than any difference that other tests allow: a contact touches, a stop is struck, an event happens."""
    plain = propagator(model, feature, PUSHES[0], integrator="rk4", step=0.0025)
    plain.run(END)
    assert np.abs(reference(model, feature, PUSHES[0]) - end_of(plain.mb)).max() > 1e-3


@pytest.mark.parametrize(("model", "feature"), [x for x in PAIRS if not FEATURES[x[1]].touches])
def test_the_reference_has_one_of_its_own(model, feature, reference, monkeypatch):
    """An adaptive method of order 8, and the feature in other words."""
    in_python(monkeypatch)
    for push in PUSHES:
        p = propagator(model, feature, push, integrator="dop853", rtol=1e-10)
        FEATURES[feature].to_reference(p)
        p.run(END)
        np.testing.assert_allclose(reference(model, feature, push), end_of(p.mb), rtol=0, atol=TRUNCATION)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("model", TWINS)
def test_rigid_trees_of_the_same_motion_agree(model, feature, monkeypatch):
    """Of a parallelogram a pendulum, of a rod with a mode along it two bodies with a spring. Contact is without
    friction and restitution: the ball on the coupler does not turn as that on the pendulum does, so that the point
    that strikes has another velocity."""
    twin, same = TWINS[model]
    monkeypatch.setitem(FEATURES, "contact", added(lambda: sim.Contact(friction=0.0)))
    (end,), _ = one_run(model, feature)
    monkeypatch.setitem(MODELS, model, twin)
    (wanted,), _ = one_run(model, feature)
    nv = len(wanted) // 2
    parts = np.concatenate([end[:same], end[len(end) // 2 :][:same]])
    np.testing.assert_allclose(parts, wanted, rtol=0, atol=1e-9)
    assert same == nv


# -- several features at once --------------------------------------------------------------------------------------

#: Contact first, which wants its method. Nothing is left to move where the first dof of a closed chain is prescribed.
TOGETHER = [
    (model, features)
    for model in MODELS
    for features in (
        ("contact", "prescribed"),
        ("contact", "Python control", "events"),
        ("contact", "stops", "friction"),
        ("contact", "friction", "components"),
        ("friction", "stops", "components", "events"),
        ("prescribed", "friction", "components"),
        ("prescribed", "events", "Python control"),
    )
    if not (model == "closed chain" and features == ("contact", "prescribed"))
]


def together(model, features, *pauses):
    """The end of a run of a propagator."""
    p = propagator(model, features[0], PUSHES[0])
    for x in features:
        made = FEATURES[x]
        (made.to_reference if x in ("components", "Python control") else made.to_propagator)(p)
    for t in (*pauses, END):
        run = p.run(t)
    return end_of(p.mb), run


@pytest.mark.parametrize(("model", "features"), TOGETHER, ids=[f"{x}: {', '.join(y)}" for x, y in TOGETHER])
def test_features_together(model, features):
    """As a system, and in parts: with a pause in the middle it has the same bits."""
    end, run = together(model, features)
    np.testing.assert_array_equal(together(model, features, 0.5 * END)[0], end)
    s = system(model, features[0], PUSHES[0], *features[1:])
    other = s.run(END)
    filtered = 1e-6 if "components" in features else 1e-10  # a filter of steps, and in closed form
    np.testing.assert_allclose(end_of(s.plants["body"].mb), end, rtol=0, atol=filtered)
    names = {"stops": "limit of first", "friction": "friction of first", "contact": "contact"}
    for x in set(features) & set(names):
        np.testing.assert_allclose(other.work[names[x]][-1], run.work[names[x]][-1], rtol=0, atol=10 * filtered)
    if model in TWINS and "contact" not in features:
        twin, same = TWINS[model]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(MODELS, model, twin)
            wanted = together(model, features)[0]
        parts = np.concatenate([end[:same], end[len(end) // 2 :][:same]])
        np.testing.assert_allclose(parts, wanted, rtol=0, atol=1e-9)
