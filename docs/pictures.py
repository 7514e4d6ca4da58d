"""Make the pictures of the README, the pages and the gallery: `./run pictures [FOLDER]`, by default docs/_static. That
of the workbench page needs Chromium, and is left as it is without.
"""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import gallery
import numpy as np

import soacraft as sc
from soacraft.view.drawing.png import png

FOLDER = Path(__file__).parent / "_static"


def robot_and_structure(folder: Path) -> Path:
    """A humanoid, and the mass matrix of it: each limb is a block of its own colour in both."""
    mb = sc.load("h1")
    mb.q = {"left_hip_pitch": -0.5, "left_knee": 0.7, "right_hip_pitch": 0.25, "right_knee": 0.2,
            "left_shoulder_pitch": 0.4, "right_shoulder_pitch": -0.5}  # fmt: skip
    H, phi, M = sc.operators(mb, "H phi M")
    left = sc.view.scene(mb, ground=True).pixels(size=(420, 520), azimuth=-40.0, elevation=12.0, zoom=1.25)
    right = sc.view.spy(H * phi * M * phi.T * H.T).pixels(0.9)
    height = max(len(left), len(right))
    sheet = np.full((height, left.shape[1] + right.shape[1] + 10, 3), 255, dtype=np.uint8)
    for picture, x in ((left, 0), (right, left.shape[1] + 10)):
        top = (height - len(picture)) // 2
        sheet[top : top + len(picture), x : x + picture.shape[1]] = picture
    place = folder / "robot_and_structure.png"
    place.write_bytes(png(sheet))
    return place


def sweeps(folder: Path) -> Path:
    """A product with the mass matrix of a biped: a scatter to the tips, a gather to the base."""
    H, phi, M = sc.operators(sc.load("biped"), "H phi M")
    return sc.view.sweep(H * phi * M * phi.T * H.T).save(folder / "sweeps.gif", rate=1.5)


def workbench(folder: Path) -> Path:
    """The workbench page of a biped, with its mass matrix, as Chromium shows it."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.view.browser import Browser

    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        sc.view.open_workbench("biped") as page,
        Browser(profile) as browser,
    ):
        browser.size(1180, 760)
        browser.open(page.url)
        browser.until("document.querySelectorAll('#tree li').length === 12")
        browser.run("document.getElementById('line').value = 'H*phi*M*phi.T*H.T'")
        browser.run("document.getElementById('prompt').requestSubmit()")
        browser.until("document.querySelector('#answers svg') !== null")
        browser.settled()
        made = browser.pixels()
    place = folder / "workbench.png"
    place.write_bytes(png(made.astype(np.uint8)))
    return place


PICTURES = (robot_and_structure, sweeps)
#: Those that a browser takes.
BY_BROWSER = (workbench,)


def main(folder: Path) -> None:
    """Write them all."""
    examples = (partial(gallery.make, example, folder / "gallery") for example in gallery.GALLERY)
    drawn = (*PICTURES, *(BY_BROWSER if shutil.which("chromium") else ()))
    for make in (*(partial(make, folder) for make in drawn), *examples):
        place = make()
        print(f"{place}: {place.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
