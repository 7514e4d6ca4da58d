"""Compiler flags of `cmake/flags.cmake`, by compiler, and the refusal of the one that cannot build the kernels."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = "optimized exact unrolled warnings choice".split()
PRINT = f'message(STATUS "{"|".join(f"${{soacraft_{name}}}" for name in LISTS)}")\n'


def flags(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "flags_of.cmake"
    script.write_text(f'include("{ROOT / "cmake" / "flags.cmake"}")\n{PRINT}')
    options = [f"-D{name}={value}" for name, value in variables.items()]
    command = [sys.executable, "-m", "cmake", *options, "-P", str(script)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("compiler", "more", "has", "choice"),
    [
        ("GNU", {}, "-fno-tree-slp-vectorize", "ON"),
        ("Clang", {}, "-fno-slp-vectorize", "ON"),
        ("AppleClang", {"APPLE": "ON"}, "-fno-slp-vectorize", "OFF"),
        ("Clang", {"MSVC": "ON"}, "/O2", "OFF"),
    ],
)
def test_each_compiler_gets_its_own(tmp_path, compiler, more, has, choice):
    done = flags(tmp_path, CMAKE_CXX_COMPILER_ID=compiler, CMAKE_SYSTEM_PROCESSOR="x86_64", **more)
    assert done.returncode == 0, done.stderr
    *lists, chosen = done.stdout.strip().removeprefix("-- ").split("|")
    words = {word for each in lists for word in each.split(";")}
    assert chosen == choice
    assert has in words
    assert ("-fno-tree-slp-vectorize" in words) == (compiler == "GNU")
    assert ("-O3" in words) != ("MSVC" in more)
    exact = lists[1]
    assert "ffp-contract=off" in exact
    assert "ffp-contract=fast" not in exact


def test_a_machine_that_is_not_x86_has_one_build_of_the_kernels(tmp_path):
    done = flags(tmp_path, CMAKE_CXX_COMPILER_ID="GNU", CMAKE_SYSTEM_PROCESSOR="aarch64")
    assert done.stdout.strip().endswith("|OFF")


def test_cl_is_refused_with_the_compiler_to_take(tmp_path):
    done = flags(tmp_path, CMAKE_CXX_COMPILER_ID="MSVC", MSVC="ON")
    assert done.returncode == 1
    assert "cl.exe does not have" in " ".join(done.stderr.split())
    assert "-T ClangCL" in " ".join(done.stderr.split())
