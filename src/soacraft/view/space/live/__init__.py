"""Live scenes: a page that follows its model, moves its dofs, and pulls its bodies while it is simulated.

`serving` is the handle of a page and the thread that follows the model, `frames` the numbers of one instant, `sliders`
the dofs that may be moved, `following` a propagator in the time of the clock with the spring of the mouse, `stepping` a
stepper as it goes on.
"""

from soacraft.view.space.live.following import Follower
from soacraft.view.space.live.serving import LiveScene
from soacraft.view.space.live.stepping import LiveStepper

__all__ = ["Follower", "LiveScene", "LiveStepper"]


def __dir__() -> list[str]:
    return __all__
