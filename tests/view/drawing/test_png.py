"""PNG files of ours, read by Pillow."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from soacraft.view.drawing.png import png


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 48)])
def test_another_reader_finds_the_same_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    with Image.open(BytesIO(png(pixels))) as image:
        assert np.array_equal(np.asarray(image), pixels)
