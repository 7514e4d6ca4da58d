"""Refusals of runs in the words of the call that made them: a prediction has a step and a world, and no integrator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from soacraft.errors import SoacraftError

#: Last words of a run's error, and their replacement; {step} is the name of the argument.
_CURES = (
    (r" Take such steps, or integrator=.*", " Give {step} at most that."),
    (r" Take a smaller step, or look at it with p\.advance_to\.", " Give a smaller {step}."),
    (r"; use p\.advance_to\.", "; run it by sc.sim.Propagator instead."),
    (
        r"(?:, and no dof moves them apart)?; (?:move them apart, )?leave the pair out with "
        r"contact\.scene\.exclude\('(.+?)(?:/[^']*)?', '(.+?)(?:/[^']*)?'\).*",
        r"; begin where they are apart, or let them touch with w.allow('\1', '\2').",
    ),
    (r"; set it within, or give limits=False\.", "; begin within them, or give the model other limits."),
    (r"; set the state within, or give one_sided=False\.", "; begin within it."),
    (
        r"; take a shorter step or otherwise='report'",
        "; give a smaller {step}, or other friction= and restitution=.",
    ),
    (
        r" Close the model first: .*",
        " Close it first: s = sc.loops.TreeAugmented(rb.mb); q = s.assemble(q); v = s.project_velocity(q, v).",
    ),
)
_WHOSE = re.compile(r"^(?:state \d+ of the rollout of ('[^']*')|(?:the run|state \d+ of the rollout)(?= begins))")


@contextmanager
def in_words_of(what: str, step: str) -> Iterator[None]:
    """Context that rewrites the refusals of a run for `what`, with cures that it has; `step` is the name of its time
    step. Other errors pass unchanged.

    >>> from soacraft.errors import SimulationError
    >>> with in_words_of("the prediction", "step="):
    ...     raise SimulationError("state 0 of the rollout of 'arm': stiff. Take such steps, or integrator='radau'.")
    Traceback (most recent call last):
        ...
    soacraft.errors.SimulationError: the prediction of 'arm': stiff. Give step= at most that.
    """
    try:
        yield
    except SoacraftError as wrong:
        said = old = str(wrong)
        for pattern, cure in _CURES:
            said = re.sub(pattern + "$", cure.replace("{step}", step), said, flags=re.DOTALL)
        if said == old:
            raise
        said = _WHOSE.sub(lambda m: f"{what} of {m[1]}" if m[1] else what, said)
        error = type(wrong)(said)
        error.__dict__.update(wrong.__dict__)
        raise error from None
