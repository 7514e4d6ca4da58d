"""Notebooks run in kernels that print nothing of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import logging, sys
sys.path.insert(0, "docs/_ext")
logging.basicConfig(level=logging.INFO)          # as a theme of the pages has it
import kernels
kernels.quietly()
import nbclient, nbformat
nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(6 * 7)")])
nbclient.NotebookClient(nb).execute()
print(nb.cells[0].outputs[0]["text"])
"""


def test_a_kernel_says_nothing_but_what_its_cells_print():
    quiet = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, env=quiet, capture_output=True, text=True)
    assert done.stdout.strip() == "42"
    assert "WARNING" not in done.stderr
    assert "Executing notebook" not in done.stderr
