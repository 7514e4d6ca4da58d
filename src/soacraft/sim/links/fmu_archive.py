"""Contents of an FMU, read without trusting it: names of files, sizes, and modelDescription.xml; nothing is loaded."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from soacraft.errors import LinkError, ModelFileError, WiringError, near
from soacraft.files.xml_tree import MAX_XML, Element, read_xml
from soacraft.sim.components.units import read_unit

#: Bounds of an FMU: files in it, and bytes of all of them when they are unpacked.
MAX_FILES, MAX_UNPACKED = 20_000, 2**30
_KINDS = {
    "Real": float,
    "Integer": int,
    "Enumeration": int,
    "Boolean": bool,
    "Float64": float,
    "Float32": float,
    **{f"{sign}Int{bits}": int for sign in ("", "U") for bits in (8, 16, 32, 64)},
}


class Variable(NamedTuple):
    """A variable of an FMU: `kind` is its type in the standard, `length` None of a single number."""

    name: str
    reference: int
    kind: str
    causality: str
    unit: str | None
    length: int | None

    @property
    def dtype(self) -> type:
        """The type of its numbers."""
        return _KINDS[self.kind]


class Description(NamedTuple):
    """Contents of modelDescription.xml."""

    path: Path
    version: int
    name: str
    token: str
    """The guid, or token of instantiation."""
    kinds: dict[str, str]
    """"cs" and "me", with the identifier of each."""
    serializes: dict[str, bool]
    completes: bool
    """True if model exchange needs a call after each completed step."""
    variables: dict[str, Variable]
    ignored: tuple[str, ...]
    """Inputs and outputs that are no numbers, and units that are not known, as texts."""
    indicators: int
    states: int
    """Continuous states, of model exchange."""


def read_fmu(path: Path) -> Description:
    """The description of an FMU; refused where it is not one, or could do harm by being unpacked."""
    with _opened(path) as archive:
        _require_harmless(path, archive.infolist())
        try:
            about = archive.getinfo("modelDescription.xml")
        except KeyError:
            raise LinkError(f"{str(path)!r} is no FMU: it has no modelDescription.xml.") from None
        if about.file_size > MAX_XML:
            raise LinkError(f"modelDescription.xml of {str(path)!r} has {about.file_size} bytes, more than {MAX_XML}.")
        data = _read(path, archive, about)
    try:
        root = read_xml(data, f"{path}/modelDescription.xml")
        return _described(path, root)
    except ModelFileError as wrong:
        raise LinkError(f"the FMU cannot be read: {wrong}") from None


def unpack(path: Path, folder: Path) -> None:
    """Unpack an FMU, which was read before."""
    with _opened(path) as archive:
        _require_harmless(path, archive.infolist())
        for info in archive.infolist():
            target = folder / info.filename
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_read(path, archive, info))


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError) as wrong:
        raise LinkError(f"{str(path)!r} cannot be opened as an FMU, which is a zip file: {wrong}.") from None


def contents(path: Path) -> list[tuple[str, int]]:
    """Names and checksums of the files of an archive, whenever it was packed."""
    with _opened(path) as archive:
        return sorted((x.filename, x.CRC) for x in archive.infolist())


def _read(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as file:
            return file.read(info.file_size)
    except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, EOFError, ValueError) as wrong:
        raise LinkError(f"{info.filename!r:.80} of the FMU {str(path)!r} cannot be unpacked: {wrong}.") from None
    except Exception as wrong:  # of the libraries that unpack
        raise LinkError(f"{info.filename!r:.80} of the FMU {str(path)!r} is damaged: {wrong}.") from None


def _require_harmless(path: Path, infos: list[zipfile.ZipInfo]) -> None:
    if len(infos) > MAX_FILES:
        raise LinkError(f"the FMU {str(path)!r} has {len(infos)} files, more than {MAX_FILES}.")
    total = sum(x.file_size for x in infos)
    if total > MAX_UNPACKED:
        raise LinkError(f"the FMU {str(path)!r} would unpack to {total} bytes, more than {MAX_UNPACKED}.")
    seen: set[str] = set()
    for x in infos:
        name = x.filename
        parts = PurePosixPath(name).parts
        outside = name.startswith(("/", "\\")) or ".." in parts or "\\" in name or ":" in name or "\0" in name
        if outside or not parts or stat.S_ISLNK(x.external_attr >> 16):
            raise LinkError(f"the FMU {str(path)!r} has {name!r:.80}, which would be written outside of its folder.")
        if name.rstrip("/").lower() in seen and not x.is_dir():
            raise LinkError(f"the FMU {str(path)!r} has {name!r:.80} twice.")
        seen.add(name.rstrip("/").lower())


def _described(path: Path, root: Element) -> Description:
    said = root.attributes.get("fmiVersion", "")
    if root.tag != "fmiModelDescription" or not (said == "2.0" or said.startswith("3.")):
        raise LinkError(f"{str(path)!r} is of FMI version {said!r:.20}, and 2.0 and 3.0 are known.")
    version = int(said[0])
    kinds, serializes, completes = {}, {}, False
    for short, tag in (("cs", "CoSimulation"), ("me", "ModelExchange")):
        of = next((x for x in root.children if x.tag == tag), None)
        if of is None:
            continue
        kinds[short] = _identifier(path, of.attributes.get("modelIdentifier", ""))
        word = "state" if version == 2 else "State"
        flags = [of.attributes.get(f"can{x}FMU{word}") in ("true", "1") for x in ("GetAndSet", "Serialize")]
        serializes[short] = all(flags)
        if short == "me" and version == 2:
            completes = of.attributes.get("completedIntegratorStepNotNeeded") not in ("true", "1")
        elif short == "me":
            completes = of.attributes.get("needsCompletedIntegratorStep") in ("true", "1")
    if not kinds:
        raise LinkError(f"the FMU {str(path)!r} offers neither co-simulation nor model exchange.")
    variables, ignored = _variables(path, root, version)
    token = root.attributes.get("guid" if version == 2 else "instantiationToken", "")
    structure = [x for y in root.children if y.tag == "ModelStructure" for x in y.children]
    if version == 2:
        indicators = _whole(path, root.attributes.get("numberOfEventIndicators", "0"))
        states = sum(len(x.children) for x in structure if x.tag == "Derivatives")
    else:
        indicators, states = (
            sum(x.tag == tag for x in structure) for tag in ("EventIndicator", "ContinuousStateDerivative")
        )
    name = root.attributes.get("modelName", path.stem)
    return Description(
        path, version, name, token, kinds, serializes, completes, variables, tuple(ignored), indicators, states
    )


def _whole(path: Path, text: str | None) -> int:
    if text is None or not text.isdigit() or len(text) > 10:
        raise LinkError(f"modelDescription.xml of {str(path)!r} has {text!r:.40} where a whole number belongs.")
    return int(text)


def _identifier(path: Path, text: str) -> str:
    if not text.replace("_", "a").isalnum() or not text.isascii():
        raise LinkError(f"the FMU {str(path)!r} has the identifier {text!r:.60}, which is no name in C.")
    return text


def _variables(path: Path, root: Element, version: int) -> tuple[dict[str, Variable], list[str]]:
    listed = next((x.children for x in root.children if x.tag == "ModelVariables"), [])
    types = {}
    for group in root.children:
        if group.tag == "TypeDefinitions":
            for each in group.children:
                inner = each.children[0] if version == 2 and each.children else each
                types[each.attributes.get("name", "")] = inner.attributes.get("unit")
    variables: dict[str, Variable] = {}
    ignored = []
    for x in listed:
        inner = x.children[0] if version == 2 and x.children else x
        name, causality = x.attributes.get("name", ""), x.attributes.get("causality", "local")
        kind = inner.tag
        if kind not in _KINDS:
            if causality in ("input", "output"):
                ignored.append(f"the {causality} {name!r} is a {kind}")
            continue
        unit = inner.attributes.get("unit") or types.get(inner.attributes.get("declaredType", ""))
        if unit is not None:
            try:
                read_unit(unit)
            except WiringError:
                ignored.append(f"the unit {unit!r} of {name!r} is not known")
                unit = None
        sizes = [y.attributes.get("start") for y in x.children if y.tag == "Dimension"] if version == 3 else []
        if any(y is None for y in sizes):
            ignored.append(f"{name!r} has a size that is another variable")
            continue
        count = 1
        for y in sizes:
            count *= _whole(path, y)
        reference = _whole(path, x.attributes.get("valueReference"))
        variables[name] = Variable(name, reference, kind, causality, unit, count if sizes else None)
    return variables, ignored


def chosen(about: Description, names: dict[str, object]) -> dict[str, Variable]:
    """Variables of an FMU with these names; others are refused."""
    for name in names:
        if name not in about.variables:
            raise LinkError(f"the FMU {about.name!r} has no variable {name!r:.60}{near(str(name), about.variables)}")
    return {name: about.variables[name] for name in names}
