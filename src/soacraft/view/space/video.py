"""Films: pictures as a GIF by Pillow, or as an MP4 by ffmpeg where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from soacraft.errors import ViewError
from soacraft.view.drawing.extras import extra
from soacraft.view.drawing.pixels import Pixels


def write_video(place: Path, pictures: Iterable[Pixels], size: tuple[int, int], rate: float) -> Path:
    """Pictures (height, width, 3), `rate` of them a second."""
    if place.suffix.lower() == ".gif":
        return write_gif(place, pictures, rate)
    return _write_mp4(place, pictures, size, rate)


def gif_rate(rate: float) -> float:
    """The nearest rate that a GIF has: its clock counts hundredths of a second, and browsers take two at least.

    >>> gif_rate(30.0)
    33.333333333333336
    """
    if rate > 50.0:
        raise ViewError(f"a GIF shows at most 50 pictures a second, got rate = {rate:g}; write an .mp4.")
    return 100.0 / round(100.0 / rate)


def write_gif(place: Path, pictures: Iterable[Pixels], rate: float) -> Path:
    """A GIF that starts again at its end."""
    pause = round(100.0 / gif_rate(rate))
    image_of = extra("PIL.Image", "a GIF")
    images = [image_of.fromarray(each) for each in pictures]
    # one palette for all, from pictures of the beginning and the middle: colours do not flicker
    sample = image_of.new("RGB", (images[0].width, 2 * images[0].height))
    sample.paste(images[0], (0, 0))
    sample.paste(images[len(images) // 2], (0, images[0].height))
    palette = sample.quantize(128)
    plain = [x.quantize(palette=palette, dither=image_of.Dither.NONE) for x in images]
    plain[0].save(place, save_all=True, append_images=plain[1:], duration=10 * pause, loop=0, optimize=True)
    return place


def _write_mp4(place: Path, pictures: Iterable[Pixels], size: tuple[int, int], rate: float) -> Path:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        raise ViewError("an .mp4 is made by ffmpeg, which is not on the path; install it, or write a .gif.")
    width, height = size
    if width % 2 or height % 2:
        raise ViewError(f"an .mp4 needs an even width and height, got {width} x {height}.")
    told = f"-y -loglevel error -f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {rate} -i - -pix_fmt yuv420p".split()
    with subprocess.Popen([ffmpeg, *told, str(place)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
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
