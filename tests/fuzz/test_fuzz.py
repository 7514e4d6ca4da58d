"""Damaged files are read or refused, and a worker that breaks is noticed."""

import pytest
from tests.fuzz.cases import Case, make
from tests.fuzz.pool import SILENCE, Worker
from tests.fuzz.run import Figures, fuzz, keep
from tests.fuzz.seeds import FORMATS, seeds
from tests.fuzz.shrink import shrink, signature

SOME = {"urdf": 200, "json": 300, "mjcf": 120, "sdf": 150, "fem": 100, "sid": 100, "npz": 100, "op4": 100, "mtx": 100}
SOME |= {"toml": 200, "system": 200}
MANY = 10_000


@pytest.fixture(scope="module")
def worker():
    """One process for all: to start one takes longer than to read the files."""
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_read_or_refused(kind, worker):
    figures = fuzz(worker, kind, SOME[kind], seed=1)
    assert not figures.broken, figures
    assert figures.inputs == SOME[kind] == figures.accepted + figures.refused
    assert min(figures.accepted, figures.refused) > SOME[kind] / 10  # both ways are tried


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_many_damaged_files_are_read_or_refused(kind, worker):
    figures = fuzz(worker, kind, MANY, seed=2)
    assert not figures.broken, figures


@pytest.mark.parametrize("kind", FORMATS)
def test_an_input_is_a_function_of_its_number(kind):
    cases = [make(kind, 5, number) for number in range(30)]
    assert cases == [make(kind, 5, number) for number in range(30)]
    sound = {seed.data for seed in seeds(kind)}
    assert sum(case.files[case.main] not in sound for case in cases) > 20


# -- the fuzzer itself ---------------------------------------------------------------------------------------


def spoilt(act):
    """Code that puts something worse in the place of `load`."""
    act = act.replace("REFUSED", "check.ModelFileError(str(path))")
    return f"import os, time\nfrom tests.fuzz import check\ndef load(path, **options):\n    {act}\ncheck.load = load\n"


@pytest.fixture(scope="module")
def obedient():
    """A worker that does what the file says, started anew only where that ends it."""
    with Worker(spoilt("exec(compile(path.read_text(), 'act', 'exec'), {**globals(), 'path': path})")) as worker:
        yield worker


@pytest.mark.parametrize(
    ("act", "text"),
    [
        ("os.abort()", "crash: exit -6: Fatal Python error: Aborted"),
        ("os._exit(3)", "crash: exit 3"),
        ("time.sleep(60)", "hang: no answer for 3 s"),
        ("raise KeyError('arm')", "KeyError at act:1 < <string>:4 < check.py"),
        ("end = time.process_time() + 1.1\nwhile time.process_time() < end: pass\nraise REFUSED", "took 1."),
        ("bytes(5 * 2**30)", "MemoryError at act:1 < <string>:4"),
        ("x = bytearray(600 * 2**20); raise REFUSED", "held "),
        ("raise check.ModelFileError('no')", "the file is not named in: no"),
        ("raise check.ModelFileError(f'{path}: ' + 3000 * 'x')", "a message of 3"),
        ("open(f'{path}.log', 'w'); raise REFUSED", "files were left: ['model.urdf.log']"),
    ],
)
def test_what_breaks_is_noticed(obedient, act, text):
    case = Case({"model.urdf": act.replace("REFUSED", "check.ModelFileError(str(path))").encode()}, "model.urdf")
    obedient.silence = 3.0 if "sleep" in act else SILENCE
    answer = obedient.one(case)
    assert answer.outcome == "broken"
    assert answer.text.startswith(text)


def test_a_row_goes_on_after_a_crash():
    numbers = range(1, 5)
    with Worker(spoilt("if path.stat().st_size % 5 == 0: os.abort()\n    raise REFUSED")) as worker:
        answers = dict(worker.row("urdf", 1, numbers.start, numbers.stop))
    sizes = [len(case.files[case.main]) for case in (make("urdf", 1, number) for number in numbers)]
    assert [answers[number].outcome == "broken" for number in numbers] == [size % 5 == 0 for size in sizes]
    assert any(size % 5 == 0 for size in sizes[:-1])  # and it went on


@pytest.mark.parametrize(
    ("data", "least"),
    [
        (b"<a><b c='1' d='2'/><e><bad f='3'/><g/></e></a>", b"<a><e><bad /></e></a>"),
        (b'{"a": [1, {"bad": 2, "c": 3}], "d": 4}', b'{"a": [{"bad": 2}]}'),
        (b"one\ntwo\nbad <\nthree\n", b"bad <\n"),
    ],
)
def test_a_failure_is_made_small(data, least):
    case = Case({"model.xml": data, "other.xml": b"<a/>"}, "model.xml")
    found = shrink(case, lambda smaller: b"bad" in smaller.files["model.xml"])
    assert set(found.files) == {"model.xml"}
    assert b"bad" in found.files["model.xml"]
    assert len(found.files["model.xml"]) <= len(least)


def test_addresses_and_names_do_not_tell_causes_apart():
    assert signature("crash: thread 0x00fa3 at 'a' line 1") == signature("crash: thread 0x1b at 'bc' line 22")
    assert signature("crash: exit 1") != signature("hang: exit 1")


def test_failures_are_counted_by_cause_and_kept(tmp_path):
    figures = Figures("json", 1)
    with Worker(spoilt("raise KeyError(path.stat().st_size)")) as worker:
        for number, answer in worker.row("json", 1, 0, 3):
            figures.add(number, answer)
    assert figures.broken == 3
    assert len(figures.failures) == 1
    assert "3 times (first: input 0): KeyError at <string>:4" in str(figures)
    keep(figures, tmp_path)
    assert sorted(path.name for path in (tmp_path / "json-1-0").iterdir()) == ["failure.txt", "model.json"]
