"""Damage to TOML: values of its tables, lines and words, and pieces that mean harm to a reader."""

from __future__ import annotations

import json
import tomllib
from contextlib import suppress
from random import Random

import tomli_w
from tests.fuzz import json_damage, text_damage

_PIECES = (
    b"a.b.c = 1", b"[a]", b"[[a]]", b"[parts.wave]", b"[parts.'a/b']", b"a = 1979-05-27T07:32:00Z", b"a = 07:32:00",
    b"a = inf", b"a = nan", b"a = 0x" + b"f" * 400, b"a = " + b"9" * 5000, b"a = " + b"[" * 3000, b"a=" + b"{a=" * 3000,
    b".".join([b"a"] * 5000) + b" = 1", b"[" + b".".join([b"a"] * 5000) + b"]", b"'''", b'"""', b"\\u0000", b"\\ud800",
    b"#", b"a = 1_000", b"a = 1e400", b"a = ''", b'"" = 1', b"a = -0", b"file = '../a.json'", b"file = '/etc/passwd'",
    b"model = 'arm7'", b"rate = 1e-300", b"every = '1/0'", b"every = '9e999999'", b"size = 1000000000", b"seed = -1",
    b"type = 'os.system'", b"\xff", b"\r", b"a = [1, 'b', {c = 2}]", b"step = 0", b"step = 1e-12", b"t = 1e300",
    b"q = [1e308, -1e308]", b"solver = 'x'", b"integrator = 'rk5'", b"document = '{}'", b"convert = 1",
)  # fmt: skip


def damaged(rng: Random, data: bytes) -> bytes:
    """The file with some of it changed."""
    kind = rng.random()
    if kind < 0.6:
        hurt = json_damage.damaged(rng, json.dumps(tomllib.loads(data.decode())).encode())
        with suppress(ValueError, TypeError, AttributeError, RecursionError):  # what TOML cannot hold
            return tomli_w.dumps(json.loads(hurt)).encode("utf-8", "surrogatepass")
    if kind < 0.85:
        return text_damage.damaged(rng, data)
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice((b"", b"\n")) + rng.choice(_PIECES) + rng.choice((b"", b"\n")) + data[at:]
