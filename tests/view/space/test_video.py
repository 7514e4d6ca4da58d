"""Films: how many pictures, how long each is shown, and that they differ."""

from __future__ import annotations

import shutil
import stat
import sys
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

import soacraft as sc
from soacraft.errors import ViewError


@pytest.fixture(scope="module")
def falling():
    mb = sc.load("pendulum")
    t = np.linspace(0.0, 1.0, 3)
    return sc.view.scene(mb, (t, t[:, None]))


def test_a_gif_has_a_picture_for_every_instant(falling, tmp_path):
    path = falling.video(tmp_path / "fall.gif", rate=10.0, size=(48, 36))
    with Image.open(path) as film:
        frames = [np.asarray(x.convert("RGB")).astype(int) for x in ImageSequence.Iterator(film)]
        assert film.info["loop"] == 0
        assert film.info["duration"] == 100
    assert len(frames) == 11
    assert frames[0].shape == (36, 48, 3)
    assert all((np.abs(a - b) > 20).any() for a, b in pairwise(frames))
    # the palette keeps colours: the first picture is that of `pixels`
    assert np.abs(frames[0] - falling.pixels(0.0, size=(48, 36))).mean() < 3.0


def test_speed_makes_it_shorter(falling, tmp_path):
    path = falling.video(tmp_path / "fall.gif", rate=10.0, speed=2.0, size=(16, 12))
    with Image.open(path) as film:
        assert film.n_frames == 6


def test_an_mp4_gets_every_picture(falling, tmp_path, monkeypatch):
    """By a program in the place of ffmpeg, which writes down what it was told and how many bytes came."""
    fake = tmp_path / "ffmpeg"
    fake.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "open(sys.argv[-1], 'w').write(' '.join(sys.argv[1:-1]) + f' {len(sys.stdin.buffer.read())}')\n"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(shutil, "which", lambda name: str(fake))
    path = falling.video(tmp_path / "fall.mp4", rate=10.0, size=(16, 12))
    told = path.read_text().split()
    assert int(told[-1]) == 11 * 16 * 12 * 3
    assert told[told.index("-s") + 1] == "16x12"
    assert told[told.index("-r") + 1] == "10.0"
    fake.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no room')\n")
    with pytest.raises(ViewError, match=r"ffmpeg could not write 'fall.mp4': no room"):
        falling.video(path, rate=10.0, size=(16, 12))


def test_refused(falling, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ViewError, match=r"by ffmpeg, which is not on the path; install it, or write a .gif"):
        falling.video(tmp_path / "fall.mp4")
    with pytest.raises(ViewError, match="at most 50 pictures a second, got rate = 60"):
        falling.video(tmp_path / "fall.gif", rate=60.0)
    with pytest.raises(ViewError, match=r"ends in .gif or .mp4, got 'fall.avi'"):
        falling.video(tmp_path / "fall.avi")
    with pytest.raises(ViewError, match="a video needs a motion"):
        sc.view.scene(sc.load("pendulum")).video(tmp_path / "still.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("rate", [1e-3, 1e-5, 1e-300])
def test_a_rate_too_slow_for_a_gif_is_refused(falling, tmp_path, rate):
    with pytest.raises(ViewError, match=rf"a picture for at most 655.35 s, got rate = {rate:g}; take 0.0015"):
        falling.video(tmp_path / "fall.gif", rate=rate, size=(16, 12))


@pytest.mark.parametrize("bad", [5, b"film.gif", ["film.gif"], "", "a\0.gif"])
def test_what_is_no_path_is_refused(falling, bad):
    """In every place where a picture, a film or a page is written, and where meshes are looked for."""
    mb = falling.graph
    for write in (falling.video, falling.image, falling.save, sc.view.draw(mb).save, sc.view.scene, sc.contact.Scene):
        told = {"folder": bad} if write in (sc.view.scene, sc.contact.Scene) else {}
        with pytest.raises(sc.errors.SoacraftError, match=r" takes a path, as text or as an object of pathlib; got "):
            write(mb, **told) if told else write(bad)
