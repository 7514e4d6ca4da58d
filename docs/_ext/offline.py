"""The pages work without a network: a page that loads a script, a style or a picture from elsewhere is a warning."""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

ADDRESS = r"""["']?((?:https?:)?//[^"'\s>]+)"""
LOADS = re.compile(
    rf"""<(?:script|img|iframe|source)\b[^>]*?\bsrc\s*=\s*{ADDRESS}"""
    rf"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon))[^>]*?\bhref=\s*{ADDRESS}""",
    re.IGNORECASE,
)


def loaded_from_elsewhere(page: str) -> list[str]:
    """The addresses outside the documentation that a page would fetch when it is opened."""
    return [script or style for script, style in LOADS.findall(page)]


def check(app: Sphinx, problem: Exception | None) -> None:
    if problem is not None or app.builder.format != "html":
        return
    for page in sorted(Path(app.outdir).rglob("*.html")):
        for address in dict.fromkeys(loaded_from_elsewhere(page.read_text(encoding="utf-8"))):
            logging.getLogger(__name__).warning("%s loads %s: it must work offline", page.name, address)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
