# SPDX-License-Identifier: Apache-2.0
"""CANN's framework for translating ONNX operators in Python, which needs its parser. Not here."""

from ge._refused import refuse

_NAMES = (
    "OnnxNode", "OnnxPlugin", "onnx_plugin",
)
_INSTEAD = ("the parser takes no plugins; build the graph with ge.es")
__getattr__ = refuse(__name__, _NAMES, _INSTEAD)
