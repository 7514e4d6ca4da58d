"""Programs run by tests, bounded in processor time: a busy machine fails none of them."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence
from typing import Any


def run_limited(command: Sequence[str], seconds: int, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; it is killed when it has used so many seconds of processor time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))

    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit, **options)
