"""Model files in and out, and models by name."""

from soacraft.files.core_file import save_core
from soacraft.files.library import ModelFacts
from soacraft.files.load import ModelTable, load, models
from soacraft.files.save import save

__all__ = ["ModelFacts", "ModelTable", "load", "models", "save", "save_core"]


def __dir__() -> list[str]:
    return __all__
