"""Files of other programs: modal data (MBDyn, SID_FEM) and matrices (Matrix Market, Abaqus, CalculiX, Nastran).

In: a path. Out: `ModalData` with an import report, or a sparse matrix. A file is hostile input: its size and its counts
are bounded before anything is made of them, and what is wrong is refused with the line it is on.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
