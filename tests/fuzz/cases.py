"""The inputs, each a function of its format, the seed and its number alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import byte_damage, json_damage, text_damage, toml_damage, xml_damage
from tests.fuzz.seeds import FORMATS, NUMBERS_AS, SYSTEMS_AS, seeds, weights

_YAML = (
    b"closed_loop: [[a, b]]", b"type: ['6d']", b"type: [3d, 3d]", b"name_mot: [a]", b"name_mot:", b"&a [*a]", b"*a",
    b"!!python/object:os.system []", b"? a\n: b", b"- ", b"{", b"[" * 50, b"\t", b"'", b'"', b"#", b"%YAML 1.1\n---\n",
    b"<<: {a: 1}", b"1: 2", b"null: 1", b"a: .nan", b"a: 2001-01-01", b"a: 0x_", b"a: 1:2:3.4", b"a: =", b"---\na: 1\n",
    b"...", b"a: !!binary x", b"a: |\n x", b"a: >-\n x", b"closed_loop:\n- [x, y]\n", b"a: " + b"9" * 5000, b"\xff",
)  # fmt: skip


@dataclass
class Case:
    """Files to be put in a folder, which of them is loaded, and how."""

    files: dict[str, bytes]
    main: str
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Put the files in a folder; the path of the main one."""
        for name, data in self.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
        return folder / self.main


def make(kind: str, seed: int, number: int) -> Case:
    """Input `number` of a format."""
    rng = Random(f"{kind}/{seed}/{number}")
    chosen, other = rng.choices(seeds(kind), weights(kind), k=2)
    files, main, data = dict(chosen.beside), FORMATS[kind], chosen.data
    how = rng.random()
    if kind in NUMBERS_AS:
        if 0.12 < how < 0.82 and kind != "npz":
            data = text_damage.damaged(rng, data)
        if how > 0.78 or (kind == "npz" and how > 0.2):
            data = byte_damage.damaged(rng, data, other.data)
        return Case({main: data}, main)
    if kind in SYSTEMS_AS:
        if 0.12 < how < 0.82:
            data = (toml_damage if kind == "toml" else json_damage).damaged(rng, data)
        if how > 0.78:
            data = byte_damage.damaged(rng, data, other.data)
        return Case({**files, main: data}, main)
    if how < 0.82:
        data = json_damage.damaged(rng, data) if kind == "json" else xml_damage.damaged(kind, rng, data)
    if how > 0.78:
        data = byte_damage.damaged(rng, data, other.data)
    options: dict[str, Any] = {}
    if kind == "urdf":
        options = {"merge_fixed": rng.random() < 0.3, "free": rng.random() < 0.3}
        main = "model.xml" if rng.random() < 0.05 else main
        if files and rng.random() < 0.5:
            files["robot.yaml"] = _yaml(rng, files["robot.yaml"])
            data = chosen.data if rng.random() < 0.8 else data
    elif files and rng.random() < 0.2:
        name = rng.choice(list(files))
        files[name] = byte_damage.damaged(rng, files[name], other.data)
    options["strict"] = rng.random() < 0.1
    options["lenient"] = rng.random() < 0.4
    return Case({**files, main: data}, main, options)


def _yaml(rng: Random, data: bytes) -> bytes:
    if rng.random() < 0.5:
        at = rng.randrange(len(data) + 1)
        return data[:at] + rng.choice((b"", b"\n")) + rng.choice(_YAML) + rng.choice((b"", b"\n")) + data[at:]
    return byte_damage.damaged(rng, data, rng.choice(_YAML))
