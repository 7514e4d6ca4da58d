"""Films: pictures as a GIF by Pillow, or as an MP4 by ffmpeg where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from soacraft.errors import ViewError
from soacraft.view.drawing.gif import write_gif
from soacraft.view.drawing.pixels import Pixels


def write_video(place: Path, pictures: Iterable[Pixels], size: tuple[int, int], rate: float) -> Path:
    """Pictures (height, width, 3), `rate` of them a second."""
    if place.suffix.lower() == ".gif":
        return write_gif(place, pictures, rate)
    return _write_mp4(place, pictures, size, rate)


def _write_mp4(place: Path, pictures: Iterable[Pixels], size: tuple[int, int], rate: float) -> Path:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise ViewError("an .mp4 is made by ffmpeg, which is not on the path; install it, or write a .gif.")
    width, height = size
    if width % 2 or height % 2:
        raise ViewError(f"an .mp4 needs an even width and height, got {width} x {height}.")
    options = (
        f"-y -loglevel error -f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {rate} -i - -pix_fmt yuv420p".split()
    )
    with subprocess.Popen([ffmpeg, *options, str(place)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for each in pictures:
                process.stdin.write(each.tobytes())
        except BrokenPipeError:
            pass  # ffmpeg says below why it stopped
        said = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode:
        raise ViewError(f"ffmpeg could not write {place.name!r}: {said[-300:]}")
    return place
