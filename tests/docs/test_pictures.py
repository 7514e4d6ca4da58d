"""The pictures of the README are those that `./run pictures` makes, and small."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
try:
    import gallery
    import pictures
finally:
    sys.path.remove(str(ROOT / "docs"))

#: Examples that take a second or more; their pictures are looked at, not made again.
LONG = {f"{n:02}" for n in (2, 3, 6, 13, 14, 17, 18, 19, 20, 23)}
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("make", pictures.PICTURES, ids=lambda x: x.__name__)
def test_a_picture_is_the_one_that_is_made(make, tmp_path):
    """Pixels may differ by the letters of another Pillow, and by rounding."""
    assert_same(*made_and_kept(make, tmp_path))


@pytest.mark.browser
@pytest.mark.parametrize("make", pictures.BY_BROWSER, ids=lambda x: x.__name__)
def test_a_picture_by_a_browser_has_the_colours_of_the_one_that_is_kept(make, tmp_path):
    """Fonts are those of the machine and move all below them; robot, tree and matrix have their colours everywhere."""
    made, kept = (coloured_areas(x) for x in made_and_kept(make, tmp_path))
    assert (kept > 0.001).sum() >= 6  # blue, yellow, green, cyan, purple, red
    assert np.allclose(made, kept, rtol=0.2, atol=0.0002)


def made_and_kept(make, folder):
    made = make(folder)
    kept = pictures.FOLDER / made.name
    pages = [(ROOT / "README.md").read_text(), *(x.read_text() for x in (ROOT / "docs").glob("*.md"))]
    assert any(f"_static/{made.name}" in page for page in pages)
    assert kept.stat().st_size < 150_000
    return made, kept


def coloured_areas(place):
    """The part of a picture that each of 18 hues has, of what is neither grey nor dark, where letters are."""
    with Image.open(place) as image:
        assert image.size == (1180, 760)
        hue, saturation, value = np.moveaxis(np.asarray(image.convert("HSV")).astype(int), 2, 0)
    strong = (saturation > 60) & (value > 80)
    return np.bincount(hue[strong] * 18 // 256, minlength=18) / hue.size


def assert_same(made, kept):
    with Image.open(made) as new, Image.open(kept) as old:
        assert getattr(new, "n_frames", 1) == getattr(old, "n_frames", 1)
        for frame in range(getattr(new, "n_frames", 1)):
            new.seek(frame)
            old.seek(frame)
            a, b = (np.asarray(x.convert("RGB")).astype(int) for x in (new, old))
            assert a.shape == b.shape
            assert (np.abs(a - b).max(axis=2) > 40).mean() < 0.02
            assert (a < 200).any()


def test_every_example_has_a_picture():
    assert list(gallery.GALLERY) == EXAMPLES
    kept = pictures.FOLDER / "gallery"
    assert sorted(x.name for x in kept.iterdir()) == [x.replace(".py", ".png") for x in EXAMPLES]
    assert sum(x.stat().st_size for x in kept.iterdir()) < 800_000


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_picture_of_the_gallery_shows_something(example):
    """Marks in several colours over a good part of the sheet, and something in each third of it."""
    with Image.open(pictures.FOLDER / "gallery" / example.replace(".py", ".png")) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    marked = (255 - pixels).max(axis=2) > 30
    assert marked.mean() > 0.01
    assert all(part.any() for part in np.array_split(marked, 3, axis=1))
    assert len(np.unique(pixels[marked] // 32, axis=0)) > 4


@pytest.mark.parametrize("example", [x for x in EXAMPLES if x[:2] not in LONG])
def test_a_picture_of_the_gallery_is_the_one_that_is_made(example, tmp_path):
    assert_same(gallery.make(example, tmp_path), pictures.FOLDER / "gallery" / example.replace(".py", ".png"))
