"""The benchmarks run, on tiny models; no times are asserted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.limits import run_limited

ROOT = Path(__file__).parents[2]


def bench(*arguments):
    return run_limited([sys.executable, "benchmarks/run.py", *arguments], seconds=120, cwd=ROOT)


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """All benchmarks on tiny models: the folder of the results, and what was printed."""
    folder = tmp_path_factory.mktemp("results")
    done = bench("--quick", "--results", str(folder))
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.parametrize(
    "name", ["growth", "peers", "analysis", "loops", "loading", "road", "sim", "systems", "contact", "robot", "view"]
)
def test_a_quick_run_writes_its_results(quick, name):
    folder, printed = quick
    result, page = json.loads((folder / f"{name}.json").read_text()), (folder / f"{name}.md").read_text()
    for fact in ("command", "date", "processor", "cores", "instruction set"):
        assert result["facts"][fact]
        assert f"- {fact}: " in page
    assert page.strip() in printed


def test_growth_has_every_series(quick):
    result = json.loads((quick[0] / "growth.json").read_text())
    assert {series["state"] for series in result["series"]} == {"repeated", "new state"}
    assert all(len(series["times"]) == len(result["sizes"]) for series in result["series"])
    assert all(row["difference"] < 1e-10 for row in result["peer"])


def test_steps_in_time_are_those_of_mujoco(quick):
    result = json.loads((quick[0] / "sim.json").read_text())
    rows = result["rows"]
    assert all(x["error"] < 1e-9 for x in result["double pendulum"]["rows"])
    assert [x["by"] for x in result["cassie"]["rows"]] == ["TA", "CE", "Pinocchio"]
    assert all(x["opening"] < 1e-7 and x["difference"] < 1e-7 for x in result["cassie"]["rows"])
    assert all(max(x["errors"]) < 0.01 for x in result["energy"]["rows"])
    assert [(x["model"], x["states"]) for x in rows] == [(m, n) for m in ("7-dof arm", "humanoid") for n in (1, 8)]
    assert all(x["difference"] < 1e-12 and x["us"]["soacraft"] > 0 for x in rows)


def test_frames_of_live_scenes_are_timed(quick):
    rows = json.loads((quick[0] / "view.json").read_text())["rows"]
    assert [x["model"] for x in rows] == ["h1", "five_bar", "chain of 10"]
    assert all(0.0 < x["frame"] < x["inertias"] for x in rows)
    assert 0 < rows[0]["page"] < 3_000_000


def test_loading_measures_both_readers_and_the_imports(quick):
    result = json.loads((quick[0] / "loading.json").read_text())
    assert result["bodies"] == 30
    assert {"soacraft", "Pinocchio"} <= set(result["loading"])
    assert all(t > 0 for t in result["loading"].values())
    assert all(0 <= t < 60 for t in result["imports"].values())


def test_peers_have_every_row_on_every_model(quick, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from peers import ROWS, summary

    result = json.loads((quick[0] / "peers.json").read_text())
    page = (quick[0] / "peers.md").read_text()
    assert [found["model"] for found in result["models"]] == ["7-dof arm", "humanoid", "chain 3", "tree 3"]
    for found in result["models"]:
        assert not found["notes"]
        assert [row["name"] for row in found["rows"]] == [row.name for row in ROWS]
        assert all(row[key] > 0 for row in found["rows"] for key in ("reused", "new", "Pinocchio"))
        assert all(row["difference"] < 1e-10 for row in found["rows"])
        assert "MuJoCo" in found["rows"][0]
    assert f"Kernels in use: {result['instruction set']}" in page
    assert "## Chain of 3: 3 bodies, 3 dofs" in page
    assert set(result["overhead"]) == {"model", "kernel", "reused", "new"}
    figures = summary(result, result["facts"])
    assert all(f"| {row.name} |" in figures for row in ROWS)


def test_analysis_has_every_figure(quick):
    result, page = json.loads((quick[0] / "analysis.json").read_text()), (quick[0] / "analysis.md").read_text()
    assert result["gradient"]["states"] == 2 * result["gradient"]["dofs"] == 70
    assert all(len(times) == len(result["log det"]["sizes"]) for times in result["log det"]["times"].values())
    times = [
        *result["log det"]["times"].values(),
        result["gradient"]["times"].values(),
        result["diff"]["times"].values(),
    ]
    assert all(t > 0 for some in times for t in some)
    for figure in ("| times faster |", "Kernels at ", "| `H*phi*M*phi.T*H.T` |", "| growth |"):
        assert figure in page


def test_loops_have_every_solver_on_every_model(quick):
    result, page = json.loads((quick[0] / "loops.json").read_text()), (quick[0] / "loops.md").read_text()
    models = {kind: [entry["model"] for entry in found] for kind, found in result["families"].items()}
    assert models["row, pins"] == ["row 1, pins", "row 2, pins", "row 3, pins"]
    assert models["single"] == ["cassie", "Stewart platform"]
    for kind, found in result["families"].items():
        keys = ("CE", "TA", "FA") if kind == "row, pins" else ("CE", "TA", "FA", "Pinocchio", "lcaba")
        assert all(entry[key] > 0 for entry in found for key in keys)
        assert all(entry["difference"][key] < 1e-8 for entry in found for key in keys if key != "lcaba")
    assert [(entry["model"], entry["states"]) for entry in result["batches"]] == [("row 1", 8), ("cassie", 8)]
    for figure in ("the fastest is CE on", "`constraintDynamics` | over the best |", "| growth |"):
        assert figure in page


def test_road_has_every_kernel(quick):
    result, page = json.loads((quick[0] / "road.json").read_text()), (quick[0] / "road.md").read_text()
    for name in ("forward_dynamics", "node_motion", "mixed_dynamics", "integrate", "fixman_force"):
        assert f"| `{name}` |" in page
    assert set(result["before"]) <= set(result["rows"])
    assert all(t > 0 for row in result["rows"].values() for t in row.values())
    assert all("function" in row for row in result["rows"].values())
    of_no_kernel = (" * X", "unchanged", "Omega", "batch", "chain", "set_state", ".diff")
    assert all("kernel" in row or any(w in name for w in of_no_kernel) for name, row in result["rows"].items())


def test_results_that_differ_are_not_timed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from side_by_side import require

    assert require(1e-9, "poses of humanoid") == 1e-9
    with pytest.raises(ArithmeticError, match=r"poses of humanoid: results differ by 2\.0e-08, more than 1e-08"):
        require(2e-8, "poses of humanoid")
    with pytest.raises(ArithmeticError, match="nothing was timed"):
        require(float("nan"), "poses of humanoid")


def test_a_peer_without_room_is_left_out(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import side_by_side

    monkeypatch.setattr(side_by_side, "available_memory", lambda: 1e3)
    found = side_by_side.measure("chain 3", quick=True)
    assert found["notes"][0] == "Pinocchio is left out: its Data for 3 dofs takes 0 GB; 0 GB are free."
    assert not any("Pinocchio" in row for row in found["rows"])


def test_figures_go_between_their_own_marks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from run import FIGURES, HEADLINES, with_figures

    assert set(FIGURES) == {"growth", "peers", "flexible", "robot", "loops", "sim"}
    assert set(HEADLINES) == {"peers"}
    for name, place in [*FIGURES.items(), *HEADLINES.items()]:
        page = place.read_text()
        changed = with_figures(page, name, "figures")
        assert f"<!-- {name}: written by ./run bench {name} -->\n\nfigures\n\n<!-- end -->" in changed
        other = page.split(f"<!-- {name}:")[0]
        assert changed.startswith(other)
        assert changed.count("<!-- end -->") == page.count("<!-- end -->")


def test_list_and_unknown_names():
    assert bench("list").stdout.startswith("growth ")
    done = bench("speed")
    assert done.returncode == 2
    assert "there is no benchmark 'speed'; there are: growth, peers, analysis, loops" in done.stderr


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_growth_is_the_exponent(exponent, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from measure import growth

    sizes = [100, 300, 1000, 10_000]
    assert growth(sizes, [7.0 * n**exponent for n in sizes]) == pytest.approx(exponent)


def test_times_are_those_of_the_clock_given(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from measure import shortest

    now = [0.0]

    def loop(n):
        now[0] += 3e-6 * n

    assert shortest({"work": loop}, 2, clock=lambda: now[0]) == {"work": pytest.approx(3.0)}


def test_the_kept_result_is_linear_and_says_where_it_was_measured():
    """`benchmarks/results/growth.json` is what the documentation shows."""
    kept = json.loads((ROOT / "benchmarks" / "results" / "growth.json").read_text())
    assert kept["facts"]["command"] == "./run bench growth"
    assert kept["sizes"][0] == 100
    assert kept["sizes"][-1] == 10_000
    page = (ROOT / "benchmarks" / "results" / "growth.md").read_text()
    assert "NOT linear" not in page
    assert f"- date: {kept['facts']['date']}" in page


def test_limbs_are_solved_one_by_one_and_in_a_batch(quick):
    rows = json.loads((quick[0] / "robot.json").read_text())["inverse kinematics of limbs"]["rows"]
    assert [x["limb"] for x in rows] == ["panda", "iiwa14", "ur5e", "h1, left arm", "h1, right arm"]
    assert all(x["found"] == x["batch_found"] == 1.0 for x in rows)


def test_every_part_of_the_robot_layer_is_measured(quick):
    result = json.loads((quick[0] / "robot.json").read_text())
    page = (quick[0] / "robot.md").read_text()
    for name in set(result) - {"facts"}:
        assert f"## {name[0].upper()}{name[1:]}" in page
