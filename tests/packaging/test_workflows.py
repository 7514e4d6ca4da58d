"""The workflows for public hosting say what they do, and that they were not run. `./run check` has their linters:

yamllint, check-jsonschema and zizmor.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERBS = set(re.findall(r"^  (\w+) +\S", (ROOT / "run").read_text().split("<<'TEXT'")[1].split("TEXT")[0], re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_marked_as_not_yet_run_and_calls_verbs_that_there_are(path):
    text = path.read_text()
    assert text.startswith("# Not yet run:")
    assert set(re.findall(r"\./run (\w+)", text)) <= VERBS
    for job in yaml.safe_load(text)["jobs"].values():
        assert job["timeout-minutes"] <= 120
        assert job["permissions"] == {"contents": "read"}
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", x) for x in re.findall(r"uses: (.*)", text))


def test_wheels_are_for_every_platform_of_the_page():
    (wheels,) = [path for path in WORKFLOWS if path.stem == "wheels"]
    rows = yaml.safe_load(wheels.read_text())["jobs"]["wheels"]["strategy"]["matrix"]["include"]
    names = {row["name"] for row in rows}
    assert names == {"linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64", "windows-x86_64"}
    page = (ROOT / "docs" / "support.md").read_text()
    platforms = {"linux": "Linux", "macos": "macOS", "windows": "Windows"}
    for name in names:
        system, machine = name.split("-", 1)
        row = next(x for x in page.splitlines() if x.startswith(f"| {platforms[system]}") and machine in x)
        assert "untried" in row or name == "linux-x86_64"


def test_the_gates_have_the_linters():
    step = (ROOT / "run").read_text().split("\nworkflows() {")[1].split("\n}")[0]
    assert {"yamllint", "check-jsonschema", "zizmor"} <= set(re.findall(r"[\w-]+", step))
    assert all(path.name in step or "workflows/*.yml" in step for path in WORKFLOWS)
    forms = {path.stem for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")} - {"config"}
    assert forms == {"bug", "feature"}
