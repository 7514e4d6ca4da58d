"""The files that are damaged: real models, and files of ours that use every element."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.files.full_model import full_model
from tests.files.sdf import everything as everything_sdf
from tests.files.urdf.everything import EVERYTHING

import soacraft as sc
from soacraft.files.native import to_json

MODELS = Path(__file__).parents[1] / "data" / "models"
MJCF_DATA = Path(__file__).parents[1] / "files" / "mjcf" / "data"
FORMATS = {"urdf": "model.urdf", "mjcf": "model.xml", "json": "model.json", "sdf": "model.sdf"}
_LARGEST = 40_000


@dataclass(frozen=True)
class Seed:
    """A sound file, and the files next to it."""

    data: bytes
    beside: dict[str, bytes] = field(default_factory=dict)


@cache
def seeds(kind: str) -> tuple[Seed, ...]:
    """The seeds of a format, in a fixed order."""
    return tuple({"urdf": _urdf, "mjcf": _mjcf, "json": _json, "sdf": _sdf}[kind]())


@cache
def weights(kind: str) -> tuple[float, ...]:
    """Small files are read more often in the same time, and all of their parts matter."""
    return tuple(1.0 / (len(seed.data) + 3000) for seed in seeds(kind))


def _urdf() -> list[Seed]:
    found = [Seed(EVERYTHING.encode())]
    for path in sorted(MODELS.rglob("*.urdf")):
        closures = path.parent / "robot.yaml"
        beside = {"robot.yaml": closures.read_bytes()} if closures.is_file() else {}
        found.append(Seed(path.read_bytes(), beside))
    return [seed for seed in found if len(seed.data) <= _LARGEST]


def _sdf() -> list[Seed]:
    link = "<sdf version='1.9'><model name='m'><link name='a'/></model></sdf>"
    return [Seed(everything_sdf.EVERYTHING.encode(), {"part.sdf": everything_sdf.PART.encode()}), Seed(link.encode())]


def _mjcf() -> list[Seed]:
    names = ("claw.xml", "parts/mast.xml", "parts/wedge.obj")
    beside = {name: (MJCF_DATA / name).read_bytes() for name in names}
    found = [Seed((MJCF_DATA / "everything.xml").read_bytes(), beside)]
    found += [Seed(path.read_bytes(), _common(path)) for path in sorted(MODELS.rglob("*.xml"))]
    return [seed for seed in found if len(seed.data) <= _LARGEST]


def _common(path: Path) -> dict[str, bytes]:
    """The small files of looks that some models include, empty."""
    included = re.findall(rb'<include file="./([^"]*)"', path.read_bytes())
    return {name.decode(): b"<mujoco/>" for name in included}


def _json() -> list[Seed]:
    """Our own models as they are saved, most of them without the long report of their import."""
    found = [full_model(), sc.load("panda")]
    for name in ("arm7", "pendulum", "double_pendulum", "hinges", "biped", "panda", "robotiq_2f85", "five_bar"):
        mb = sc.load(name)
        mb.import_report = None
        found.append(mb)
    return [Seed(to_json(mb)) for mb in found]
