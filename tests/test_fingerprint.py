"""Fingerprints: another one where the code, or anything that it reads, is another; the same in every process."""

from __future__ import annotations

import functools
import importlib
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

from soacraft.fingerprint import Fingerprint, changes, fingerprint, is_library, warn_unread

STUDY = '''
import functools
import math
import numpy as np
import tools
from tools import scale
GAIN = 2.0
TABLE = np.arange(4.0)
NAMES = {"b", "a", "c"}
OPTIONS = {"k": [1, 2]}
OFFSETS = (1, 2.0)

def helper(x):
    return x * GAIN

def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)

class Law:
    limit = 3.0
    def __init__(self, k): self.k = k
    def __call__(self, t): return self.k * helper(t)
    @property
    def twice(self): return 2.0 * self.k
    @staticmethod
    def half(x): return x / 2.0

LAW = Law(4.0)

def enclosed(k):
    return lambda t: k * t

def measure(run, *, shift=0.5):
    """Words."""
    from tools import late
    inner = lambda u: u + OFFSETS[0]
    return helper(1.0) + tools.curve(2.0) + TABLE[0] + LAW(1.0) + (run in NAMES) + shift + late(1) + inner(even(4))

cached = functools.lru_cache(measure)
part = functools.partial(measure, shift=1.0)
bound = LAW.__call__
closed = enclosed(3.0)
other = lambda run: scale(run) + len(OPTIONS["k"]) + math.sin(1.0)
'''
TOOLS = """
FACTOR = 5.0
UNUSED = 1.0
def curve(x):
    return FACTOR * x
def scale(x):
    return 2 * x
def late(x):
    return x
def not_read(x):
    return x
"""
NAMES = ("measure", "cached", "part", "bound", "closed", "other")


def prints(folder, study=STUDY, tools=TOOLS):
    """Fingerprints of the functions of a user's program, which is imported anew."""
    (folder / "study.py").write_text(study)
    (folder / "tools.py").write_text(tools)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        for name in ("study", "tools"):
            sys.modules.pop(name, None)
            for cached in (folder / "__pycache__").glob(f"{name}.*"):
                cached.unlink()
        study = importlib.import_module("study")
        return {name: fingerprint(getattr(study, name)) for name in NAMES}
    finally:
        sys.path.remove(str(folder))
        for name in ("study", "tools"):
            sys.modules.pop(name, None)


MEASURES = {"measure", "cached", "part"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("return x * GAIN", "return GAIN * x", MEASURES | {"bound"}),
        ("GAIN = 2.0", "GAIN = 2", MEASURES | {"bound"}),
        ("GAIN = 2.0", "GAIN = 2.5", MEASURES | {"bound"}),
        ("np.arange(4.0)", "np.arange(4.0) + 1e-15", MEASURES),
        ("np.arange(4.0)", "np.arange(4.0, dtype='f4')", MEASURES),
        ('"c"}', '"d"}', MEASURES),
        ('{"k": [1, 2]}', '{"k": [1, 3]}', {"other"}),
        ("(1, 2.0)", "(1, 2)", MEASURES),
        ("n != 0", "n > 0", MEASURES),
        ("limit = 3.0", "limit = 4.0", MEASURES | {"bound"}),
        ("Law(4.0)", "Law(5.0)", MEASURES | {"bound"}),
        ("self.k * helper(t)", "helper(t) * self.k", MEASURES | {"bound"}),
        ("2.0 * self.k", "3.0 * self.k", MEASURES | {"bound"}),
        ("x / 2.0", "x / 3.0", MEASURES | {"bound"}),
        ("enclosed(3.0)", "enclosed(3.5)", {"closed"}),
        ("return lambda t: k * t", "return lambda t: k + t", {"closed"}),
        ("*, shift=0.5", "*, shift=0.6", MEASURES),
        ("lambda u: u +", "lambda u: u -", MEASURES),
        ("shift=1.0", "shift=2.0", {"part"}),
        ("math.sin(1.0)", "math.cos(1.0)", {"other"}),
        ("import math", "import cmath as math", {"other"}),
    ],
)
def test_an_edit_changes_what_reads_it_and_nothing_else(tmp_path, old, new, changed):
    assert old in STUDY
    a, b = prints(tmp_path), prints(tmp_path, STUDY.replace(old, new))
    assert {name for name in NAMES if a[name] != b[name]} == changed
    assert all(changes(a[x].entries, b[x].entries) for x in changed)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("FACTOR = 5.0", "FACTOR = 6.0", MEASURES),
        ("FACTOR * x", "FACTOR + x", MEASURES),
        ("2 * x", "3 * x", {"other"}),
        ("def late(x):\n    return x", "def late(x):\n    return -x", MEASURES),
        ("UNUSED = 1.0", "UNUSED = 2.0", set()),
        ("def not_read(x):\n    return x", "def not_read(x):\n    return -x", set()),
    ],
)
def test_an_edit_of_another_file_of_the_user_counts_where_it_is_read(tmp_path, old, new, changed):
    assert old in TOOLS
    a, b = prints(tmp_path), prints(tmp_path, tools=TOOLS.replace(old, new))
    assert {name for name in NAMES if a[name] != b[name]} == changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def helper", "# a comment\n\n\ndef helper"),
        ('    """Words."""\n', '    """Other words,\n\n    and more of them."""\n'),
        ('    """Words."""\n', ""),
        ("return x * GAIN", '"""The product."""\n    return (x\n            * GAIN)  # in metres'),
        ("class Law:", "class Law:\n    '''A law.'''"),
        ('{"b", "a", "c"}', '{"c", "b", "a"}'),
    ],
)
def test_words_lines_and_layout_do_not_count(tmp_path, old, new):
    assert old in STUDY
    assert prints(tmp_path) == prints(tmp_path, STUDY.replace(old, new))


def test_a_program_in_another_folder_under_another_name_has_the_same(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    assert prints(tmp_path / "a") == prints(tmp_path / "b", "\n\n" + STUDY)


def test_every_process_has_the_same_whatever_its_seed_of_hashes(tmp_path):
    here = prints(tmp_path)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\nimport study\nfrom soacraft.fingerprint import fingerprint\n"
        f"print([fingerprint(getattr(study, x)).digest for x in {NAMES!r}])"
    )
    said = {
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], env={**os.environ, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout.strip()
        for seed in ("1", "77")
    }  # fmt: skip
    assert said == {repr([here[x].digest for x in NAMES])}


def test_functions_of_libraries_count_by_module_name_and_version():
    a, b, c = fingerprint(np.linalg.norm), fingerprint(np.linalg.inv), fingerprint(math.sin)
    assert a.entries["numpy"] == np.__version__
    assert a != b
    assert c.entries == {"code": "math.sin", "python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    assert fingerprint(np.sin) != fingerprint(np.cos)
    assert not fingerprint(np.sin).unread
    assert changes(a.entries, {**a.entries, "numpy": "1.0"}) == f"numpy was {np.__version__} and is 1.0"
    assert is_library(np.__file__)
    assert not is_library(__file__)


def test_a_library_function_around_one_of_the_user_is_read_through():
    assert fingerprint(functools.wraps(math.sin)(lambda x: x)) != fingerprint(functools.wraps(math.sin)(lambda x: -x))
    assert fingerprint(np.vectorize(lambda x: x)) != fingerprint(np.vectorize(lambda x: -x))
    assert fingerprint(functools.lru_cache(lambda x: x)) == fingerprint(functools.lru_cache(lambda x: x))


def test_state_of_generators_and_objects_counts():
    a, b = np.random.default_rng(3), np.random.default_rng(3)
    assert fingerprint(a.normal) == fingerprint(b.normal)
    b.normal()
    assert fingerprint(a.normal) != fingerprint(b.normal)


def test_recursion_and_cycles_end():
    ring = []
    ring.append(ring)
    assert fingerprint(lambda: ring) == fingerprint(lambda: ring)
    deep = []
    for _ in range(10_000):
        deep = [deep]
    assert "nested too deeply" in fingerprint(lambda: deep).unread[0]


def test_what_cannot_be_read_is_said_once():
    with open(os.devnull) as file:
        taken = fingerprint(lambda: file.read())
    text = r"the campaign of 'x' reads 'file' \(TextIOWrapper\), which has no state that can be read: another value of"
    with pytest.warns(RuntimeWarning, match=text):
        warn_unread("the campaign of 'x'", [taken])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unread("the campaign of 'x'", [taken])


def test_a_memory_of_the_function_itself_is_no_constant():
    calls, table = [], {1: 2}

    def counted(t):
        calls.append(t)
        return len(calls)

    def stored(t):
        table[t] = 2.0
        return table

    before = fingerprint(counted)
    counted(1.0)
    assert fingerprint(counted) == before
    assert not before.unread
    assert fingerprint(stored).unread == ("'table', which it changes itself",)


def test_an_object_whose_methods_fail_is_unread():
    class Bad:
        def __reduce_ex__(self, protocol):
            raise RuntimeError("no")

    bad = Bad()
    assert "Bad" in fingerprint(lambda: bad).unread[0]


def test_differences_in_words():
    a = Fingerprint({"code": "0" * 32, "GAIN": "2.0", "helper": "1" * 32, "x": "1", "y": "1", "z": "1"})
    b = Fingerprint({"code": "1" * 32, "GAIN": "3.0", "helper": "2" * 32, "x": "2", "y": "2", "w": "1"})
    text = "its code has changed; GAIN was 2.0 and is 3.0; helper has changed; w is read now, and was not, and 3 more"
    assert changes(a.entries, b.entries) == text
    assert changes(a.entries, a.entries) == ""
