"""`load` and `models`: model files, and the models that come with soacraft by name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from os import PathLike, fsencode, fspath
from pathlib import Path
from typing import Any

from soacraft import markup
from soacraft.cards import card
from soacraft.errors import ModelFileError
from soacraft.files import library
from soacraft.files.builtin import BUILTIN
from soacraft.files.library import ModelFacts
from soacraft.hints import hinted
from soacraft.model import ImportReport, Multibody
from soacraft.model.hinges import Hinge, Weld

READABLE = ".urdf, .xacro, .sdf, .xml (MJCF, URDF or SDF) and .json (soacraft's own)"


@hinted
def load(
    path_or_name: str | PathLike[str],
    root: Hinge | None = None,
    strict: bool = False,
    merge_fixed: bool = False,
    mesh_roots: Sequence[str | PathLike[str]] = (),
    lenient: bool = False,
    srdf: str | PathLike[str] | None = None,
) -> Multibody:
    """A model from a file, or a new copy of one that comes with soacraft, by its name; `models()` lists those.

    A file is read by its suffix and content: `.urdf`; `.xacro`, which the package `xacro` runs to make URDF (it is a
    program: load only those you trust); `.sdf`; `.xml`, MJCF, URDF or SDF; `.json`, soacraft's own. What became of
    every element is in `mb.import_report`; with `strict` a file is refused when something in it would change the motion
    and is not simulated. With `lenient`, local faults of URDF, SRDF, SDF and MJCF (an inertia that is missing or that
    no body can have, a mimic of an absent joint, a plugin, an asset that is not there) are lines of the report, and the
    rest is read. For URDF, `root` is the hinge of the base on the inertial frame (by default a weld), and
    `merge_fixed` makes one body of those joined by fixed
    joints. `mesh_roots` are folders in which meshes, models and packages may be. `srdf` is an SRDF file of the robot:
    its groups, states and pairs of links become records of the model.

    >>> load("arm7")
    Multibody 'arm7': 7 bodies, 7 dofs
    >>> load("panda").total_mass
    16.6919...
    """
    text = _text(path_or_name)
    options = _options(text, root, strict, merge_fixed, mesh_roots, lenient)
    path = Path(text)
    if path.suffix or len(path.parts) > 1:
        mb = _read(path, *options)
    else:
        _refuse_urdf_options(repr(text), root, merge_fixed)
        mb = _by_name(text)
    if srdf is not None:
        # each format loads its own reader or writer
        from soacraft.files.srdf import read_srdf

        read_srdf(mb, Path(_text(srdf)), lenient)
    if strict and mb.import_report is not None:
        refuse_not_simulated(text, mb.import_report)
    return mb


def _read(path: Path, root: Hinge | None, merge_fixed: bool, mesh_roots: tuple[Path, ...], lenient: bool) -> Multibody:
    """The model in a file, by its suffix and content."""
    suffix = path.suffix.lower()
    if suffix == ".xml":
        suffix = _kind_of_xml(path)
    if suffix in (".urdf", ".xacro"):
        # each format loads its own reader or writer
        from soacraft.files.urdf import read_urdf

        hinge = Weld() if root is None else root
        return read_urdf(path, root=hinge, merge_fixed=merge_fixed, mesh_roots=mesh_roots, lenient=lenient)
    if suffix == ".mjcf":
        _refuse_urdf_options(f"{path} (MJCF)", root, merge_fixed)
        # each format loads its own reader or writer
        from soacraft.files.mjcf import read_mjcf

        return read_mjcf(path, mesh_roots=mesh_roots, lenient=lenient)
    if suffix == ".sdf":
        _refuse_urdf_options(f"{path} (SDF)", root, merge_fixed)
        # each format loads its own reader or writer
        from soacraft.files.sdf import read_sdf

        return read_sdf(path, mesh_roots=mesh_roots, lenient=lenient)
    if suffix == ".json":
        _refuse_urdf_options(f"{path} (soacraft's own)", root, merge_fixed)
        # reading and writing files takes long to load
        from soacraft.files.native import read_native

        mb = read_native(path)
        mb.mesh_roots = mesh_roots
        return mb
    what = f"suffix {path.suffix!r:.60}" if suffix else "no suffix"
    raise ModelFileError(f"cannot load {str(path)!r}: it has {what}; model files are {READABLE}.")


def _kind_of_xml(path: Path) -> str:
    # each format loads its own reader or writer
    from soacraft.files.xml_tree import read_bytes, read_xml

    tag = read_xml(read_bytes(path), str(path)).tag
    kinds = {"mujoco": ".mjcf", "robot": ".urdf", "sdf": ".sdf"}
    if tag not in kinds:
        raise ModelFileError(
            f"{path}: its outermost element is <{tag:.60}>; an .xml model is <mujoco> (MJCF), <robot> (URDF) "
            "or <sdf> (SDF)."
        )
    return kinds[tag]


def _by_name(text: str) -> Multibody:
    name = text.replace("-", "_")
    if name in BUILTIN:
        return BUILTIN[name]()
    if name in library.index():
        return library.read(name)
    names = [*BUILTIN, *library.index()]
    close = get_close_matches(name, names, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(each) for each in close)}?" if close else ""
    raise ModelFileError(
        f"there is no model {text!r:.60}.{hint} There are {', '.join(repr(each) for each in names)}; "
        f"a model file is named with its suffix: {READABLE}."
    )


def refuse_not_simulated(name: str, report: ImportReport) -> None:
    """Raise for a report of something that would change the motion and is not simulated; every entry is named."""
    lines = [
        f"  {f'{entry.file}:{entry.line}: ' if entry.line else ''}"
        f"{entry.element}{f'@{entry.attribute}' if entry.attribute else ''}"
        f"{f' {entry.name!r}' if entry.name else ''}: {entry.note}"
        for entry in report.not_simulated
    ]
    if lines:
        count = "1 thing that changes" if len(lines) == 1 else f"{len(lines)} things that change"
        raise ModelFileError(
            f"strict: {name}: {count} the motion would be missing. "
            "Take strict away to go on without:\n" + "\n".join(lines)
        )


_COLUMNS = ("name", "bodies", "dofs", "loops", "licence", "description")


class ModelTable(tuple[ModelFacts, ...]):
    """Facts about models, printed as a table."""

    __slots__ = ()

    def _rows(self) -> list[list[str]]:
        return [[str(getattr(facts, column)) for column in _COLUMNS] for facts in self]

    def __repr__(self) -> str:
        rows = [list(_COLUMNS), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
        return "\n".join(_row(row, widths) for row in rows)

    def _repr_html_(self) -> str:
        return card(f"{len(self)} models", markup.table(_COLUMNS, self._rows()))


def _row(cells: list[str], widths: list[int]) -> str:
    """A line of the table: numbers to the right."""
    aligned = (c.rjust(w) if i in (1, 2, 3) else c.ljust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True)))
    return "  ".join(aligned).rstrip()


def models() -> ModelTable:
    """The models that come with soacraft, as a list that prints as a table: our own, then those of the library.

    >>> [facts.name for facts in models()][:3]
    ['arm7', 'pendulum', 'double_pendulum']
    """
    return ModelTable([*(_facts(name) for name in BUILTIN), *library.index().values()])


def _facts(name: str) -> ModelFacts:
    mb = BUILTIN[name]()
    description = (BUILTIN[name].__doc__ or "").partition("\n")[0]  # none under python -OO
    return ModelFacts(name, len(mb), mb.nv, len(mb.loops), len(mb.couplings), "Apache-2.0", "soacraft", description)


# -- arguments -----------------------------------------------------------------------------------------------


def _text(path_or_name: Any) -> str:
    if not isinstance(path_or_name, str | PathLike):
        raise ModelFileError(
            "a model is loaded by its name or its file, such as load('arm7') or load('arm.urdf'); "
            f"got {path_or_name!r:.60}."
        )
    return read_path(path_or_name)


def read_path(path: str | PathLike[str]) -> str:
    """A name or path as text that a file can have; others are refused."""
    text: Any = fspath(path)
    try:
        if isinstance(text, str) and text and b"\0" not in fsencode(text):
            return text
    except UnicodeEncodeError:
        pass
    raise ModelFileError(f"the name of a model or its file must be a text that a file can have, got {text!r:.60}.")


def _options(
    text: str, root: Any, strict: Any, merge_fixed: Any, mesh_roots: Any, lenient: Any
) -> tuple[Hinge | None, bool, tuple[Path, ...], bool]:
    if root is not None and not isinstance(root, Hinge):
        raise ModelFileError(f"root of load({text!r:.60}) must be a hinge such as Free() or Weld(), got {root!r:.60}.")
    for name, value in (("strict", strict), ("merge_fixed", merge_fixed), ("lenient", lenient)):
        if not isinstance(value, bool):
            raise ModelFileError(f"{name} of load({text!r:.60}) must be True or False, got {value!r:.60}.")
    if isinstance(mesh_roots, str | PathLike):
        mesh_roots = (mesh_roots,)
    try:
        return root, merge_fixed, tuple(Path(folder) for folder in mesh_roots), lenient
    except TypeError:
        raise ModelFileError(f"mesh_roots of load({text!r:.60}) must be folders, got {mesh_roots!r:.60}.") from None


def _refuse_urdf_options(what: str, root: Hinge | None, merge_fixed: bool) -> None:
    if root is not None and type(root) is not Weld:
        raise ModelFileError(
            f"{what} defines the hinge of its base, so root={root!r} cannot be used; root is for URDF. "
            "Change it after loading with mb.reattach(...)."
        )
    if merge_fixed:
        raise ModelFileError(f"merge_fixed is for URDF, {what} has its own bodies; leave it out.")
