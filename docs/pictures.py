"""Make the pictures of the README and the pages: `./run pictures [FOLDER]`, by default docs/_static. That of the
workbench page needs Chromium, and is left as it is without.
"""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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


#: Examples with contact: what they are told, three instants, where the camera is.
CONTACT = (
    ("13_newtons_cradle.py", (), (0.0, 0.2, 0.44), {"azimuth": -80.0, "elevation": 8.0, "zoom": 1.6}),
    ("14_tippe_top.py", (), (0.0, 0.4, 0.72), {}),
    ("15_domino_row.py", (), (0.0, 0.25, 0.5), {"azimuth": -50.0, "zoom": 1.4}),
    ("16_stack_of_boxes.py", (), (0.0, 0.25, 0.5), {}),
    ("17_humanoid_falls.py", (), (0.0, 0.6, 4.0), {}),
    ("18_cassie_stands.py", ("0.1",), (0.0, 0.05, 0.1), {"azimuth": -40.0, "elevation": 10.0, "zoom": 1.2}),
)


def contact(folder: Path) -> Path:
    """The examples with contact, a row for each, at three instants."""
    rows = []
    for name, told, instants, look in CONTACT:
        sys.argv[1:] = told
        made = runpy.run_path(str(Path(__file__).parents[1] / "examples" / name))
        scene = sc.view.scene(made["mb"], made["run"])
        rows.append(np.concatenate([scene.pixels(t, size=(260, 180), **look) for t in instants], axis=1))
    place = folder / "contact.png"
    place.write_bytes(png(np.concatenate(rows)))
    return place


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


PICTURES = (robot_and_structure, sweeps, contact)
#: Those that a browser takes.
BY_BROWSER = (workbench,)


def main(folder: Path) -> None:
    """Write them all."""
    for make in (*PICTURES, *(BY_BROWSER if shutil.which("chromium") else ())):
        place = make(folder)
        print(f"{place}: {place.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
