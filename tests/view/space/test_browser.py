"""Saved pages in a browser: what is seen is not blank, is the model, and changes with time."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image
from tests.view.space.test_page import far_and_late

import soacraft as sc

pytestmark = pytest.mark.browser

FLAGS = (
    "--headless=new --no-sandbox --use-angle=swiftshader --enable-unsafe-swiftshader --window-size=400,300 "
    "--hide-scrollbars --virtual-time-budget=3000 --disable-background-networking --no-proxy-server"
).split()


def seen(page, mark, folder):
    """The page as Chromium shows it; names of hosts lead nowhere."""
    place = folder / "seen.png"
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND"
    command = [shutil.which("chromium"), *FLAGS, nowhere, f"--screenshot={place}", f"{page.as_uri()}#{mark}"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    with Image.open(place) as image:
        return np.asarray(image.convert("RGB")).astype(int)


def test_a_scene_moves_and_looks_like_its_image(tmp_path):
    mb = sc.load("double_pendulum")
    t = np.linspace(0.0, 2.0, 21)
    scene = sc.view.scene(mb, (t, np.stack([t, 0.5 * t], axis=1)))
    page = scene.save(tmp_path / "scene.html")
    first, again, later = (seen(page, f"t={x}", tmp_path) for x in (0.0, 0.0, 2.0))
    assert np.array_equal(first, again)
    assert (np.abs(first - later).max(axis=2) > 50).mean() > 0.005
    height, width = first.shape[:2]
    wanted = scene.pixels(0.0, size=(width, height)).astype(int)
    inside = (slice(40, height - 50), slice(None))  # without the panels
    ink = (wanted[inside] < 200).any(axis=2)
    assert ((first[inside] < 200).any(axis=2) == ink).mean() > 0.98
    assert np.abs(first[inside] - wanted[inside])[ink].mean() < 25.0


def test_far_from_the_origin_and_late_it_looks_the_same(tmp_path):
    near, far = (far_and_late(*x).save(tmp_path / f"{x[0]}.html") for x in ((0.0, 0.0), (1e7, 1e6)))
    pictures = seen(near, "t=0.5", tmp_path), seen(far, "t=1000000.5", tmp_path)
    inside = (slice(40, -50), slice(None))  # without the clock
    assert (np.abs(pictures[0] - pictures[1])[inside].max(axis=2) > 20).mean() < 2e-3
    assert (np.ptp(pictures[1][inside], axis=2) > 50).any()


def test_names_run_nothing_and_sweeps_change(tmp_path):
    mb = sc.Multibody("</script><script>document.body.style.background='#ff0000'</script>")
    mb.add_body("<img src=x onerror=\"document.body.style.background='#ff0000'\">", None, sc.Pin((0, 1, 0)),
                sc.Inertia(1.0, (0, 0, -1)))  # fmt: skip
    shown = seen(sc.view.scene(mb).save(tmp_path / "names.html"), "t=0", tmp_path)
    assert not (shown == [255, 0, 0]).all(axis=2).any()
    page = sc.view.sweep(sc.operators(sc.load("biped"), "phi")).save(tmp_path / "sweep.html")
    assert (seen(page, "0", tmp_path) != seen(page, "2", tmp_path)).any()
