# SPDX-License-Identifier: Apache-2.0
"""Graphs built the eager way: GraphBuilder makes inputs and constants, the functions of ge.es.all add operators.

ge.es.math, ge.es.nn and their like hold the same functions as ge.es.all.
"""

import importlib
from types import ModuleType
from typing import List, Optional

from .graph_builder import GraphBuilder, InputType, attr_scope, control_dependency_scope
from .tensor_holder import TensorHolder

__all__ = ["GraphBuilder", "InputType", "TensorHolder", "attr_scope", "control_dependency_scope", "get_plugin",
           "list_plugins"]

_PLUGINS = ("all", "cv", "math", "nn", "transformer")


def list_plugins() -> List[str]:
    """The modules of operators: ge.es.<name>."""
    return list(_PLUGINS)


def get_plugin(plugin_name: str) -> Optional[ModuleType]:
    """The module of that name, None when there is none."""
    return importlib.import_module(f"ge.es.{plugin_name}") if plugin_name in _PLUGINS else None


def __getattr__(name: str) -> ModuleType:
    # Loaded when asked for: they have two thousand functions.
    if name in _PLUGINS:
        return importlib.import_module(f"ge.es.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
