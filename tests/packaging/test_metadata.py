"""What an index, a reviewer and a distributor read: licences, addresses, one version, absolute links."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
import yaml

import soacraft as sc

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
NOTICE = (ROOT / "NOTICE").read_text()
#: A reserved domain: it stands for the addresses that the project does not have yet.
PLACEHOLDER = "example.org"


def placeholders(text: str) -> bool:
    """True if each line with the reserved domain is in a text that says what it is."""
    return PLACEHOLDER not in text or "placeholder" in text.lower()


def test_models_of_the_library_are_in_the_notice_with_their_licence():
    rows = dict(re.findall(r"^  (\w+) +([\w.-]+) +\S", NOTICE.split("Models of the library")[1], re.MULTILINE))
    assert rows == {name: facts.licence for name, facts in sc.files.library.index().items()}


def test_licences_of_compiled_headers_are_those_of_the_packages():
    installed = distribution("nanobind")
    (text,) = [x.read_text() for x in installed.files or () if x.name == "LICENSE"]
    assert (ROOT / "licences" / "nanobind.txt").read_text() == text
    (header,) = [x.read_text() for x in installed.files or () if x.name == "robin_map.h"]
    words = " ".join(header.replace("*", " ").split())
    assert " ".join((ROOT / "licences" / "robin_map.txt").read_text().split()) in words
    files = [x for x in distribution("numpy").files or () if x.name == "LICENSE.txt"]
    numpy = min(files, key=lambda x: len(x.parts)).read_text()
    assert numpy.startswith((ROOT / "licences" / "numpy.txt").read_text().rstrip())


def test_the_expression_names_every_licence():
    licences = {facts.licence for facts in sc.files.library.index().values()}
    compiled = set(re.findall(r"^  [\w-]+(?:, headers)? +([\w.-]+) +licences/", NOTICE, re.MULTILINE))
    assert compiled == {"BSD-3-Clause", "MIT"}
    assert PROJECT["license"] == " AND ".join(sorted({"Apache-2.0", *licences, *compiled}))


def test_every_licence_file_is_distributed():
    files = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    texts = {*(ROOT / "licences").iterdir(), *(ROOT / "src/soacraft/files/library/licences").iterdir()}
    assert {ROOT / "LICENSE", ROOT / "NOTICE"} | texts == files
    assert all(re.search(rf"licences/{path.name}", NOTICE) for path in (ROOT / "licences").iterdir())


def test_the_version_stands_in_one_place():
    assert sc.__version__ == PROJECT["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == PROJECT["version"]
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
    number = re.compile(rf"(?<![\d.]){re.escape(PROJECT['version'])}(?![\d.])")
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "core").rglob("*.?pp"), *ROOT.glob("*/CMakeLists.txt")]
    assert [str(path) for path in code if number.search(path.read_text())] == []


def test_links_of_the_readme_are_absolute_on_an_index():
    hook = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = (ROOT / "README.md").read_text()
    relative = re.compile(r"\]\((?!https?:|#)[^)]*\)")
    assert relative.search(text)
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert relative.findall(text) == []
    assert f"](https://{PLACEHOLDER}/soacraft/source/raw/main/docs/_static/robot_and_structure.png)" in text
    assert f"](https://{PLACEHOLDER}/soacraft/source/blob/main/docs/install.md)" in text


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "paper/paper.md", "docs/support.md"]
)
def test_placeholders_are_marked(name):
    assert placeholders((ROOT / name).read_text())
    assert not placeholders(f"https://{PLACEHOLDER}/x")


def test_python_versions_agree():
    minor = [int(x) for x in re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["classifiers"]))]
    assert minor == list(range(minor[0], minor[-1] + 1))
    assert PROJECT["requires-python"] == f">=3.{minor[0]}"
    assert PYPROJECT["tool"]["cibuildwheel"]["build"].split() == [f"cp3{x}-*" for x in minor]
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    assert tests["jobs"]["tests"]["strategy"]["matrix"]["python"] == [f"3.{x}" for x in minor]


def test_nothing_that_pages_and_tests_read_is_left_out_of_the_source_distribution():
    excluded = PYPROJECT["tool"]["scikit-build"]["sdist"]["exclude"]
    assert excluded == [".ci", "docs/_build"]
    assert json.loads((ROOT / "benchmarks/results/peers.json").read_text())


def test_the_paper_cites_what_its_bibliography_has():
    text = (ROOT / "paper" / "paper.md").read_text()
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(), re.MULTILINE))
    assert set(re.findall(r"@(\w+)", text)) == entries
    assert 250 < len(text.split()) < 1000
    assert {"# Summary", "# Statement of need", "# References"} <= set(re.findall(r"^# .*$", text, re.MULTILINE))
