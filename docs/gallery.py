"""The pictures of the gallery, one for each example: `./run pictures` makes them, into docs/_static/gallery."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import soacraft as sc
from soacraft.view.drawing.png import png

EXAMPLES = Path(__file__).parents[1] / "examples"
Names = dict[str, Any]


def names_of(example: str, *told: str, main: bool = False) -> Names:
    """What an example has made at its end; what it prints is left out."""
    before, sys.argv = sys.argv, [example, *told]
    options = np.get_printoptions()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return runpy.run_path(str(EXAMPLES / example), run_name="__main__" if main else "example")
    finally:
        sys.argv = before
        np.set_printoptions(**options)


def fitted(picture: Any, width: int = 760) -> np.ndarray:
    """A picture of marks, at most so many pixels wide."""
    return picture.pixels(min(2.0, width / picture.width))


def sheet(*pictures: np.ndarray, down: bool = False) -> np.ndarray:
    """Pictures next to each other, or below each other, on white."""
    across = 0 if down else 1
    size = max(x.shape[1 - across] for x in pictures)
    padded = []
    for x in pictures:
        missing = [(0, 0), (0, 0), (0, 0)]
        missing[1 - across] = (0, size - x.shape[1 - across])
        padded.append(np.pad(x, missing, constant_values=255))
    return np.concatenate(padded, axis=across)


def instants(made: Names, times: tuple[float, ...], **look: Any) -> np.ndarray:
    """A run at some instants."""
    scene = sc.view.scene(made["mb"], made["run"])
    return np.concatenate([scene.pixels(t, size=(300, 240), **look) for t in times], axis=1)


def posed(made: Names, **shown: Any) -> np.ndarray:
    return sc.view.scene(made["mb"], **shown).pixels(size=(720, 520))


def hands(made: Names) -> np.ndarray:
    structure = fitted(sc.view.spy(made["s"].Omega, magnitude=True), 480)
    made["mb"].q = made["mb"].neutral()
    return sheet(sc.view.scene(made["mb"]).pixels(size=(420, 480), azimuth=-40.0), structure)


def subgraph(made: Names) -> np.ndarray:
    return sheet(fitted(sc.view.draw(made["mb"]), 480), fitted(sc.view.spy(made["massmat"]), 420))


def bead(made: Names) -> np.ndarray:
    mb = made["mb"]
    mb.root.add_geometry(sc.Geometry("ground", "box", (1.6, 0.4, 0.02), pose=sc.Pose(translation=(0, 0, -0.15))))
    for i, x in enumerate(np.linspace(-0.8, 0.8, 41)):
        at = sc.Pose(translation=(x, 0, 0.4 * x**2))
        mb.root.add_geometry(sc.Geometry(f"wire{i}", "sphere", (0.015,), pose=at))
    mb["bead"].add_geometry(sc.Geometry("skin", "sphere", (0.06,)))
    mb.set_state([0.6], [0.0])
    run = sc.sim.Propagator(mb).advance_to(1.2)
    return instants({"mb": mb, "run": run}, (0.0, 0.3, 0.6), azimuth=-85.0, elevation=12.0, zoom=1.5)


def double_pendulum(made: Names) -> np.ndarray:
    end = made["run"].t[-1]
    return instants(made, (0.0, 0.3 * end, 0.6 * end), azimuth=-85.0, elevation=5.0, zoom=1.1)


def stewart(made: Names) -> np.ndarray:
    mb = made["mb"]
    mb.q = mb.neutral()
    home = sc.view.scene(mb, ground=True).pixels(size=(440, 380), azimuth=-60.0, elevation=20.0)
    mb.q = made["q"]
    tilted = sc.view.scene(mb, ground=True).pixels(size=(440, 380), azimuth=-60.0, elevation=20.0)
    return sheet(home, tilted)


def bennett(made: Names) -> np.ndarray:
    mb, s, q = made["mb"], made["s"], made["q"]
    shown = []
    for step in (0.0, 0.7, 1.4):
        mb.q = s.advance(q, [step])
        shown.append(sc.view.scene(mb).pixels(size=(300, 250), azimuth=-60.0, elevation=30.0, zoom=1.2))
    return sheet(*shown)


def truss_and_gears(made: Names) -> np.ndarray:
    parts = [made["train"], made["bridge"]]
    return sheet(*(fitted(sc.view.spy(sc.operators(x).phi), 440) for x in parts))


def modes_of(made: Names, numbers: tuple[int, ...], **look: Any) -> np.ndarray:
    """Shapes of modes."""
    return sheet(*(sc.view.mode(made["modes"], i).pixels(size=(300, 250), **look) for i in numbers))


def flexible_arm(made: Names) -> np.ndarray:
    look = dict(size=(300, 250), azimuth=-50.0, elevation=35.0, zoom=1.2)
    scene = sc.view.scene(made["mb"], made["run"], exaggerate=5.0)
    swinging = sheet(*(scene.pixels(t, **look) for t in (0.0, 0.25, 0.5)))
    return sheet(modes_of(made, (0, 1, 2), azimuth=-50.0, elevation=35.0, zoom=1.2), swinging, down=True)


def walking(made: Names) -> np.ndarray:
    """The first second of a walk."""
    (t, rows), look = made["run"], dict(azimuth=-70.0, elevation=12.0, zoom=1.5)
    return instants({"mb": made["dog"], "run": (t[:51], rows[:51])}, (0.4, 0.6, 0.8), **look)


def wheel_change(made: Names) -> np.ndarray:
    """The wheel on its hub, in the hands, and where they leave it."""
    scene = sc.view.scene(made["mb"], made["film"](made["parts"]))
    times = (0.0, 3.6, scene.duration)
    return sheet(*(scene.pixels(t, size=(300, 260), azimuth=-40.0, elevation=18.0, zoom=1.4) for t in times))


#: For each example its pictures: arguments it is given, and what is drawn of what it has made.
GALLERY: dict[str, tuple[tuple[str, ...], Callable[[Names], np.ndarray]]] = {
    "01_mass_matrix.py": ((), lambda made: fitted(sc.view.spy(made["massmat"], magnitude=True))),
    "02_inverse_and_forward_dynamics.py": ((), lambda made: posed(made, frames=True)),
    "03_operational_space.py": ((), hands),
    "04_subgraph_and_branches.py": ((), subgraph),
    "05_own_hinge.py": ((), bead),
    "06_simulate_double_pendulum.py": ((), double_pendulum),
    "07_derivatives.py": ((), lambda made: fitted(sc.view.spy(made["slope"], magnitude=True))),
    "08_prove_forward_dynamics.py": ((), lambda made: fitted(sc.view.spy(made["massmat"].inv, magnitude=True))),
    "09_stewart_platform.py": ((), stewart),
    "10_own_factorization.py": ((), lambda made: fitted(sc.view.spy(made["damped"], magnitude=True))),
    "11_exact_linkages.py": ((), bennett),
    "12_sko_models.py": ((), truss_and_gears),
    "13_newtons_cradle.py": ((), lambda made: instants(made, (0.0, 0.2, 0.44), azimuth=-80.0, elevation=8.0, zoom=1.6)),
    "14_tippe_top.py": ((), lambda made: instants(made, (0.0, 0.4, 0.72))),
    "15_domino_row.py": ((), lambda made: instants(made, (0.0, 0.25, 0.5), azimuth=-50.0, zoom=1.4)),
    "16_stack_of_boxes.py": ((), lambda made: instants(made, (0.0, 0.25, 0.5))),
    "17_humanoid_falls.py": ((), lambda made: instants(made, (0.0, 0.6, 4.0))),
    "18_cassie_stands.py": (("0.1",), lambda made: instants(made, (0.0, 0.05, 0.1), azimuth=-40.0, elevation=10.0)),
    "19_flexible_arm.py": ((), flexible_arm),
    "20_solar_panel.py": ((), lambda made: modes_of(made, (6, 7, 10), azimuth=-35.0, elevation=25.0, zoom=1.25)),
    "21_motor_and_pid.py": ((), lambda made: instants(made, (0.0, 0.3, 4.0), azimuth=-80.0, elevation=8.0)),
    "22_campaign.py": ((), lambda made: instants(made, (0.0, 0.3, 1.0), azimuth=-80.0, elevation=8.0)),
    "23_quadruped_learns.py": ((), walking),
    "24_tyre_change.py": (("1.0",), wheel_change),
}  # fmt: skip


def make(example: str, folder: Path) -> Path:
    """The picture of one example."""
    told, draw = GALLERY[example]
    place = folder / example.replace(".py", ".png")
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(png(np.ascontiguousarray(draw(names_of(example, *told, main=True)))))
    return place
