"""Local faults of a file: refused, with the word that `lenient` exists, or a line of the report.

A local fault is one that leaves the rest of the model valid: a mimic of an absent joint, an
inertia that is missing or that no body can have, a plugin, an asset or include that is not there or leads out (it is
not opened), a stray quote. What is not local stays refused: a file that is no XML, sizes past the bounds, and whatever
the tree of bodies itself depends on.
"""

from __future__ import annotations

from soacraft.errors import ModelFileError

HINT = "With lenient=True the file is read all the same, and this is a line of its report."


def hinted(problem: ModelFileError, owner: str = "") -> ModelFileError:
    """Refusal that also names the owner of the element, and says that `lenient` exists.

    >>> hinted(ModelFileError("arm.urdf:3: <mimic>: joint 'b' is not there."))
    ModelFileError("arm.urdf:3: <mimic>: joint 'b' is not there. With lenient=True the file is read all the same, and...
    """
    text = str(problem)
    if text.endswith(HINT):
        return problem
    belongs = f" It belongs to {owner}." if owner and owner.partition(" ")[2] not in text else ""
    error = ModelFileError(f"{text}{'' if text.endswith(('.', '?')) else '.'}{belongs} {HINT}")
    error.fault, error.where = problem.fault, problem.where
    return error
