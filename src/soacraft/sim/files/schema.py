"""The format `soacraft-system/1`: what is where in the TOML or the JSON.

Each class is one kind of table; a field it does not know is refused. A field that may be left out has a default.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

FORMAT: Final = "soacraft-system/1"

#: Letters of a name at most.
LONGEST_NAME: Final = 1000
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Numbers = tuple[float, ...]
Period = Annotated[float | str, Meta(description='A number, or a fraction as text: "1/3".')]


class Table(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A table of the format."""


class Mount(Table):
    """Mount of a part: a dof or a node of a plant."""

    plant: Name
    dof: Name = ""
    node: Name = ""


class Load(Table):
    """A force element of a plant: its name and class. The program that loads the file provides it."""

    name: Name
    type: Name


class Plant(Table):
    """A model: `model` by its name in the library, or `file` relative to this one, or `document` with the model in
    soacraft's own format, an object or its text. `q` and `v` are its state at the start, where they are not its own."""

    model: Name = ""
    file: Annotated[str, Meta(max_length=4096)] = ""
    document: str | dict[str, Any] = ""
    solver: Name = "auto"
    q: Numbers | None = None
    v: Numbers | None = None
    forces: tuple[Load, ...] = ()


class Part(Table):
    """A component: its class and parameters. `every` is the period of its ticks in seconds, or `rate` their number in a
    second; `offset`, in seconds, is the first one. One that is `given` is more than its parameters, as a link to
    another program: the program that loads gives it again. One that is not `active` waits to be made so."""

    type: Name
    params: dict[str, Any] = {}
    every: Period | None = None
    rate: Period | None = None
    offset: float = 0.0
    at: Mount | None = None
    convert: bool = False
    given: bool = False
    active: bool = True


class Assembly(Table):
    """An assembly: its class, which builds its parts, and parameters."""

    type: Name
    params: dict[str, Any] = {}
    at: Mount | None = None


class Frame(Table):
    """A frame of the user, on the inertial one, on that of a plant ("arm:hand") or on another: fixed, by `translation`
    and `rotation` (a matrix, by rows), or moved by a `port`."""

    parent: Name = "inertial"
    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]] | None = None
    port: Name = ""


class Sequence(Table):
    """Phases with the components that are active in each, transitions between them (`source`, `target` and one of `on`,
    `when`, `after`), and actions where they begin."""

    phases: dict[Name, tuple[Name, ...]]
    transitions: tuple[dict[str, Any], ...] = ()
    actions: dict[Name, tuple[dict[str, Any], ...]] = {}


class Connection(Table, rename={"source": "from", "target": "to"}):
    """An output that fills an input, or all that match a pattern."""

    source: Name
    target: Name
    convert: bool = False


class System(Table):
    """A whole system. Names of parts have slashes between levels, as in "rover/left/motor"."""

    format: Literal["soacraft-system/1"]
    name: Name
    integrator: Name = "dop853"
    rtol: float = 1e-9
    step: float | None = None
    max_step: float | None = None
    t: float = 0.0
    seed: int = 0
    connections: tuple[Connection, ...] = ()
    solve_loops: tuple[Name, ...] = ()
    plants: dict[Name, Plant] = {}
    frames: dict[Name, Frame] = {}
    parts: dict[Name, Part] = {}
    assemblies: dict[Name, Assembly] = {}
    sequences: dict[Name, Sequence] = {}
    groups: Annotated[dict[Name, Name], Meta(description="Assemblies whose parts are listed: their classes.")] = {}
    exports: Annotated[dict[Name, Name], Meta(description="Ports of groups: those of parts that they are.")] = {}
    starts: Annotated[dict[Name, Any], Meta(description="States of components at the start, by name.")] = {}


class Header(msgspec.Struct):
    """Head of a file, with the version of its format."""

    format: str


#: Classes of the entries of a system, and of tables within others: for messages.
SECTIONS: Final[dict[str, Any]] = {
    "plants": Plant, "frames": Frame, "parts": Part, "assemblies": Assembly,
    "sequences": Sequence, "groups": str, "exports": str
}  # fmt: skip
INNER: Final[dict[str, type[Table]]] = {"at": Mount, "forces": Load, "connections": Connection}


def json_schema() -> dict[str, Any]:
    """The JSON schema of the format (draft 2020-12); it holds for TOML as well.

    >>> json_schema()["$defs"]["Connection"]["required"]
    ['from', 'to']
    """
    return msgspec.json.schema(System)
