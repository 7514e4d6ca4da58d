"""Contact problems: rows of velocity u = S p + b, impulses p, and the law that ties them.

`blocks` are the laws, `problem` states and solves, `cones` and `pyramid` are the two ways; `compiled` calls the core.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
