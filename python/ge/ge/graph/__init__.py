# SPDX-License-Identifier: Apache-2.0
"""Graphs, their nodes, and tensors."""

from .graph import DumpFormat, Graph
from .node import Node
from .operator import Operator
from .tensor import Tensor
from .tensor_desc import Shape, TensorDesc
from .types import DataType, Format, Placement

__all__ = ["DataType", "DumpFormat", "Format", "Graph", "Node", "Operator", "Placement", "Shape", "Tensor",
           "TensorDesc"]
