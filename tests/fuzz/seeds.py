"""The files that are damaged: real models, and files of ours that use every element."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.io import mmwrite
from scipy.sparse import coo_array, tril
from tests.files.flexible_model import station
from tests.files.full_model import full_model
from tests.files.sdf import everything as everything_sdf
from tests.files.urdf.everything import EVERYTHING
from tests.flexible.readers import by_hand
from tests.flexible.readers.files import cloud_nodes, mbdyn_text, op4_text
from tests.fuzz.system_seeds import BESIDE, system_texts

import soacraft as sc
from soacraft.files.native import to_json
from soacraft.flexible.readers.sid_write import sid_text

MODELS = Path(__file__).parents[1] / "data" / "models"
MJCF_DATA = Path(__file__).parents[1] / "files" / "mjcf" / "data"
#: Files of models, of modal data and of matrices, by format.
MODELS_AS = {"urdf": "model.urdf", "mjcf": "model.xml", "json": "model.json", "sdf": "model.sdf"}
NUMBERS_AS = {"fem": "model.fem", "sid": "model.SID_FEM", "npz": "model.npz", "op4": "model.op4", "mtx": "model.mtx"}
#: Files of systems.
SYSTEMS_AS = {"toml": "system.toml", "system": "system.json"}
FORMATS = {**MODELS_AS, **NUMBERS_AS, **SYSTEMS_AS}
_LARGEST = 40_000


@dataclass(frozen=True)
class Seed:
    """A sound file, and the files next to it."""

    data: bytes
    beside: dict[str, bytes] = field(default_factory=dict)


@cache
def seeds(kind: str) -> tuple[Seed, ...]:
    """The seeds of a format, in a fixed order."""
    if kind in NUMBERS_AS:
        return tuple(_numbers(kind))
    if kind in SYSTEMS_AS:
        return tuple(Seed(x, BESIDE) for x in system_texts()[0 if kind == "toml" else 1 :: 2])
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
    return [Seed(to_json(mb)) for mb in found] + [Seed(to_json(station())), _with_side_file()]


def _with_side_file() -> Seed:
    """A model with flexible bodies, and the file of its large arrays."""
    with TemporaryDirectory() as folder:
        sc.save(station(modes=11, points=4), Path(folder, "model.json"))
        files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
    return Seed(files.pop("model.json"), files)


def _numbers(kind: str) -> list[Seed]:
    """Small bodies and matrices as other programs write them, and our own."""
    rng = np.random.default_rng(1)
    if kind in ("op4", "mtx"):
        X = rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.5)
        K = X @ X.T
        if kind == "mtx":
            out = io.BytesIO()
            mmwrite(out, tril(coo_array(K)), symmetry="symmetric")
            return [Seed(out.getvalue()), Seed(b"1 1 2.0\n2 1 -1.0\n2 2 2.0\n"), Seed(b"1,1, 1,1, 2.0\n1,2,1,2, 3.0\n")]
        ways = ({}, {"sparse": True}, {"sparse": True, "big": True}, {"digits": 9})
        return [Seed((op4_text("K", K, **way) + op4_text("M", np.eye(6), **way)).encode()) for way in ways]
    found = {"fem": [by_hand.MBDYN.encode()], "sid": [by_hand.SID.encode()]}.get(kind, [])
    for n, geometric in ((1, False), (2, False), (2, True)):
        data, m, r, phi, psi = cloud_nodes(rng, n, points=4, geometric=geometric)
        if kind == "fem":
            found.append(mbdyn_text(m, r, phi, psi, data.M, data.K, data.D).encode())
        elif kind == "sid":
            found.append(sid_text(data).encode())
        else:
            with TemporaryDirectory() as folder:
                sc.flexible.save(data, Path(folder, "body.npz"))
                found.append(Path(folder, "body.npz").read_bytes())
    return [Seed(x) for x in found]
