"""Variations: paths of a system, each with its distribution; the setting of a run's values in the system."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.analysis.parametric.vocabulary import Parameter, read_parameters, write
from soacraft.errors import CampaignError, ModelError, SoacraftError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.sim.campaigns.distributions import Distribution
from soacraft.sim.campaigns.sampling import Sampler
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

_PATH = re.compile(r"([^.\[\]]+)\.([A-Za-z_]\w*)(?:\[(.+)\])?")


class Variation(NamedTuple):
    """Paths that vary together, and how."""

    paths: tuple[str, ...]
    distribution: Distribution

    @property
    def name(self) -> str:
        """Name for its draws."""
        return ", ".join(self.paths)


def read_variations(given: Mapping[Any, Any]) -> list[Variation]:
    """`vary` as it was given, checked for its own sake."""
    if not isinstance(given, Mapping):
        raise CampaignError(f"vary is {{path: distribution}}, got {given!r:.60}.")
    variations: list[Variation] = []
    for key, how in given.items():
        paths = (key,) if isinstance(key, str) else key
        if not isinstance(paths, tuple) or not paths or not all(isinstance(x, str) and x for x in paths):
            raise CampaignError(f"a variation is of a path, or of a tuple of them, got {key!r:.60}.")
        if not isinstance(how, Distribution):
            raise CampaignError(f"{key!r:.80} varies by a distribution as sim.Normal(1.0, 0.1), got {how!r:.60}.")
        if how.size != len(paths):
            raise CampaignError(f"{key!r:.80} is {len(paths)} values, and {how!r:.120} gives {how.size}.")
        for path in paths:
            if any(path in x.paths for x in variations) or paths.count(path) > 1:
                raise CampaignError(f"{path!r} varies twice.")
        variations.append(Variation(paths, how))
    return variations


class Inputs:
    """The values of every run."""

    def __init__(self, variations: Sequence[Variation], sampling: str, seed: int, runs: int) -> None:
        self.variations, self.sampler = list(variations), Sampler(
            sampling, seed, [(x.name, x.distribution) for x in variations], runs
        )  # fmt: skip
        self.paths = tuple(path for x in variations for path in x.paths)

    def middle(self) -> Array:
        """The medians of all, which depend on no seed: (number of paths)."""
        return self.at(0.5)

    def at(self, part: float) -> Array:
        """The values of all below which this part of each distribution is: (number of paths)."""
        values = [x.distribution.values(np.full((1, x.distribution.width), part))[0] for x in self.variations]
        return np.concatenate([np.zeros(0), *values])

    def of(self, first: int, count: int = 1) -> Array:
        """The values of runs first, first + 1, ...: (count, number of paths)."""
        points = self.sampler.points(first, count)
        values = [x.distribution.values(u) for x, u in zip(self.variations, points, strict=True)]
        return np.concatenate(values, axis=1) if values else np.zeros((count, 0))


def is_argument(path: str) -> bool:
    """True if a path is an argument of the function that makes the system: a name alone."""
    return path.isidentifier()


def arguments_of(paths: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Values {argument: number} for the function."""
    return {path: float(x) for path, x in zip(paths, values, strict=True) if is_argument(path)}


def check_arguments(make: Callable[..., Any], paths: Sequence[str], what: str) -> None:
    """Refuse arguments that the function does not take."""
    wanted = [x for x in paths if is_argument(x)]
    if not wanted:
        return
    taken = inspect.signature(make).parameters
    names = [x.name for x in taken.values() if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)]
    for path in wanted:
        if path not in names:
            raise CampaignError(f"{what} takes no argument {path!r:.60}{near(path, names, 'it takes')}")


def apply(system: System, paths: Sequence[str], values: Sequence[float]) -> None:
    """Give a system the values of a run. A model gets its parameters all at once."""
    models: dict[str, list[tuple[str, float]]] = {}
    for path, value in zip(paths, values, strict=True):
        if not is_argument(path):
            target = target_of(system, path)
            if target.kind == "model":
                models.setdefault(target.key, []).append((target.name, float(value)))
            else:
                target.put(float(value))
    for plant, pairs in models.items():
        numbers = tuple(read_parameter(system.diagram.plants[plant].mb, name) for name, _ in pairs)
        write("a campaign", numbers, np.array([value for _, value in pairs]))


class Target(NamedTuple):
    """Quantity of a system that a path names."""

    kind: str
    """"param", "state", "q", "v", or "model" for a parameter of the model of a plant."""
    key: str
    element: int | None
    put: Callable[[float], None]
    name: str = ""
    """Name of a parameter of a model."""


def target_of(system: System, path: str) -> Target:
    """Target of a path: a parameter, a state, q or v of a dof of the plant, with [k] an element of it; or a parameter
    of the model of a plant, as "arm.forearm.mass"."""
    plant, _, rest = path.partition(".")
    if plant in system.diagram.plants and "." in rest and "[" not in rest:
        return _of_model(system, path, plant, rest)
    match = _PATH.fullmatch(path)
    if match is None:
        raise CampaignError(f"a path is written 'component.parameter' or 'plant.q[dof]', got {path!r:.80}.")
    name, at = f"{match[1]}.{match[2]}", match[3]
    if match[1] in system.diagram.plants:
        return _of_plant(system, path, match[1], match[2], at)
    element = None if at is None else int(at) if at.isdecimal() else -1
    if element is not None and element < 0:
        raise CampaignError(f"an element of {name!r} is a number, as {name}[0]; got {path!r:.80}.")
    params, states = list(system.params), list(system.states)
    kind = "param" if name in params else "state" if name in states else ""
    if not kind:
        names = [*params, *states]
        raise CampaignError(f"the system {system.name!r} has no parameter or state {name!r:.80}{near(name, names)}")
    settings: Any = system.params if kind == "param" else system.states
    if element is not None and not 0 <= element < np.size(settings[name]):
        raise CampaignError(f"{path!r:.80} is no element of {settings[name]!r:.60}.")

    def put(value: float) -> None:
        old = settings[name]
        if element is None:
            settings[name] = value
        elif isinstance(old, np.ndarray):
            new = np.array(old)
            new[element] = value
            settings[name] = new
        else:
            settings[name] = tuple(value if i == element else x for i, x in enumerate(old))

    return Target(kind, name, element, put)


def _of_model(system: System, path: str, plant: str, name: str) -> Target:
    mb = system.diagram.plants[plant].mb
    try:
        number = read_parameter(mb, name)
    except ModelError as wrong:
        raise CampaignError(f"{path!r:.80} is no parameter of the plant {plant!r}: {wrong}") from None

    def put(value: float) -> None:
        write("a campaign", (number,), np.array([value]))

    return Target("model", plant, None, put, name)


def read_parameter(mb: Multibody, name: str) -> Parameter:
    """The one number of a model with this name, as in `sc.analysis.parameters`."""
    numbers = read_parameters("a campaign", mb, [name])
    if len(numbers) > 1:
        raise CampaignError(
            f"{name!r:.80} of {mb.name!r} is {len(numbers)} numbers, and a path is one: "
            f"{', '.join(x.name for x in numbers)}."
        )
    return numbers[0]


def _of_plant(system: System, path: str, plant: str, port: str, at: str | None) -> Target:
    mb = system.diagram.plants[plant].mb
    places = dict(coordinate_names(mb)) if port == "q" else {x: i for i, x in enumerate(mb.dof_names)}
    if port not in ("q", "v") or at is None:
        raise CampaignError(
            f"of the plant {plant!r} q[dof], v[dof] and parameters of its model vary, as "
            f"'{plant}.{mb.bodies[0].name}.mass'; got {path!r:.80}."
        )
    if at not in places:
        raise CampaignError(f"{path!r:.80}: the plant {plant!r} has no such {port}{near(at, places, 'it has')}")
    number = int(places[at])

    def put(value: float) -> None:
        state = np.array(mb.q if port == "q" else mb.v)
        state[number] = value
        if port == "q":
            mb.q = state
        else:
            mb.v = state

    return Target(port, plant, number, put)


def check_values(system: System, inputs: Inputs, runs: int) -> None:
    """Try the smallest and the largest value of every path: a value outside its bounds is refused, with its run."""
    if not inputs.paths or not runs:
        return
    values = inputs.of(0, runs)
    if not np.isfinite(values).all():
        run, column = (int(x[0]) for x in np.nonzero(~np.isfinite(values)))
        raise CampaignError(f"{inputs.paths[column]!r} is {values[run, column]} in run {run}.")
    for column, path in enumerate(inputs.paths):
        if is_argument(path):
            continue
        target = target_of(system, path)
        for run in (int(values[:, column].argmin()), int(values[:, column].argmax())):
            value = float(values[run, column])
            try:
                if target.kind == "model":  # with the others of the model, which go with it
                    apply(system, inputs.paths, values[run].tolist())
                else:
                    target.put(value)
            except SoacraftError as wrong:
                why = str(wrong).removesuffix(".")
                raise CampaignError(
                    f"{path!r} would be {value:.9g} in run {run}, which is refused: {why}. Use sim.Truncated, or other "
                    "limits."
                ) from None
