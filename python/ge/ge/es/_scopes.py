# SPDX-License-Identifier: Apache-2.0
"""What every node gets that is made inside a `with`."""

import contextlib
import threading
from typing import Any, Dict, Iterator, List

from ge import _check as check

from .tensor_holder import TensorHolder


class _Current(threading.local):
    """Scopes of this thread; inner ones add to outer ones."""

    def __init__(self) -> None:
        self.attributes: Dict[str, Any] = {}
        self.earlier: List[TensorHolder] = []


current = _Current()


@contextlib.contextmanager
def attr_scope(attr_maps: Dict[str, Any]) -> Iterator[None]:
    """Nodes get these attributes. Where two scopes have the same one, the inner scope's counts."""
    check.instance("attr_scope", dict, attr_maps=attr_maps)
    outer = current.attributes
    current.attributes = {**outer, **attr_maps}
    try:
        yield
    finally:
        current.attributes = outer


@contextlib.contextmanager
def control_dependency_scope(tensors: List[TensorHolder]) -> Iterator[None]:
    """Nodes run after the nodes of these tensors."""
    check.listed("control_dependency_scope", TensorHolder, tensors=tensors)
    outer = current.earlier
    current.earlier = [*outer, *tensors]
    try:
        yield
    finally:
        current.earlier = outer
