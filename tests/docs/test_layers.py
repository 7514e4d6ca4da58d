"""The picture of the layers and the walks of the architecture page: of the house as it is."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
#: Where the files that the page names are looked for.
FOLDERS = ("", "src/soacraft", "core", "core/include/soacraft", "docs")


@pytest.fixture(scope="module")
def layers():
    """The extension, as the build of the documentation sees it."""
    folder = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, folder)
    try:
        import layers

        yield layers
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "docs" / "architecture.md").read_text()


def contract_layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [x["layers"] for x in contracts if x["type"] == "layers"]
    return re.findall(r"\w+", " ".join(layers))


def is_there(name: str) -> bool:
    source = ROOT / "src" / "soacraft"
    return (source / name).is_dir() or (source / f"{name}.py").exists()


def drawn(svg: str) -> list[tuple[str, str, float]]:
    """The boxes: name, kind, height above the bottom."""
    parts = list(ElementTree.fromstring(svg))
    rects = [(i, x) for i, x in enumerate(parts) if x.tag == f"{SVG}rect"]
    return [(parts[i + 1].text, x.get("class"), float(x.get("y"))) for i, x in rects]


def test_every_layer_of_the_contract_is_in_the_picture_top_down(layers, tmp_path):
    layers.write(tmp_path / "layers.svg")
    *boxes, core = drawn((tmp_path / "layers.svg").read_text())
    assert [name for name, _, _ in boxes] == contract_layers()
    assert [kind for _, kind, _ in boxes] == ["layer" if is_there(name) else "absent" for name in contract_layers()]
    heights = [y for _, _, y in boxes]
    assert heights == sorted(heights)
    assert core[1] == "core"
    assert core[2] > heights[-1]


def test_a_new_layer_is_drawn_where_the_contract_has_it(layers, tmp_path):
    (tmp_path / "low.py").write_text('"""Numbers < of & all: kinds."""\n')
    (tmp_path / "high").mkdir()
    (tmp_path / "high" / "__init__.py").write_text('"""What is made of the numbers below it: more. And more."""\n')
    svg = layers.picture(layers.Contract([["high"], ["low", "other"]], {"low"}), tmp_path)
    (high, low, other, _) = drawn(svg)
    assert (high[:2], low[:2], other[:2]) == (("high", "layer"), ("low", "layer"), ("other", "absent"))
    assert high[2] < low[2] == other[2]
    texts = [x.text for x in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert "What is made of the numbers below it" in texts
    assert texts.count("_core") == 1
    assert texts.index("_core") == texts.index("low") + 2


def test_the_picture_is_written_once(layers, tmp_path):
    path = tmp_path / "generated" / "layers.svg"
    layers.write(path)
    before = path.stat().st_mtime_ns
    layers.write(path)
    assert path.stat().st_mtime_ns == before


def test_the_page_shows_the_picture_and_has_every_layer_in_its_table(page):
    assert "```{image} generated/layers.svg" in page
    table = page.split("| layer |")[1].split("\n\n")[0]
    first = " ".join(line.split("|")[1] for line in table.splitlines()[1:] if line.startswith("|"))
    assert set(re.findall(r"`(\w+)`", first)) == {name for name in contract_layers() if is_there(name)}


def found(name: str) -> Path | None:
    """A file from the end of its path."""
    near = (ROOT / folder / name for folder in FOLDERS)
    anywhere = (path for folder in ("src", "core", "tests") for path in (ROOT / folder).rglob(Path(name).name))
    return next((x for x in (*near, *anywhere) if x.is_file() and str(x).endswith(f"/{name}")), None)


def test_the_files_that_the_page_names_are_there(page):
    names = set(re.findall(r"`([\w./]+\.(?:py|pyi|hpp|cpp|toml))`", page))
    assert len(names) > 60
    assert sorted(name for name in names if found(name) is None) == []


def test_what_the_walks_name_is_in_the_files_they_name(page):
    """A row of a walk: the file, the names in it, what happens."""
    rows = re.findall(r"^\| `([\w./]+\.\w+)` \| (`[^|]+`) \| ", page, re.MULTILINE)
    assert len(rows) > 50
    for file, names in rows:
        path = found(file)
        assert path is not None, file
        words = set(re.findall(r"\w+", path.read_text()))
        missing = set(re.findall(r"\w+", names)) - words
        assert not missing, (file, missing)
