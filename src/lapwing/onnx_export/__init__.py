"""Fitted models as ONNX graphs, for programs without Python."""

from lapwing._host.modules import publish as _publish
from lapwing.onnx_export.export import save_onnx, to_onnx
from lapwing.onnx_export.steps import OnnxExportError

__all__ = ["OnnxExportError", "save_onnx", "to_onnx"]

_publish(__name__, globals(), __all__)
