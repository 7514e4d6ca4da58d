"""Trees, the spaces of their nodes, and numbers stacked in them: the ground that expressions act on.

`tree` and `space` define the blocks, `selection` picks blocks by names and slices. `vectors` are stacked numbers that
know their space, `blocks` the numbers of a block-sparse matrix, `rounding` the possible errors of their last digits.
`regular` and `definite` judge and invert one matrix, whatever the units of its rows.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
