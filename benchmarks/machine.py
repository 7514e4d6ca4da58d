"""What a figure was measured on: without this, a microsecond means nothing."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from pathlib import Path

#: From the widest to the narrowest; the first one the processor has is reported.
INSTRUCTION_SETS = ("avx512f", "avx2", "avx", "sse4_2", "asimd")
PACKAGES = ("soacraft", "numpy", "pin", "mujoco")


def facts() -> dict[str, str]:
    """Date, processor, system and the versions of what was measured."""
    cpu = _cpuinfo()
    flags = (cpu.get("flags") or cpu.get("Features") or "").split()
    return {
        "date": datetime.date.today().isoformat(),
        "processor": cpu.get("model name") or platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "instruction set": f"{platform.machine()} {next((s for s in INSTRUCTION_SETS if s in flags), '')}".strip(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
    }


def _cpuinfo() -> dict[str, str]:
    """The first processor's entries in /proc/cpuinfo, where there is one."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().split("\n\n")[0].splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
