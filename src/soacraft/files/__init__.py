"""Models by name: what comes with soacraft."""

from soacraft.files.load import ModelFacts, ModelTable, load, models

__all__ = ["ModelFacts", "ModelTable", "load", "models"]
