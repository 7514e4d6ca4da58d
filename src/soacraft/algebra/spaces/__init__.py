"""What expressions act on: trees, the spaces of their nodes, and numbers stacked in them.

`tree` and `space` say what there is a block for, `selection` which blocks are meant by names and slices. `vectors` are
stacked numbers that know their space, `blocks` the numbers of a block-sparse matrix, `rounding` what their last digits
may be off by. `regular` and `definite` judge and invert one matrix, whatever the units of its rows.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
