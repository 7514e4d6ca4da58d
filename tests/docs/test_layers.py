"""The picture of the layers: drawn from the import contract, nothing left out."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


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


def contract_layers() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [x["layers"] for x in contracts if x["id"] == "layers"]
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
