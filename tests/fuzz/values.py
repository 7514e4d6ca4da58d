"""Values that have broken readers before."""

from __future__ import annotations

from random import Random

NUMBERS = (
    "0 -0 1 -1 2 3 0.5 -0.5 1e-3 1e3 1e6 1e9 1e16 1e99 -1e99 1e100 1e101 1e155 1e200 1e308 -1e308 1e309 1e999 -1e999 "
    "1e-99 1e-200 1e-308 5e-324 1e-400 nan NaN -nan inf -inf Infinity 0x10 1_000 1,5 1. .5 . - + e5 1e 1e+ 1d5 --1 "
    "2147483647 2147483648 -2147483649 4294967296 9223372036854775808 1e19 18446744073709551616 255 256 257 "
    "0.1e1 00012 ٣ ½ 1\u00a02 3.141592653589793 6.283185307179586 180 360 1e-16 0.9999999999 1.0000001"
).split()
TEXTS = (
    "", " ", "\t", "\n", "a", "world", "inertial", "base", "root", "a/b", "/", "\\", "..", ".", "../x",
    "../../etc/passwd", "/etc/passwd", "/dev/zero", "file:///etc/passwd", "package://a/b.stl", "http://a.b/c",
    "model.xml", "model.urdf", "model.json", "robot.yaml", "x" * 300, "x" * 5000, "é", "\u202e", "\ufeff", "\u0000",
    "\u0001", "\x7f", "\x85", "\ud800", "𝔸", "%s%n%x", "{}", "{0}", "$(find a)/b", "${x}", "$(optenv A 1)", "<a/>",
    "&amp;", "]]>", "'", '"', "true", "false", "auto", "null", "None", "0 0 0", "1 0 0", "0 0 1", "1 2 3", "1 2 3 4",
    "1 0 0 0", "0 0 0 0", "1 1", "0 1", "1 0", "nan nan nan", "1e200 0 0", "1 " * 50, "0 0 0 0 0 0", "1e99 1e99 1e99",
    "-1 -1 -1", "fixed", "revolute", "continuous", "prismatic", "floating", "planar", "hinge", "slide", "ball",
    "free", "box", "sphere", "mesh", "plane", "hfield", "sdf", "capsule", "ellipsoid", "cylinder",
)  # fmt: skip


def number(rng: Random) -> str:
    """A number, or nearly one."""
    if rng.random() < 0.15:
        return repr(rng.choice((1.0, -1.0)) * 10.0 ** rng.uniform(-320, 308))
    return rng.choice(NUMBERS)


def text(rng: Random) -> str:
    """A value of an attribute: one number, some, or a word."""
    kind = rng.random()
    if kind < 0.45:
        return rng.choice(TEXTS)
    if kind < 0.75:
        return number(rng)
    return " ".join(number(rng) for _ in range(rng.choice((2, 3, 3, 3, 4, 6, 7, 11))))


def one_changed(rng: Random, given: str) -> str:
    """A list of numbers with one of them changed, dropped or doubled."""
    parts = given.split() or [""]
    at = rng.randrange(len(parts))
    new = [number(rng)]
    parts[at : at + 1] = rng.choice((new, new, new, [], [parts[at]] * 2, [f"-{parts[at]}"]))
    return " ".join(parts)
