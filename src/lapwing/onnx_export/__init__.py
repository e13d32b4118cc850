"""Fitted models as ONNX graphs, for programs without Python."""

from lapwing.onnx_export.export import save_onnx, to_onnx
from lapwing.onnx_export.steps import OnnxExportError

__all__ = ["OnnxExportError", "save_onnx", "to_onnx"]
