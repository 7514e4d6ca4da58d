"""A test that hangs fails."""

import subprocess
import sys

HANGS = """
import threading

def test_waits_for_ever():
    threading.Event().wait()
"""


def test_a_test_that_hangs_fails(tmp_path):
    (tmp_path / "test_hangs.py").write_text(HANGS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "timeout=1"]
    command += ["-o", "timeout_method=thread", "test_hangs.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 1
    assert "Timeout" in run.stdout + run.stderr


def test_every_test_has_a_limit(request):
    assert 60.0 <= float(request.config.getini("timeout")) <= 600.0
    assert request.config.getini("timeout_method") == "thread"
