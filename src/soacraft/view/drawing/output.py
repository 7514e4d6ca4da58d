"""Files of pictures and pages: written whole or not at all."""

from __future__ import annotations

from pathlib import Path

from soacraft.errors import ModelFileError, ViewError


def write_output(place: Path, data: bytes | str) -> Path:
    """Write a file whole or not at all; a folder that is missing or a disk that is full is a `ViewError`."""
    from soacraft.files.native import write_bytes  # with the readers of models, which a picture needs not

    try:
        write_bytes(place, data.encode("utf-8") if isinstance(data, str) else data)
    except ModelFileError as error:
        raise ViewError(str(error)) from None
    return place
