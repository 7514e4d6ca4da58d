"""Tolerances of velocities of a whole robot: numbers without unit, since rows and dofs are in radians and lengths of
the model. Compiled code gets them with its plan.
"""

from __future__ import annotations

from dataclasses import dataclass

from soacraft.kinematics.tolerances import RANK, ROWS_OF_QP

#: Largest closing of an open loop in a step, in radians or parts of its length: rows count to first order.
CATCH_UP = 0.1
#: The part of what dofs can brake a distance by together that is counted on.
BRAKES = 0.5


@dataclass(frozen=True)
class LevelTolerances:
    """Tolerances of levels of tasks."""

    sees: float = 1e-9
    """A row of which no more than this part is left sees nothing that the others do not: what a higher level does then
    disturbs a lower one by no more than that part."""
    faint: float = 1e-3
    """A bound or a row that is kept of which no more than this part is left holds up to the rounding that it had."""
    closures_see: float = RANK
    """Tolerance `sees` for closures, which repeat each other to the digits of a file."""
    firm: float = 1e-8
    """Postures whose weights are more than this part of all other rows, in squares, tell velocities in all
    directions: no rank is looked for."""
    little: float = 1e-10
    """Weight of |v|^2, relative to the mean square of a level: directions that the level hardly sees do not leap. The
    level is missed by that part."""
    near: float = 1e-5
    """Weight of directions that a level does not see at all, in a proximal step, which does not disturb the level."""
    bends: float = 0.5
    """Change of rows to second order, relative to a bound of it: arms of 2 to 7 links, stretched out to targets at the
    end of their reach and beyond, go back and forth with less than 0.4 of it."""
    probe: float = 1e-3
    """The step along which that is looked at of a first level that postures tell in full, in radians and lengths,"""
    margin: float = 4.0
    """and what it is multiplied by."""
    slight: float = 0.05
    """A step that does all that is asked for, and bends by no more than this part of what it gains, by the bound, is
    not damped."""
    outweigh: float = 2.0
    """Factor by which squares and damping outweigh the bending of rows: steps are not small."""
    calm: float = 0.25
    """The part of squares that counts in that, where a task takes away all that is left in a step."""
    pushes: float = 1e-14
    """Threshold for squares of rows that are decided on, relative to the largest: directions that they hardly see push
    no more than that. Near the end of reach rows see a direction by a millionth, and it turns as fast: with 1e-12 loops
    go back and forth there."""
    hardly: float = 1e-10
    """Threshold for squares of a level, in the search for directions that it cannot meet."""
    still: float = 1e-9
    """A dof that a bound holds back at no more than that in a step, in radians and lengths, is at a limit."""
    across: float = 1e-6
    """A pull of which more than this part is across all that a level can do is out of reach: its rows are looked at to
    second order."""
    met: float = 1e-3
    """A level that misses less with its damping than this part of what it missed with the bound is not damped; one that
    misses twice as much is damped in full."""
    slowly: float = 1e-2
    """Least damping of a direction along which rows bend, relative to dt |W^2 pull| of the part that is not removed at
    once: a direction that hardly bends is corrected slowly, so that it does not undo in each step the work of other
    levels. It is no more than 1 / `met` of the bending of the rows."""
    turn: float = 1e-3
    """The step that tells how rows turn, in radians and lengths,"""
    turns: float = 1e-3
    """and how much of a pull they must turn towards for each of these."""
    half: float = 0.5
    """Part of that from which on a direction costs the levels after it,"""
    costs: float = 1e6
    """as much at most, next to the mean square of a level."""
    rolls: float = 3.0
    """Turning of directions that a level keeps as the robot moves, relative to the bound of rows: a standing humanoid
    whose centre of mass is out of reach goes back and forth with less than 1."""
    looks: float = 2.0
    """Number of passes that find the bounds that hold a damped step back, and reduce damping by them."""
    nothing: float = 1e-8
    """Turning of rows, relative to the largest, below which it is rounding."""
    holds: float = 1e-9
    """A bound that pushes by more than this part of a level's gradient holds it back."""
    slow: float = 1e-9
    """Weight of |v|^2, relative to the shortfall of rows that cannot all be kept."""
    rows: float = ROWS_OF_QP
    """Tolerance of a row of a quadratic program, relative to the size of its terms."""
