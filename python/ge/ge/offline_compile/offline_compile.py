# SPDX-License-Identifier: Apache-2.0
"""aclgrphBuild* of libge_compiler. Where the installed library lacks one, the call raises GeError and says so."""

import ctypes
from dataclasses import dataclass, field
from typing import Dict, List, NoReturn, Optional

from ge._native import MISSING, lib, options as as_options, pointers
from ge.error import raise_ge_error, raise_missing
from ge.graph.graph import Graph


def _checked_options(options: Optional[dict], name: str) -> Dict[str, str]:
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise TypeError(f"{name} must be a dictionary")
    if not all(isinstance(one, str) for pair in options.items() for one in pair):
        raise TypeError(f"{name} keys and values must be strings")
    return dict(options)


def _settle(api_name: str, symbol: str, status: int) -> None:
    if status == MISSING:
        raise_missing(api_name, f"libge_compiler.so has no {symbol}; run the graph in a ge.session.Session instead")
    if status != 0:
        raise_ge_error(api_name, status)


@dataclass
class GraphWithOptions:
    """One graph of a bundle."""

    graph: Graph
    build_options: Optional[Dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise TypeError("graph must be a Graph")
        self.build_options = _checked_options(self.build_options, "build_options")


class ModelBuffer:
    """A compiled model in memory. build_model makes it, save_model writes it."""

    _owns_handle = False

    def __init__(self) -> None:
        raise RuntimeError("ModelBuffer objects should not be created directly")

    def __del__(self) -> None:
        if self._owns_handle:
            self._owns_handle = False
            lib.model_destroy(self._handle)
            self._handle = None

    def __copy__(self) -> NoReturn:
        raise RuntimeError("ModelBuffer does not support copy")

    def __deepcopy__(self, memo) -> NoReturn:
        raise RuntimeError("ModelBuffer does not support deepcopy")

    @classmethod
    def _create_from(cls, handle: Optional[int]) -> "ModelBuffer":
        if not handle:
            raise ValueError("Failed to create ModelBuffer")
        made = cls.__new__(cls)
        made._handle = handle
        made._owns_handle = True
        return made

    @property
    def length(self) -> int:
        return self.get_length()

    def get_length(self) -> int:
        return lib.model_length(self._handle)


def build_initialize(global_options: Optional[dict] = None) -> None:
    """Comes before the first build_model of the process."""
    words = _checked_options(global_options, "global_options")
    _settle("BuildInitialize", "aclgrphBuildInitialize", lib.build_initialize(*as_options(words)))


def build_finalize() -> None:
    _settle("BuildFinalize", "aclgrphBuildFinalize", lib.build_finalize())


def build_model(graph: Graph, build_options: Optional[dict] = None) -> ModelBuffer:
    if not isinstance(graph, Graph):
        raise TypeError("graph must be a Graph")
    words = _checked_options(build_options, "build_options")
    model = ctypes.c_void_p()
    _settle("BuildModel", "aclgrphBuildModel", lib.build_model(graph._handle, *as_options(words), ctypes.byref(model)))
    return ModelBuffer._create_from(model.value)


def save_model(output_file: str, model: ModelBuffer) -> None:
    """Writes output_file.om."""
    _save("SaveModel", "aclgrphSaveModel", output_file, model, False)


def bundle_build_model(graph_with_options: List[GraphWithOptions]) -> ModelBuffer:
    """Several graphs that share their weights, in one model."""
    if not isinstance(graph_with_options, list):
        raise TypeError("graph_with_options must be a list")
    if len(graph_with_options) <= 1:
        raise ValueError("graph_with_options size must be larger than 1")
    if not all(isinstance(item, GraphWithOptions) for item in graph_with_options):
        raise TypeError("Each item in graph_with_options must be a GraphWithOptions")
    pairs = [pair for item in graph_with_options for pair in (item.build_options or {}).items()]
    keys = (ctypes.c_char_p * len(pairs))(*[key.encode("utf-8") for key, _ in pairs])
    values = (ctypes.c_char_p * len(pairs))(*[value.encode("utf-8") for _, value in pairs])
    counts = (ctypes.c_size_t * len(graph_with_options))(*[len(item.build_options or {}) for item in graph_with_options])
    graphs = pointers([item.graph._handle for item in graph_with_options])
    model = ctypes.c_void_p()
    _settle("BundleBuildModel", "aclgrphBundleBuildModel", lib.build_bundle(graphs, len(graphs), keys, values, counts, ctypes.byref(model)))
    return ModelBuffer._create_from(model.value)


def bundle_save_model(output_file: str, model: ModelBuffer) -> None:
    _save("BundleSaveModel", "aclgrphBundleSaveModel", output_file, model, True)


def _save(api_name: str, symbol: str, output_file: str, model: ModelBuffer, bundle: bool) -> None:
    if not isinstance(output_file, str):
        raise TypeError("output_file must be a string")
    if not isinstance(model, ModelBuffer):
        raise TypeError("model must be a ModelBuffer")
    _settle(api_name, symbol, lib.save_model(output_file.encode("utf-8"), model._handle, bundle))
