"""`SimState`: a value that cannot be changed, with all its bits in its bytes; foreign bytes are refused."""

from __future__ import annotations

import copy
import hashlib
import pickle

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.sim.state_scenes import crossing

from soacraft.errors import CheckpointError, StateError
from soacraft.sim.states.sim_state import SimState, decode, encode


@pytest.fixture(scope="module")
def rich():
    """A state with something in every kind of field."""
    s = crossing("dop853")
    s.run(0.1)
    state = s.state()
    return msgspec.structs.replace(
        state,
        signs=dict(state.signs) | {"x": 1.0},
        closures={"loop": [0.5]},
        impulses={"a": [1.0, 2.0]},
        controls={"u": 1},
        callbacks=[[state.ns, 10]],
        held=dict(state.held)
        | {"whole": np.arange(3), "true": np.array([True]), "flag": True, "none": np.zeros((0, 3))},
    )


def test_nothing_in_it_can_be_changed(rich):
    for name in rich.__struct_fields__:
        with pytest.raises(AttributeError):
            setattr(rich, name, getattr(rich, name))
    arrays = [rich.q, rich.v, rich.work, rich.z, *(x for x in rich.held.values() if isinstance(x, np.ndarray))]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        if array.size:
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
    for name in ("signs", "closures", "impulses", "controls", "held"):
        with pytest.raises(TypeError):
            getattr(rich, name)["new"] = 1.0
    for name in ("forces", "dofs", "counts", "happened", "events", "callbacks", "ticks"):
        hash(getattr(rich, name))
    assert all(isinstance(x, tuple) for x in (*rich.closures.values(), *rich.impulses.values()))


def test_it_has_nothing_of_what_it_was_made_from():
    q, held = np.ones(2), {"a": np.ones(2)}
    state = _simple(q=q, held=held)
    q[:], held["a"][:] = 5.0, 5.0
    held["b"] = 1.0
    assert state.q.tolist() == [1.0, 1.0]
    assert {name: x.tolist() for name, x in state.held.items()} == {"a": [1.0, 1.0]}


def test_a_run_does_not_change_a_state_that_was_handed_out():
    s = crossing("rk4")
    s.run(0.05)
    state = s.state()
    before = encode(state)
    s.run(0.1)
    s.set_state(state)
    s.run(0.1)
    assert encode(state) == before


def test_copies_are_equal(rich):
    assert pickle.loads(pickle.dumps(rich)) == copy.deepcopy(rich) == copy.copy(rich) == decode(encode(rich)) == rich
    assert hash(decode(encode(rich))) == hash(rich)
    assert rich != msgspec.structs.replace(rich, ns=rich.ns + 1, callbacks=())
    assert rich != "a state"


finite = st.floats(allow_nan=False, allow_infinity=False)
names = st.text(max_size=8).filter(lambda x: x.isprintable())
arrays = st.lists(finite, max_size=4).map(np.array)
values = st.one_of(finite, st.integers(-(2**63), 2**63 - 1), st.booleans(), arrays)


def _simple(**parts):
    fields = {"ns": 0, "rest": 0.0, "origin": 0, "q": [], "v": [], "work": [], "z": [], "forces": ()}
    return SimState(**(fields | parts))


@given(
    q=arrays, z=arrays, rates=arrays, rest=st.floats(0.0, 9e-10), ns=st.integers(-(2**60), 2**60),
    forces=st.lists(names), signs=st.dictionaries(names, finite), controls=st.dictionaries(names, finite),
    held=st.dictionaries(names, values),
    closures=st.dictionaries(names, st.lists(finite, max_size=3)), length=st.none() | st.floats(1e-300, 1e300),
    independent=st.none() | st.lists(st.integers(0, 9)), embedding=st.none() | st.tuples(st.lists(st.integers(0, 9)),
    st.booleans()), ticks=st.lists(st.integers(0, 2**61)), within=st.booleans(), began=st.booleans(),
)  # fmt: skip
@tries(30)
def test_bytes_have_all_of_it(**parts):
    """Every bit: signs of zeros, kinds of numbers, empty arrays."""
    state = _simple(**parts)
    back = decode(encode(state))
    assert back == state
    assert encode(back) == encode(state)
    for name in ("ns", "rest", "forces", "length", "ticks", "within", "began", "closures", "signs"):
        assert getattr(back, name) == getattr(state, name)
    for name in ("q", "z", "rates"):
        assert getattr(back, name).tobytes() == np.asarray(parts[name], dtype=float).tobytes()
    for name, x in state.held.items():
        assert type(back.held[name]) is type(x)
        assert np.asarray(back.held[name]).tobytes() == np.asarray(x).tobytes()


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"q": [np.nan]}, "a number is not finite"),
        ({"length": 0.0}, "a step or a period is not positive"),
        ({"ns": 2**62}, "a time is out of range"),
        ({"rest": -1e-10}, "a time is out of range"),
        ({"ns": 5, "callbacks": ((4, 10),)}, "a time is out of range"),
        ({"q": np.zeros((2, 2))}, "q, v, work, z and rates have one axis"),
        ({"counts": (1, 2, 3)}, "a count or a length of steps is out of range"),
    ],
)
def test_what_no_state_can_be_is_refused(parts, text):
    with pytest.raises(StateError, match=f"a state of a run cannot be: {text}"):
        _simple(**parts)


def test_what_is_no_number_is_not_written():
    with pytest.raises(CheckpointError, match=r"at t = 0 s cannot be written: 'held a' is 'text', and no number"):
        encode(_simple(held={"a": "text"}))
    with pytest.raises(CheckpointError, match=r"'held a' is .*18446744073709551615.*, and no number"):
        encode(_simple(held={"a": np.uint64(2**64 - 1)}))


# -- hostile bytes -------------------------------------------------------------------------------------------------


@given(st.data())
@tries(60)
def test_flipped_and_missing_bytes_are_refused(rich, data):
    encoded = bytearray(encode(rich))
    bit = data.draw(st.integers(0, 8 * len(encoded) - 1))
    encoded[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(CheckpointError, match="damaged: its checksum is not that of its data"):
        decode(bytes(encoded))
    with pytest.raises(CheckpointError, match="damaged: its checksum is not that of its data"):
        decode(encode(rich)[: data.draw(st.integers(0, len(encoded) - 1))])


def signed(data):
    return hashlib.sha256(data).digest() + data


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(), x, max_size=3),
)


@given(st.binary() | plain.map(msgspec.msgpack.encode))
@tries(100)
def test_foreign_bytes_are_refused(data):
    with pytest.raises(CheckpointError, match="a state of a run cannot be read"):
        decode(signed(data))


@given(st.data())
@tries(80)
def test_forged_states_are_refused_or_states(rich, data):
    """One part replaced by anything: an error of checkpoints, or a state that is valid."""
    parts = msgspec.msgpack.decode(encode(rich)[32:])
    where = data.draw(st.sampled_from([parts, parts["state"], parts["names"], parts["names"][0]]))
    key = data.draw(st.sampled_from([*where] if isinstance(where, dict) else [*range(len(where))]))
    where[key] = data.draw(plain)
    try:
        state = decode(signed(msgspec.msgpack.encode(parts)))
    except CheckpointError:
        return
    assert decode(encode(state)) == state
    s = crossing("dop853")
    s.run(0.05)
    before = s.state()
    try:
        s.set_state(state)
    except CheckpointError:
        assert s.state() == before


def test_bytes_that_are_none_are_refused():
    with pytest.raises(StateError, match=r"decode takes the bytes of SimState\.encode\(\), got 'text'"):
        SimState.decode("text")
    with pytest.raises(CheckpointError, match="cannot be read"):
        decode(signed(b"\x91" * 100_000 + b"\xc0"))
