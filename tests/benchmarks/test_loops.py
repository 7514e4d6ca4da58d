"""The closed chains of the benchmarks close and move as they say, solvers and Pinocchio agree on them, pages judge."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc

ROOT = Path(__file__).parents[2]
NAMES = ["row 1", "row 3", "row 3, pins", "arm 1", "arm 3", "arm 2, pins", "cassie", "Stewart platform"]


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_closed_and_its_states_are_a_motion(name):
    from closed_models import STEP, build, states

    mb = build(name)
    first, second = states(mb, name, 2)
    for q, v in (first, second):
        mb.set_state(q, v)
        assert sc.loops.report(mb).met
        assert np.max(np.abs(v)) > 0.05
    middle = 0.5 * (first[1] + second[1])
    assert mb.difference(first[0], second[0]) / STEP == pytest.approx(middle, abs=2e-3)


@pytest.mark.parametrize(
    ("name", "loops", "mobility"),
    [("row 3", 3, 1), ("row 3, pins", 3, 1), ("arm 3", 3, 3), ("cassie", 4, 22), ("Stewart platform", 5, 6)],
)
def test_loops_and_mobility(name, loops, mobility):
    from closed_models import build

    mb = build(name)
    assert len(mb.loops) == loops
    assert sc.loops.report(mb).mobility == mobility


@pytest.mark.parametrize(("name", "groups"), [("row 4", 1), ("arm 4", 4)])
def test_the_row_is_one_group_and_the_arm_has_one_for_each_loop(name, groups):
    from closed_models import build

    body = sc.operators(sc.loops.ConstraintEmbedding(build(name))).body
    assert sum(dim > 6 for dim in body.dims) == groups


def test_the_links_of_the_arm_are_turned_by_their_cranks():
    """Hold all cranks but the second: only the second four-bar moves."""
    from closed_models import build

    mb = build("arm 3")
    s = sc.loops.ConstraintEmbedding(mb, independent=["crank0", "crank1", "crank2"])
    v = s.expand(mb.q, [0.0, 1.0, 0.0])
    moving = [name for name, x in zip(mb.dof_names, v, strict=True) if abs(x) > 1e-12]
    assert moving == ["crank1", "coupler1", "link1"]


@pytest.mark.parametrize("name", NAMES)
def test_solvers_and_pinocchio_agree(name):
    from closed_models import build
    from loops import compared, statements

    calls = statements(build(name), name, 2, [])
    apart = compared(name, calls)
    assert set(apart) == {"CE", "TA", "FA"} | (set() if "pins" in name else {"Pinocchio", "lcaba"})
    assert max(gap for key, gap in apart.items() if key != "lcaba") < 1e-9


def test_answers_that_differ_are_not_timed():
    from closed_models import build
    from loops import compared, statements

    calls = statements(build("row 2"), "row 2", 2, [])
    calls["Pinocchio"][1].model.gravity.linear = np.zeros(3)
    with pytest.raises(ArithmeticError, match=r"Pinocchio and TA on row 2: results differ by .* nothing was timed"):
        compared("row 2", calls)


def test_pinocchio_without_room_is_left_out(monkeypatch):
    import loops
    from closed_models import build

    monkeypatch.setattr(loops, "available_memory", lambda: 1e3)
    notes: list[str] = []
    assert set(loops.statements(build("row 2"), "row 2", 2, notes)) == {"CE", "TA", "FA"}
    assert notes == ["Pinocchio is left out: its Data takes 0 GB; 0 GB are free."]


def test_batches_are_timed_on_all_threads(monkeypatch):
    """A batch may be spread over threads, which the clock of the calling thread does not see."""
    import loops

    clocks = []

    def shortest(jobs, *arguments, clock):
        clocks.append(clock)
        return dict.fromkeys(jobs, 6.0)

    monkeypatch.setattr(loops, "shortest", shortest)
    found = loops.batches(3, quick=True)
    assert clocks == [time.process_time]
    assert all(entry[key] == 2.0 for entry in found for key in ("CE", "TA", "FA", "Pinocchio"))


def entries(kind, sizes, **powers):
    """Times that grow as powers of the number of loops."""
    return [
        {"model": f"{kind} {n}", "loops": n, "dofs": n, "notes": [], "difference": {"CE": 0.0, "TA": 0.0}}
        | {key: 2.0 * n**p for key, p in powers.items()}
        for n in sizes
    ]


def test_pages_show_growth_and_ratios():
    from loops_page import exponent, text

    row = entries("row", (1, 10, 40, 200), CE=2.0, TA=1.1, FA=1.0, Pinocchio=1.5)
    arm = entries("arm", (1, 10, 40), CE=1.3, TA=2.0, FA=1.9, Pinocchio=2.0)
    assert exponent(row, "TA") == pytest.approx(1.1)
    assert exponent(row[:2], "CE") == pytest.approx(2.0)
    batch = [{"model": "row 1", "states": 8, "CE": 1.0, "TA": 2.0, "FA": 3.0, "Pinocchio": 4.0}]
    families = {"row": row, "row, pins": row, "arm": arm, "single": row[:1]}
    page = text({"families": families, "batches": batch})
    assert "Of 12 models, the fastest is CE on 6, TA on 0, FA on 6" in page
    assert "| growth |  | 1.30 | 2.00 | 1.90 |" in page
    assert f"| 40 | 40 | {2 * 40**2:,} | {2 * 40**1.1:,.0f} | {2 * 40:.1f} |" in page
    assert f"| {2 * 40**1.5:,.0f} | {40**0.5:.2f} |" in page
    assert "| Four-bar | 8 | 1.00 | 2.00 | 3.00 | 4.00 | 4.00, CE |" in page
