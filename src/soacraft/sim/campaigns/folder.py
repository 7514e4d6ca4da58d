"""The folder of a campaign: `campaign.json` says what it is, `shards/` has the rows of runs.

A shard is written aside, synced and renamed, so that what is there is whole. Shards are only added; several processes
may add theirs. What is read was perhaps written by others: sizes are limited, fields are checked.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from math import isfinite, nan
from pathlib import Path
from typing import Any

import msgspec

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.distributions import AnyDistribution
from soacraft.sim.identity import difference

FORMAT = "soacraft-campaign/1"
#: Bytes of one file at most.
_LARGEST = 256 * 2**20
#: Ranks of rows: of two rows of one run, the one with the lower rank counts.
_RANK = {"ok": 0, "failed": 1, "killed": 2}
Number = float | str | None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Description of a campaign."""

    format: str = FORMAT
    system: str
    """Name of the system,"""
    source: str
    """its source,"""
    digest: str
    """and a digest of what it is made of."""
    seed: int
    runs: int
    sampling: str
    t: float
    until: str
    batch: int
    """Runs of a batch; 0 where they go one by one."""
    why_single: str
    """Obstacle to batches."""
    vary: list[tuple[list[str], AnyDistribution]]
    measure: dict[str, str]
    """Texts; of functions, the empty text."""
    history: dict[str, str]
    points: int
    code: dict[str, dict[str, str]] = {}
    """Fingerprints of the functions, force elements and classes that make, move and measure the system."""
    accepted: list[str] = []
    """Digests of other code, with which the campaign was continued on purpose."""

    @property
    def identity(self) -> str:
        """Digest that is the same for all settings that give the same rows. The number of runs is part of it if points
        depend on it. A whole number and the same number with a decimal point are one."""
        canonical = msgspec.convert(msgspec.to_builtins(self), Settings)  # numbers as a file gives them back
        return _identity(msgspec.to_builtins(canonical))


def _identity(settings: dict[str, Any]) -> str:
    """The checksum of settings, given as a file has them."""
    runs = settings["runs"] if settings["sampling"] == "latin" else 0
    plain = {**settings, "runs": runs, "source": "", "accepted": []}
    return hashlib.sha256(msgspec.json.encode(plain)).hexdigest()


#: Names of shards: the first run, how many, the checksum.
_NAME = re.compile(r"[0-9]{9,20}-[0-9]{1,20}-([0-9a-f]{12})\.json")


class Row(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The result of one run. `status` is "ok", "failed" or "killed"; `how` is "batch", "single", or "single: why"."""

    run: int
    status: str
    inputs: list[Number]
    measures: list[Number]
    text: str = ""
    t: float | None = None
    how: str = "single"
    seconds: float = 0.0
    checkpoint: str = ""
    history: dict[str, list[Number]] = {}


class _Shard(msgspec.Struct, forbid_unknown_fields=True):
    campaign: str
    rows: list[Row]


def told(x: float) -> Number:
    """A number for a file: JSON knows none that is not finite."""
    return float(x) if isfinite(x) else str(float(x))


def number(x: Number) -> float:
    """A number from a file."""
    return nan if x is None else float(x)


class Folder:
    """Reads and writes the files of a campaign."""

    def __init__(self, path: Path) -> None:
        self.path, self._shards = path, path / "shards"
        self._seen: dict[str, list[Row]] = {}

    # -- settings ----------------------------------------------------------------------------------------------

    def settings(self) -> Settings | None:
        """Settings of the campaign in the folder; None if the folder has none."""
        place = self.path / "campaign.json"
        if not place.exists():
            return None
        settings: Settings = _read(place, Settings)
        return settings

    def begin(self, settings: Settings, accept_changes: bool = False) -> Settings:
        """Make the folder, or see that it is that of this campaign. The settings are returned: those of the folder,
        where code that has changed is accepted."""
        old = self.settings()
        if old is not None:
            self._compare(old, settings)
            settings = self._accepted(old, settings, accept_changes)
            if old.runs >= settings.runs and old.accepted == settings.accepted:
                return settings
        elif self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise CampaignError(f"{str(self.path)!r} is there and is no folder of a campaign: give another folder=.")
        try:
            self._shards.mkdir(parents=True, exist_ok=True)
            plain = msgspec.to_builtins(settings)
            if old is not None:  # shards may have the identity of the numbers as they were written
                plain["vary"] = self._as_written()["vary"]
            text = msgspec.json.format(msgspec.json.encode(plain), indent=1)
            write_aside(self.path / "campaign.json", text)
        except OSError as wrong:
            raise CampaignError(f"{str(self.path)!r} cannot be written: {wrong}.") from None
        return settings

    def _as_written(self) -> dict[str, Any]:
        """The settings as the folder has them, numbers with or without a decimal point; none where it has none."""
        place = self.path / "campaign.json"
        tables: dict[str, Any] = _read(place, dict[str, Any]) if place.exists() else {}
        return tables

    def _accepted(self, old: Settings, new: Settings, accept_changes: bool) -> Settings:
        """Settings with the code of the folder, where the code of now is the same or accepted; raise otherwise."""
        other = difference(old.code, new.code)
        digest = hashlib.sha256(msgspec.json.encode(new.code, order="sorted")).hexdigest()
        if other and not accept_changes and digest not in old.accepted:
            raise CampaignError(
                f"{str(self.path)!r} has runs that were computed with other code: {other}. Rows of both would mix: "
                "give another folder=; or go on with the code of now: accept_changes=True."
            )
        accepted = [*old.accepted, digest] if other and digest not in old.accepted else old.accepted
        return msgspec.structs.replace(new, code=old.code, accepted=accepted)

    def _compare(self, old: Settings, new: Settings) -> None:
        cure = "give another folder=, or the settings that it has"
        for name in sorted(Settings.__struct_fields__, key=lambda x: x in ("batch", "why_single", "digest")):
            a, b = getattr(old, name), getattr(new, name)
            if name in ("source", "code", "accepted"):  # what it is made of decides; code is compared by itself
                continue
            if name == "runs":
                if a != b and new.sampling == "latin":
                    raise CampaignError(
                        f"{str(self.path)!r} is a Latin hypercube of {a} runs, whose points depend on that number; {b} "
                        "cannot be had there. Give another folder=, or sampling='sobol'."
                    )
            elif a != b:
                shown = "another" if name in ("digest", "vary") else f"{a!r:.60}, not {b!r:.60}"
                what = "system (its parts, parameters, model or state)" if name == "digest" else name
                raise CampaignError(f"{str(self.path)!r} is a campaign of {what} {shown}: {cure}.")

    # -- rows --------------------------------------------------------------------------------------------------

    def add(self, rows: Sequence[Row], identity: str) -> None:
        """Write rows as a shard."""
        if not rows:
            return
        rows = sorted(rows, key=lambda x: x.run)
        content = msgspec.json.encode(_Shard(identity, list(rows)))
        name = f"{rows[0].run:09d}-{len(rows)}-{_checksum(content)}.json"
        try:
            write_aside(self._shards / name, content)
        except OSError as wrong:
            raise CampaignError(
                f"the shard of run {rows[0].run} cannot be written: {wrong}. `run` again goes on."
            ) from None
        self._seen[name] = list(rows)

    def rows(self, identity: str, width: int, measures: int) -> dict[int, Row]:
        """All rows by the number of their run."""
        rows: dict[int, Row] = {}
        identities = [identity]
        names = sorted(x.name for x in self._shards.glob("*.json")) if self._shards.is_dir() else []
        for name in names:
            if name not in self._seen:
                shard = _read(self._shards / name, _Shard, _of_name(name))
                if shard.campaign not in identities and len(identities) == 1:  # shards of an earlier version
                    identities += [_identity(x) for x in (self._as_written(),) if x]
                if shard.campaign not in identities:
                    raise CampaignError(f"{str(self._shards / name)!r} is a shard of another campaign: take it away.")
                self._seen[name] = shard.rows
            for row in self._seen[name]:
                if row.status not in _RANK or len(row.inputs) != width or len(row.measures) != measures or row.run < 0:
                    raise CampaignError(
                        f"{str(self._shards / name)!r}: the row of run {row.run} is not of this campaign."
                    )
                old = rows.setdefault(row.run, row)
                if _RANK[row.status] < _RANK[old.status]:
                    rows[row.run] = row
                elif row.status == old.status == "ok" and row.how == old.how and row.measures != old.measures:
                    raise CampaignError(
                        f"run {row.run} is there twice with other results, {old.measures!r:.60} and "
                        f"{row.measures!r:.60}: the system is not the same each time it is made."
                    )
        return rows


def write_aside(place: Path, content: bytes) -> None:
    """Write a file under another name, sync it, and rename it: it is there whole, or not at all."""
    aside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(place)
    finally:
        aside.unlink(missing_ok=True)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _of_name(name: str) -> str:
    """The checksum that the name of a shard says; empty for other names."""
    match = _NAME.fullmatch(name)
    return match[1] if match else ""


def _read(place: Path, kind: Any, checksum: str = "") -> Any:
    """The content of a file, which must have the checksum that its name says, if any."""
    try:
        if place.stat().st_size > _LARGEST:
            raise CampaignError(f"{str(place)!r} has more than {_LARGEST // 2**20} MB.")
        content = place.read_bytes()
        if checksum and _checksum(content) != checksum:
            raise CampaignError(
                f"{str(place)!r} is damaged: its checksum is {_checksum(content)}, and its name says {checksum}. Take "
                "the file away: `run` again computes its runs."
            )
        return msgspec.json.decode(content, type=kind)
    except (OSError, msgspec.MsgspecError, RecursionError, ValueError, TypeError) as wrong:
        if isinstance(wrong, CampaignError):
            raise
        raise CampaignError(f"{str(place)!r} cannot be read: {wrong}.") from None


def missing(rows: Iterable[int], runs: int) -> list[int]:
    """The runs that have no row."""
    done = set(rows)
    return [i for i in range(runs) if i not in done]
