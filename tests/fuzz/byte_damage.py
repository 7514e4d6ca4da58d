"""Damage to bytes that knows nothing of what they mean, and pieces that mean harm to a reader of XML."""

from __future__ import annotations

from random import Random

_PIECES = (
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>", b"<!DOCTYPE robot SYSTEM 'file:///etc/passwd'>", b"<!ENTITY a 'b'>", b"&a;",
    b"&#0;", b"&#xD800;", b"&#38;", b"&lt;", b"<![CDATA[<a>]]>", b"]]>", b"<!-- -- -->", b"<!--", b"-->", b"<?php ?>",
    b"<?xml version='1.0' encoding='utf-16'?>", b"<?xml version='1.1'?>", b"<?xml-stylesheet href='a'?>",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
    b"\xe2\x80\xa8", b"\r", b"\n" * 9, b" " * 5000, b"<", b">", b"/>", b"'", b'"', b"<a>", b"</a>",
    b"<a:b xmlns:a='c'/>", b" a='1' a='2'", b"{", b"}", b"[", b"]", b",", b":", b"\\u0000", b"\\ud800", b"1e999",
    b"NaN", b"-", b"9" * 400, b"0" * 2000, b"[" * 2000, b'{"a":' * 2000,
)  # fmt: skip


def damaged(rng: Random, data: bytes, other: bytes) -> bytes:
    """The bytes with one to a few changes; `other` is a file to take pieces from."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = _hurt(rng, data, other)
    return data


def _hurt(rng: Random, data: bytes, other: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 1, 2, 8, 40, 400)))
    match rng.randrange(8):
        case 0 | 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + rng.choice(_PIECES) + data[at:]
        case 3:
            return data[:at] + data[end:]
        case 4:
            return data[:at] + data[at:end] * rng.choice((2, 3)) + data[end:]
        case 5:
            return data[:at]
        case 6:
            return data[:at] + other[rng.randrange(len(other) + 1) :]
        case _:
            start = rng.randrange(len(other) + 1)
            return data[:at] + other[start : start + rng.choice((20, 200, 2000))] + data[at:]
