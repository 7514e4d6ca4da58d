"""The pictures of the README are those that `./run pictures` makes, and small."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)


BY_BROWSER = [pytest.param(x, marks=pytest.mark.browser) for x in pictures.BY_BROWSER]


@pytest.mark.parametrize("make", [*pictures.PICTURES, *BY_BROWSER], ids=lambda x: x.__name__)
def test_a_picture_is_the_one_that_is_made(make, tmp_path):
    """Pixels may differ by the letters of another Pillow, and by rounding."""
    made = make(tmp_path)
    kept = pictures.FOLDER / made.name
    pages = [(ROOT / "README.md").read_text(), *(x.read_text() for x in (ROOT / "docs").glob("*.md"))]
    assert any(f"_static/{made.name}" in page for page in pages)
    assert kept.stat().st_size < 150_000
    with Image.open(made) as new, Image.open(kept) as old:
        assert getattr(new, "n_frames", 1) == getattr(old, "n_frames", 1)
        for frame in range(getattr(new, "n_frames", 1)):
            new.seek(frame)
            old.seek(frame)
            a, b = (np.asarray(x.convert("RGB")).astype(int) for x in (new, old))
            assert a.shape == b.shape
            assert (np.abs(a - b).max(axis=2) > 40).mean() < 0.02
            assert (a < 200).any()
