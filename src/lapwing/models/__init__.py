"""Fitted models on disk: saved exactly, loaded without running anything that a file brings."""

from lapwing.models.archive import ModelFileError
from lapwing.models.files import Model, load_model, save_model

__all__ = ["Model", "ModelFileError", "load_model", "save_model"]
