"""`RunProblem`: a model and all that acts on it, as one value. What is absent is there as an object that does nothing:
`Tree` for closures, `NoContact`, `NoComponents`, and motions that prescribe no dof."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from soacraft.model.tree.multibody import Multibody
from soacraft.sim.breaks import Breaks
from soacraft.sim.carried import Carried
from soacraft.sim.closed import Closed
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.hinge_rows import as_hinge_rows
from soacraft.sim.forces.loads import Load
from soacraft.sim.forces.prescribed import Prescribed
from soacraft.sim.problem.no_components import NoComponents
from soacraft.sim.problem.no_contact import NoContact
from soacraft.sim.problem.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class RunProblem:
    """Constant description of a motion; `of` makes one.

    >>> import soacraft as sc
    >>> problem = RunProblem.of(sc.load("pendulum"))
    >>> problem.closures.is_closed, problem.contact.touches, problem.components.names, problem.prescribed.dofs
    (False, False, (), [])
    """

    model: Multibody
    loads: tuple[Load, ...]
    """Force elements and controls, contact left out."""
    closures: Closed | Tree
    contact: Contact | NoContact
    components: Carried
    prescribed: Prescribed
    breaks: tuple[Breaks, ...]
    """Times at which functions jump or bend, those of components left out."""

    @classmethod
    def of(
        cls,
        mb: Multibody,
        loads: Iterable[Load] = (),
        prescribed: Prescribed | None = None,
        closed: Closed | Tree | None = None,
        carried: Carried | None = None,
        breaks: Iterable[Breaks] = (),
    ) -> RunProblem:
        """The problem of a model under loads, of which one may be contact."""
        loads = tuple(loads)
        others, contact = [x for x in loads if not isinstance(x, Contact)], [x for x in loads if isinstance(x, Contact)]
        return cls(
            mb,
            tuple(as_hinge_rows(others, mb) if contact else others),
            Tree(mb) if closed is None else closed,
            contact[0] if contact else NoContact(),
            NoComponents() if carried is None else carried,
            Prescribed(mb) if prescribed is None else prescribed,
            tuple(breaks),
        )

    @property
    def acting(self) -> tuple[Load | Contact, ...]:
        """The loads, and contact behind them."""
        return (*self.loads, self.contact) if isinstance(self.contact, Contact) else self.loads
