"""modelDescription.xml of an exported FMU: units, the independent variable and the structure that the standard demands.

pythonfmu writes variables and outputs. FMI 2.0.4 (2.2.2, 2.2.8) and FMI 3.0.1 (2.4.3, 2.4.7, 2.4.8) demand more:

    UnitDefinitions    every unit that a variable has: factor times a product of powers of SI base units and rad
    independent        exactly one variable, the time (3.0)
    InitialUnknowns    every output that is calculated (2.0; pythonfmu3 writes them)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

from soacraft.sim.components.units import base_units, read_unit

#: The name of the independent variable of 3.0. Ports are signals of parts, which have a dot in their names.
TIME = "time"
#: A name by the convention "structured"; "flat" takes all others.
_STRUCTURED = re.compile(r"[A-Za-z_]\w*(\[\d+(,\d+)*\])?(\.[A-Za-z_]\w*(\[\d+(,\d+)*\])?)*", re.ASCII)


def complete(root: Element, units: dict[str, str | None]) -> Element:
    """Add what a description lacks; `units` maps each variable's name to its unit, None where it has none."""
    variables = _child(root, "ModelVariables")
    version = int(root.attrib["fmiVersion"][0])
    for variable in variables:
        unit = units.get(variable.attrib["name"])
        if unit is not None:
            (variable[0] if version == 2 else variable).set("unit", _named(unit))
    used = dict.fromkeys(_named(unit) for unit in units.values() if unit is not None)
    if used:
        root.insert(list(root).index(_child(root, "CoSimulation")) + 1, _definitions(used))
    if not all(_STRUCTURED.fullmatch(x.attrib["name"]) for x in variables):
        root.set("variableNamingConvention", "flat")
    if version == 2:
        _add_initial_unknowns(_child(root, "ModelStructure"), list(variables))
    return root


def _child(root: Element, tag: str) -> Element:
    child = root.find(tag)
    assert child is not None, tag
    return child


def _named(unit: str) -> str:
    """The name of a unit in the file, which is not empty: a bare number has the unit 1."""
    return unit.strip() or "1"


def _definitions(names: Iterable[str]) -> Element:
    """<UnitDefinitions>: what one of each unit is, in SI base units.

    >>> from xml.etree.ElementTree import tostring
    >>> tostring(_definitions(["kN"])[0]).decode()
    '<Unit name="kN"><BaseUnit m="1" kg="1" s="-2" factor="1000.0" /></Unit>'
    """
    element = Element("UnitDefinitions")
    for name in names:
        dimension = read_unit(name)
        powers = {base: str(power) for base, power in base_units(dimension).items()}
        factor = {"factor": repr(dimension.scale)} if dimension.scale != 1.0 else {}
        SubElement(SubElement(element, "Unit", name=name), "BaseUnit", {**powers, **factor})
    return element


def _add_initial_unknowns(structure: Element, variables: list[Element]) -> None:
    """<InitialUnknowns> of 2.0: the outputs, all of which are calculated, by index from 1 on."""
    outputs = [k for k, x in enumerate(variables, 1) if x.attrib.get("causality") == "output"]
    if outputs:
        unknowns = SubElement(structure, "InitialUnknowns")
        for k in outputs:
            SubElement(unknowns, "Unknown", index=str(k))
