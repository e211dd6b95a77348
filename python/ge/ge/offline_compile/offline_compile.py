# SPDX-License-Identifier: Apache-2.0
"""Compiles graphs into models for aclmdlLoadFromFile. GeError names a function that libge_compiler.so lacks."""

import ctypes
from dataclasses import dataclass, field
from typing import Dict, List, Optional

from ge import _check as check
from ge._compiler import settle
from ge._native import failed, lib, pointers
from ge._native import options as as_options
from ge._object import NativeObject
from ge.graph.graph import Graph

_INSTEAD = "run the graph in a ge.session.Session instead"


@dataclass
class GraphWithOptions:
    """A graph of a bundle, with the options it is compiled with."""

    graph: Graph
    build_options: Optional[Dict[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check.instance("GraphWithOptions", Graph, graph=self.graph)
        self.build_options = check.options("GraphWithOptions", build_options=self.build_options)


class ModelBuffer(NativeObject):
    """A compiled model in memory."""

    _release = staticmethod(lib.model_destroy)
    _maker = "build_model or bundle_build_model"

    @property
    def length(self) -> int:
        return self.get_length()

    def get_length(self) -> int:
        """In bytes."""
        return lib.model_length(self._native)


def build_initialize(global_options: Optional[dict] = None) -> None:
    """Once, before the first model is built."""
    words = check.options("build_initialize", global_options=global_options)
    _settle("BuildInitialize", "aclgrphBuildInitialize", lib.build_initialize(*as_options(words)))


def build_finalize() -> None:
    """After the last model."""
    _settle("BuildFinalize", "aclgrphBuildFinalize", lib.build_finalize())


def build_model(graph: Graph, build_options: Optional[dict] = None) -> ModelBuffer:
    check.instance("build_model", Graph, graph=graph)
    words = check.options("build_model", build_options=build_options)
    model = ctypes.c_void_p()
    status = lib.build_model(graph._native, *as_options(words), ctypes.byref(model))
    _settle("BuildModel", "aclgrphBuildModel", status)
    return _made("build_model", model)


def save_model(output_file: str, model: ModelBuffer) -> None:
    """Into output_file.om."""
    _save("save_model", output_file, model, bundle=False)


def bundle_build_model(graph_with_options: List[GraphWithOptions]) -> ModelBuffer:
    """One model of two or more graphs, which share their constants."""
    where = "bundle_build_model"
    check.instance(where, list, graph_with_options=graph_with_options)
    if len(graph_with_options) < 2:
        raise ValueError(f"{where}: graph_with_options has {len(graph_with_options)} members; give 2 or more")
    check.listed(where, GraphWithOptions, graph_with_options=graph_with_options)
    options = [one.build_options or {} for one in graph_with_options]
    # The options of all graphs in one list, and how many of them each graph has.
    pairs = [pair for words in options for pair in words.items()]
    keys, values = ((ctypes.c_char_p * len(pairs))(*[pair[side].encode("utf-8") for pair in pairs]) for side in (0, 1))
    counts = (ctypes.c_size_t * len(options))(*map(len, options))
    graphs = pointers([one.graph._native for one in graph_with_options])
    model = ctypes.c_void_p()
    status = lib.build_bundle(graphs, len(graphs), keys, values, counts, ctypes.byref(model))
    _settle("BundleBuildModel", "aclgrphBundleBuildModel", status)
    return _made(where, model)


def bundle_save_model(output_file: str, model: ModelBuffer) -> None:
    """Into output_file.om."""
    _save("bundle_save_model", output_file, model, bundle=True)


def _save(where: str, output_file: str, model: ModelBuffer, bundle: bool) -> None:
    check.text(where, output_file=output_file)
    check.instance(where, ModelBuffer, model=model)
    word = "BundleSaveModel" if bundle else "SaveModel"
    _settle(word, f"aclgrph{word}", lib.save_model(output_file.encode("utf-8"), model._native, bundle))


def _made(where: str, model: ctypes.c_void_p) -> ModelBuffer:
    if not model.value:
        raise failed(f"{where}: the compiler reports success, but there is no model")
    return ModelBuffer._adopt(model.value)


def _settle(api_name: str, symbol: str, status: int) -> None:
    settle(api_name, symbol, status, _INSTEAD)
