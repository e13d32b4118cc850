"""Fitted models in files, saved exactly and loaded without running code of the file."""

from lapwing._host.modules import publish as _publish
from lapwing.models.files import Model, ModelFileError, load_model, save_model
from lapwing.models.schema import texts_from

__all__ = ["Model", "ModelFileError", "load_model", "save_model", "texts_from"]

_publish(__name__, globals(), __all__)
