"""Central differences of order six: derivatives are checked by them, and taken where a user's function is all there is.

    f'(0) = (45 (f(h) - f(-h)) - 9 (f(2h) - f(-2h)) + (f(3h) - f(-3h))) / 60 h
"""

from __future__ import annotations

#: Steps and their weights.
STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
