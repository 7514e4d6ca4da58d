"""Loads of a model in motion: force elements, controls and prescribed motions, and the problem they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any, cast

from soacraft.errors import StaleError, StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.breaks import Breaks
from soacraft.sim.carried import Carried
from soacraft.sim.closed import Closed
from soacraft.sim.exclusive import Exclusive
from soacraft.sim.forces.calls import require_call
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import Control, PartOfTogether
from soacraft.sim.forces.evaluated import Evaluated, Evaluations
from soacraft.sim.forces.hinge_rows import require_rows
from soacraft.sim.forces.loads import Function, Load, require_unused, use
from soacraft.sim.forces.prescribed import Prescribed, find_dof, knots_of
from soacraft.sim.integrators.methods import METHODS
from soacraft.sim.problem.no_components import NoComponents
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.problem.tree import Tree
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import finite


class Acting:
    """Loads, controls and prescribed motions of one propagator.

    While `running` nothing new may begin to act: the problem of the run has its rows of work.
    """

    def __init__(self, mb: Multibody, closures: Closed | Tree, method: str) -> None:
        self._mb, self._version, self.closures, self._method = mb, mb.version, closures, method
        self.loads: list[Load] = []
        self.controls: dict[str, Control] = {}
        self.prescribed = Prescribed(mb)
        self._breaks: dict[str, Breaks] = {}
        self.components: Carried = NoComponents()
        """Components whose states are integrated with those of the model."""
        self.running = False
        self.alone = Exclusive(f"the propagator of {mb.name!r}", "sc.sim.Propagator(mb.copy())")
        """The right to change its state."""
        self.evaluations = Evaluations(mb)
        """The evaluations of the user's functions."""
        self._place = object()  # by which loads know where they act
        self._problem: Mechanism | None = None

    @property
    def mb(self) -> Multibody:
        """The model, if its structure is still the one it was."""
        if self._mb.version != self._version:
            raise StaleError(
                f"the structure of {self._mb.name!r} changed after this propagator was made; make a new one with "
                "sc.sim.Propagator(mb, t=p.t)."
            )
        return self._mb

    @property
    def is_current(self) -> bool:
        """True if the structure of the model has not changed."""
        return self._mb.version == self._version

    @property
    def name(self) -> str:
        """Name of the model, also after a change of its structure."""
        return self._mb.name

    @property
    def all(self) -> list[Load]:
        """Loads and controls."""
        return [*self.loads, *self.controls.values()]

    @property
    def problem(self) -> Mechanism:
        """The problem of the present run."""
        assert self._problem is not None
        return self._problem

    @property
    def breaks(self) -> list[Breaks]:
        """Times at which steps end: the breaks of all that acts, and the samples of controls."""
        if not self._breaks and not self.controls and self.components.is_empty:
            return []
        every = [*self._breaks.values(), *[x.knots for x in self.controls.values()], self.components.breaks]
        return [x for x in every if x.ns]

    @property
    def description(self) -> RunProblem:
        """The model in motion, and all that acts on it now."""
        breaks = [x for x in self.breaks if x is not self.components.breaks]
        return RunProblem.of(self.mb, self.all, self.prescribed, self.closures, self.components, breaks)

    def begin(self) -> Mechanism:
        """The problem with all that acts now."""
        mb = self.mb
        if self._problem is None or self._problem.parameters != mb.parameters:
            self._problem = Mechanism(self.description)
        if self._problem.contact.touches:
            self._problem.take_contact()
        return self._problem

    def add(self, loads: Sequence[Load | Callable[[float, State], Any]], breaks: Any = ()) -> list[Load]:
        """Let force elements or functions act, all of them or none, with the times at which they jump."""
        times = Breaks(breaks, "breaks of a force")
        added: list[Load] = []
        for load in loads:
            names = {x.name for x in [*self.loads, *added]} | set(self.controls)
            element = self._element(load, names)
            if element.name in names:
                raise StateError(f"a force {element.name!r} acts already; give the new one another name.")
            if isinstance(element, Contact) and not METHODS[self._method].touches:
                raise StateError(
                    f"contact makes impulses, which {self._method!r} cannot take; use Propagator(mb, "
                    "integrator='moreau', step=0.001)."
                )
            self._refuse_new(f"the force {element.name!r}", "Add it before, with a function that is zero until then.")
            require_unused(element, self.mb, self._place)
            added.append(element)
        for element in added:
            element.bind(self.mb)
        touch = next((x for x in [*self.loads, *added] if isinstance(x, Contact)), None)
        if touch is not None:
            require_rows([*self.loads, *added], touch.bounces_stops)
        for element in added:  # nothing is refused from here on
            use(element, self.mb, self._place)
            self.loads.append(element)
            self._breaks[f"the force {element.name!r}"] = times
            self._problem = None
        return added

    def carry(self, carried: Carried) -> None:
        """Let components move along with the model."""
        self._refuse_new("what is carried along", "Give it before.")
        self.components, self._problem = carried, None

    @property
    def numbers(self) -> dict[str, float]:
        """The controls that are numbers, which are part of the state of a run."""
        return {name: x.number for name, x in self.controls.items() if x.is_number}

    def set_numbers(self, numbers: Mapping[str, float]) -> None:
        """Let controls that are numbers have those of a state."""
        for name, u in numbers.items():
            self.controls[name].set(u)

    def recall(self, numbers: Mapping[str, float]) -> None:
        """Let controls have the numbers of a state, also in place of samples and functions: a callback had given a
        number there."""
        for name, u in numbers.items():
            if self.controls[name].is_number:
                self.controls[name].set(u)
            else:
                self.control(name, u)

    def put_back(self, controls: Mapping[str, Control]) -> None:
        """Let these be the controls again, of which others have taken the place since."""
        for name, old in controls.items():
            if self._problem is not None and self.controls[name] is not old:
                self._problem.replace(self.controls[name], old)
            self.controls[name] = old

    def set_number(self, name: Any, u: Any) -> bool:
        """Let a control that is a number be another one; False where it is none, or u is no finite number."""
        old = self.controls.get(name) if isinstance(name, str) else None
        if old is None or not old.is_number or callable(u) or isinstance(u, tuple) or not self.is_current:
            return False  # the full call gives the reason
        if type(u) is not float or not isfinite(u):
            u = float(finite(u, (), f"the control of {name!r}", StateError))
        old.set(u)
        return True

    def require_controllable(self, name: str) -> None:
        """Raise where a control cannot be driven now: of no such actuator or dof, or new while a run goes on."""
        Control(name, 0.0).bind(self.mb)
        if name not in self.controls:
            self._refuse_new(f"the control of {name!r}", f"Begin with p.control({name!r}, 0.0).")

    def control(self, name: str, u: Any, breaks: Any = ()) -> None:
        """Drive an actuator or a dof; a new control takes the place of the old one."""
        if callable(u) and not isinstance(u, PartOfTogether):
            u = self.evaluated(u, f"the control of {name!r}")
        control = Control(name, u, breaks)
        control.bind(self.mb)
        old = self.controls.get(name)
        if old is None or self._problem is None:
            self._refuse_new(f"the control of {name!r}", f"Begin with p.control({name!r}, 0.0).")
            self._problem = None
        self.controls[name] = control
        if old is not None and self._problem is not None:
            self._problem.follow(self.description)

    def prescribe(self, name: str, motion: Any, t: float, breaks: Any = ()) -> None:
        """Prescribe the motion of a dof from t on; None lets it go."""
        number, _ = find_dof(self.mb, name)
        times = [Breaks(breaks, f"breaks of the motion of {name!r}"), knots_of(motion, name)]
        if motion is not None:
            self.closures.require_free(number, name, self.prescribed.dofs)
        if not self.prescribed.dofs:
            self._refuse_new(f"the motion of {name!r}", "Prescribe it before.")
            self._problem = None
        self.prescribed.set(name, motion, t)
        for kind, x in zip(("breaks", "knots"), times, strict=True):
            self._breaks[f"the {kind} of the motion of {name!r}"] = x
        if self._problem is not None:
            self._problem.follow(replace(self._problem.description, breaks=self.description.breaks))

    def evaluated(self, function: Callable[[float, State], Any], what: str) -> Evaluated:
        """Return a user's function that gives a value, which may change nothing."""
        require_call(function, what)
        return Evaluated(function, what, self.evaluations)

    def _element(self, load: Load | Callable[[float, State], Any], known: set[str]) -> Load:
        """A force element, or a function as one."""
        if hasattr(load, "force") and hasattr(load, "bind"):
            return cast(Load, load)
        if callable(load):
            name = getattr(load, "__name__", type(load).__name__).strip("<>")
            return Function(_free_name(name, known), self.evaluated(load, f"the force {name!r}"))
        raise StateError(f"add takes force elements and functions of (t, state), got {load!r:.60}.")

    def _refuse_new(self, what: str, cure: str) -> None:
        if self.running:
            raise StateError(f"{what} is new, and cannot begin to act while a run goes on. {cure}")


def _free_name(name: str, known: set[str]) -> str:
    """The name, or with a number where it is taken."""
    if name not in known:
        return name
    return next(f"{name}{i}" for i in range(2, len(known) + 3) if f"{name}{i}" not in known)
