"""`soacraft info`, `convert`, `check` and `models`: what a model is, and what becomes of its file."""

from __future__ import annotations

import tempfile
from pathlib import Path

import soacraft as sc
from soacraft.cli.loading import AS_IT_IS, Loading
from soacraft.files.load import refuse_not_simulated
from soacraft.model import ImportReport


def info(model: str, whole_report: bool = False, how: Loading = AS_IT_IS) -> int:
    """Print the facts of a model, its tree, and the report of its import."""
    mb = how.load(model)
    print(facts(mb))
    print()
    print(mb.tree())
    report = mb.import_report
    if report is not None:
        print(f"\nimport: {report.table() if whole_report else report.summary()}")
    return 0


def facts(mb: sc.Multibody) -> str:
    """The numbers of a model, one on each line.

    >>> print(facts(sc.load("biped")))
    bodies      12
    dofs        25 (26 coordinates)
    mass        64.4 kg
    gravity     (0, 0, -9.80665)
    nodes       5
    """
    carriers = [mb.root, *mb.bodies]
    counts = {
        "bodies": len(mb),
        "dofs": f"{mb.nv} ({mb.nq} coordinates)",
        "mass": f"{mb.total_mass:g} kg",
        "gravity": f"({', '.join(f'{x:g}' for x in mb.gravity)})",
        "loops": len(mb.loops),
        "couplings": len(mb.couplings),
        "nodes": sum(len(x.nodes) for x in carriers),
        "geometries": sum(len(x.geometries) for x in carriers),
        "materials": len(mb.materials),
        "actuators": len(mb.actuators),
        "keyframes": len(mb.keyframes),
        "records": len(mb.records),
    }
    always = ("bodies", "dofs", "mass", "gravity")
    return "\n".join(f"{name:10}  {value}" for name, value in counts.items() if value or name in always)


def convert(model: str, out: str, strict: bool = False, how: Loading = AS_IT_IS) -> int:
    """Read a model and write it to a file; print what was lost on the way in and on the way out."""
    mb = how.load(model, strict)
    report = _written(mb, Path(out), strict)
    if mb.import_report is not None:
        print(f"read {model}: {mb.import_report!r}")
    print(f"wrote {out}: {report!r}" if len(report) else f"wrote {out}: all of the model")
    return 0


def _written(mb: sc.Multibody, out: Path, strict: bool) -> ImportReport:
    if strict:  # first elsewhere, so that nothing is written when something would be lost
        with tempfile.TemporaryDirectory() as folder:
            refuse_not_simulated(str(out), sc.save(mb, Path(folder) / f"model{out.suffix}"))
    return sc.save(mb, out)


def check(model: str, how: Loading = AS_IT_IS) -> int:
    """Look for mistakes in a model; 1 when there are some."""
    report = sc.check(how.load(model))
    print(report)
    return 0 if report.ok else 1


def list_models() -> int:
    """Print the models that come with soacraft."""
    print(sc.models())
    return 0
