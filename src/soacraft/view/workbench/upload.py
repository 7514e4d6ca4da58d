"""Model files that a page sends: read in a folder of their own, with the report of the import."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from soacraft.errors import ModelError, ModelFileError, SoacraftError
from soacraft.files.load import load
from soacraft.files.native import to_json
from soacraft.model import Multibody
from soacraft.view.workbench.notebook import Source

#: Kinds of files that may be sent. A .xacro file is a program, and is not run for a page.
KINDS = (".urdf", ".xml", ".mjcf", ".sdf", ".json")
#: Characters of a file, and lines of a report that the page shows.
MOST, MOST_LINES = 4 * 2**20, 400


def read_upload(name: str, text: str, folder: Path) -> Multibody:
    """The model in the text of a file. It is written into `folder` under a name of ours, and nothing else is read."""
    kind = Path(name).suffix.lower()
    if kind not in KINDS:
        raise ModelFileError(f"a page takes {', '.join(KINDS)} files, not {name[-60:]!r}.")
    if len(text) > MOST:
        raise ModelFileError(f"the file has {len(text):,} characters, and {MOST:,} are the most that a page takes.")
    path = folder / f"{_plain(Path(name).stem)}{'.xml' if kind == '.mjcf' else kind}"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        return load(path)
    except SoacraftError as error:
        error.args = (str(error).replace(f"{folder}/", ""),)
        raise


def _plain(stem: str) -> str:
    """A name for a file: no part of a path, nothing strange."""
    kept = "".join(x if x.isascii() and (x.isalnum() or x in "_-") else "_" for x in stem)[:60]
    return kept.strip("_") or "model"


def source_of(mb: Multibody) -> Source:
    """A model in the text of a notebook itself, since its file is not at hand there; or why it is not there."""
    try:
        text = to_json(mb).decode("utf-8")
    except ModelError as problem:
        said = f"The model is not kept in this notebook: {problem}"
        return Source(mb.name, f"mb = ...  # {mb.name!r}: make it, or load it, here", mb.is_closed, (said,))
    code = (
        f"from soacraft.files.native import from_json\n\nmodel = r'''{text}'''\nmb = from_json(model.encode())"
        if "'''" not in text and not text.endswith("'")
        else f"from soacraft.files.native import from_json\n\nmb = from_json({text!r}.encode())"
    )
    return Source(mb.name, code, mb.is_closed, ("The model is kept in this notebook, in soacraft's own format.",))


def report_of(mb: Multibody) -> dict[str, Any]:
    """The import report of a model as data: the counts, and the elements that were not simply used."""
    report = mb.import_report
    if report is None:
        return {"summary": "", "rows": [], "more": 0}
    rows = [list(row) for row in report.rows()]
    return {"summary": report.summary(), "rows": rows[:MOST_LINES], "more": max(0, len(rows) - MOST_LINES)}


def new_folder() -> TemporaryDirectory[str]:
    """A folder for one file, gone when the page is."""
    return TemporaryDirectory(prefix="soacraft-", ignore_cleanup_errors=True)
