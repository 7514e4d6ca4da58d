"""What must hold for every input: a model that can be worked with, or a clear `ModelFileError`."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz.cases import Case
from tests.fuzz.system_seeds import CLASSES

from soacraft import dynamics, flexible, sim
from soacraft.errors import ModelFileError, SoacraftError, SystemFileError
from soacraft.files import load, save
from soacraft.files.native import same
from soacraft.model import Multibody
from soacraft.model.hinges import Free
from soacraft.model.modal import ModalData
from soacraft.sim.systems.description import describe

SECONDS = 1.0
MEGABYTES = 500.0
_LONGEST = 2500
_SMALL = 80


class Broken(Exception):
    """A promise that was not kept; the text says which."""


def check(case: Case, folder: Path, thorough: bool = False) -> tuple[str, float]:
    """'accepted' or 'refused', and the seconds of CPU that loading took; raises for anything else."""
    path = case.write(folder)
    before = sorted(os.listdir(folder))
    options = {key: value for key, value in case.options.items() if key != "free"}
    if case.options.get("free"):
        options["root"] = Free()
    begin = time.process_time()
    try:
        mb = _read(path, options)
    except (ModelFileError, SystemFileError) as problem:
        taken = time.process_time() - begin
        _check_message(str(problem), folder)
        outcome = "refused"
    else:
        taken = time.process_time() - begin
        if isinstance(mb, Multibody):
            _work_with(mb)
            if thorough:
                _round_trip(mb, folder)
        elif isinstance(mb, ModalData):
            _hang(mb)
        elif isinstance(mb, sim.System):
            _look_at(mb, folder if thorough else None)
        outcome = "accepted"
    if sorted(os.listdir(folder)) != before:
        raise Broken(f"files were left: {sorted(set(os.listdir(folder)) - set(before))}")
    if taken > SECONDS:
        raise Broken(f"took {taken:.1f} s to be {outcome}")
    return outcome, taken


def _read(path: Path, options: dict[str, Any]) -> Any:
    """A model, modal data or a matrix, by the suffix of the file."""
    if path.suffix in (".fem", ".SID_FEM", ".npz"):
        return flexible.read(path)
    if path.suffix in (".op4", ".mtx"):
        return flexible.read_matrix(path, "K" if path.suffix == ".op4" else None)
    if path.stem == "system":
        return sim.load_system(path, CLASSES)
    return load(path, **options)


def _look_at(s: sim.System, folder: Path | None) -> None:
    """A system can be printed and checked; what is saved is what is loaded."""
    repr(s)
    str(s.tree())
    with suppress(SoacraftError):
        s.check()
    if folder is not None:
        file = folder / "system_saved.toml"
        try:
            s.save(file)
        except SoacraftError:
            return
        back = sim.load_system(file, CLASSES)
        file.unlink()
        if describe(back) != describe(s):
            raise Broken("not the same system after saving and loading")


def _hang(data: ModalData) -> None:
    """A body of these data in a tree."""
    repr(data.import_report)
    mb = Multibody("fuzz")
    mb.add_body("body", None, Free(), modal=data, hinge_node=next(iter(data.nodes), None))
    with suppress(SoacraftError):
        dynamics.mass_matrix(mb, mb.q)


def _check_message(text: str, folder: Path) -> None:
    if str(folder) not in text:
        raise Broken(f"the file is not named in: {text[:300]}")
    if len(text) > _LONGEST and not text.startswith("strict:"):
        raise Broken(f"a message of {len(text)} characters: {text[:300]}")


def _work_with(mb: Multibody) -> None:
    """Print it and compute with it; only errors of our family may come."""
    repr(mb.import_report)
    str(mb.tree())
    for body in mb.bodies:
        if not (np.isfinite(body.inertia.mass) and np.isfinite(body.inboard.translation).all()):
            raise Broken(f"body {body.name!r} has numbers that are not finite")
    if len(mb) <= _SMALL:
        with suppress(SoacraftError):
            dynamics.mass_matrix(mb, mb.q, ignore_loops=True)


def _round_trip(mb: Multibody, folder: Path) -> None:
    """What is saved is what is loaded."""
    saved = folder / "saved.json"
    try:
        save(mb, saved)
    except ModelFileError:
        return
    back = load(saved)
    for made in (saved, *folder.glob("saved.*.npz")):
        made.unlink()
    if different := same(mb, back):
        raise Broken(f"not the same after saving and loading: {different[:3]}")


def peak() -> float:
    """The most memory this process has held, in megabytes."""
    status = Path("/proc/self/status").read_text()  # getrusage also counts what the parent held before the start
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
