"""The options with which every command loads its model: `--mesh-root`, `--free`, `--lenient`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import soacraft as sc


def add_options(parser: argparse.ArgumentParser) -> None:
    """Let a command take the options."""
    parser.add_argument(
        "--mesh-root",
        action="append",
        default=[],
        metavar="FOLDER",
        help="a folder in which meshes and packages may be; can be given several times",
    )
    parser.add_argument("--free", action="store_true", help="the base of a URDF robot is free, not welded to the world")
    parser.add_argument("--lenient", action="store_true", help="local faults of the file are lines of its report")


@dataclass(frozen=True)
class Loading:
    """Options with which a command loads its model.

    >>> Loading(free=True).load("arm7")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelFileError: 'arm7' defines the hinge of its base, so root=Free() cannot be used; ...
    """

    mesh_roots: tuple[str, ...] = ()
    free: bool = False
    lenient: bool = False

    @classmethod
    def given(cls, arguments: argparse.Namespace) -> Loading:
        """Options from the arguments of a command."""
        return cls(tuple(arguments.mesh_root), arguments.free, arguments.lenient)

    def code(self, model: str) -> str:
        """Call of `sc.load` with these options, as a line of Python.

        >>> Loading(lenient=True).code("arm7")
        "mb = sc.load('arm7', lenient=True)"
        """
        arguments = [repr(model)]
        arguments += ["root=sc.Free()"] * self.free
        arguments += [f"mesh_roots={self.mesh_roots!r}"] * bool(self.mesh_roots)
        arguments += ["lenient=True"] * self.lenient
        return f"mb = sc.load({', '.join(arguments)})"

    def load(self, model: str, strict: bool = False) -> sc.Multibody:
        """The model of a file, or one by name."""
        root = sc.Free() if self.free else None
        return sc.load(model, root=root, strict=strict, mesh_roots=self.mesh_roots, lenient=self.lenient)


AS_IT_IS = Loading()
"""No option given."""
