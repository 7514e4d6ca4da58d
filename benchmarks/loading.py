"""What comes before the first number: importing soacraft, and loading a robot from its URDF file.

Times are of the processor, the least of several runs; an import is above that of numpy, in an interpreter of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pinocchio as pin
from growth import table
from measure import microseconds

import soacraft as sc
from soacraft.files.xml_tree import read_bytes, read_xml

FILE = Path(__file__).parents[1] / "tests" / "data" / "models" / "simple_humanoid" / "simple_humanoid.urdf"
IMPORTS = {"import soacraft": "", "sc.load('arm7')": "sc.load('arm7')", "sc.operators": "sc.operators"}


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    data = read_bytes(FILE)
    jobs = {
        "soacraft": lambda: sc.load(FILE),
        "soacraft, its XML alone": lambda: read_xml(data, FILE.name),
        "Pinocchio": lambda: pin.buildModelFromUrdf(str(FILE)),
    }
    return {
        "file": FILE.name,
        "bodies": len(sc.load(FILE)),
        "loading": microseconds(jobs, 2 if quick else 60),
        "imports": {name: min(seconds(code) for _ in range(1 if quick else 7)) for name, code in IMPORTS.items()},
    }


def seconds(code: str) -> float:
    """The processor time of importing soacraft and some code, in a new interpreter that has numpy."""
    program = f"import numpy, time; start = time.process_time(); import soacraft as sc; {code or 'pass'}"
    program += "; print(time.process_time() - start)"
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


def text(result: dict[str, Any]) -> str:
    """The tables of a result."""
    times = result["loading"]
    rows = [[name, f"{t / 1000:.2f}", f"{t / times['Pinocchio']:.2g}"] for name, t in times.items()]
    imports = [[f"`{name}`", f"{t:.3f}"] for name, t in result["imports"].items()]
    title = f"## `{result['file']}`: {result['bodies']} bodies"
    head = ["", "ms", "of Pinocchio's"]
    return f"{title}\n\n{table(head, rows, 1)}\n\n## Imports\n\n{table(['first call', 's'], imports, 1)}"
