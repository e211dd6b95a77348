# SPDX-License-Identifier: Apache-2.0
"""The tensors that operators of ge.custom_op see. Not here, as those are not."""

from ge._refused import refuse

_NAMES = (
    "ExpandDimsType", "Shape", "StorageFormat", "StorageShape", "Tensor", "TensorDesc", "TensorPlacement",
)
_INSTEAD = ("operators written in Python cannot run here (see ge.custom_op); tensors of graphs are ge.graph.Tensor")
__getattr__ = refuse(__name__, _NAMES, _INSTEAD)
