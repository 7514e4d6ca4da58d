"""`report`: a table of the modes of a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft import markup
from soacraft.cards import card, part
from soacraft.errors import ModelError
from soacraft.flexible.compare import EffectiveMass, effective_mass
from soacraft.model.modal import ModalData
from soacraft.model.modal.data import mode_count
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """Table of the modes of a body. `modes` has for each its name, kind and frequency in Hz with the other modes held;
    `participation` (n, 6) is the momentum per unit rate of each mode, along and about x, y, z; `vibrations` are those
    of the body with its frame held (`effective_mass`). Printed, it is a table.
    """

    modes: tuple[tuple[str, str, float], ...]
    participation: Array
    vibrations: EffectiveMass
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = ["mode      kind                  Hz alone   momentum x, y, z; about x, y, z"]
        for (name, kind, hz), row in zip(self.modes, self.participation, strict=True):
            lines.append(f"{name:<9} {kind:<20} {hz:>9.5g}   {_row(row[:3])}; {_row(row[3:])}")
        lines += ["", "vibration with the frame held, Hz   part of the mass x, y, z; of the inertia about x, y, z"]
        for hz, row in zip(self.vibrations.hz, self.vibrations.parts, strict=True):
            lines.append(f"{hz:>32.6g}   {_row(100 * row[:3], '%')}; {_row(100 * row[3:], '%')}")
        total = 100 * self.vibrations.parts.sum(axis=0)
        lines.append(f"{'together':>32}   {_row(total[:3], '%')}; {_row(total[3:], '%')}")
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Card of the report."""
        momentum = ("momentum x", "y", "z", "about x", "y", "z")
        share = ("mass x", "y", "z", "inertia about x", "y", "z")
        modes = [
            (name, kind, f"{hz:.5g}", *map(_number, row))
            for (name, kind, hz), row in zip(self.modes, self.participation, strict=True)
        ]
        parts = 100 * self.vibrations.parts
        rows = [(f"{hz:.6g}", *map(_percent, row)) for hz, row in zip(self.vibrations.hz, parts, strict=True)]
        rows.append(("together", *map(_percent, parts.sum(axis=0))))
        return card(
            f"{mode_count(len(self.modes))} of a flexible body",
            part("modes", lambda: markup.table(["mode", "kind", "Hz alone", *momentum], modes), True),
            part("vibrations with the frame held", lambda: markup.table(["Hz", *share], rows)),
            *map(markup.paragraph, self.notes),
        )


def report(data: ModalData) -> Report:
    """Report of the modes of a body: static or normal, their interface and direction, their frequencies, participation,
    effective masses and inertias, and the notes of the checks when they were made.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=8)
    >>> ends = fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(2, 0, 0))
    >>> table = fx.report(fx.reduce(fe, ["root", "tip"], modes=2))
    >>> table.modes[1][1], table.modes[6][1]
    ('static tip.ty', 'normal 151.056 Hz')
    """
    if not isinstance(data, ModalData):
        raise ModelError(f"modal data are needed for a report, got {data!r:.60}.")
    alone = np.sqrt(np.maximum(np.diagonal(data.K), 0.0) / np.diagonal(data.M)) / (2.0 * np.pi)
    coupling = mass_matrix(data, np.zeros(data.n))[6:, :6]
    modes = tuple((x, y, float(z)) for x, y, z in zip(data.modes, data.kinds, alone, strict=True))
    return Report(modes, np.concatenate([coupling[:, 3:], coupling[:, :3]], axis=1), effective_mass(data), data.notes)


def _number(x: float) -> str:
    return f"{0.0 if abs(x) < 1e-9 else x:.3g}"


def _percent(x: float) -> str:
    return f"{_number(x)} %"


def _row(values: Array, end: str = "") -> str:
    return " ".join(f"{0.0 if abs(x) < 1e-9 else x:9.3g}{end}" for x in values)
