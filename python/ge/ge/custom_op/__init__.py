# SPDX-License-Identifier: Apache-2.0
"""CANN's framework for operators written in Python, which launches kernels for the device's own cores. Not here."""

from ge._refused import refuse

_NAMES = (
    "AnnotatedArgsContext", "AnnotatedKernelArgs", "AnnotatedKernelLaunchInfo", "BaseCustomOp", "EagerExecuteOp",
    "EagerOpExecutionContext", "WorkspaceAddr", "clear_registered_op_impls", "get_declare_launch_args_ctx",
    "get_execute_ctx", "get_registered_op_impl_by_descriptor_key", "get_registered_op_impl_dicts",
    "get_registered_op_impls", "register_op", "register_op_impl",
)
_INSTEAD = ("kernels for AI cores cannot run on this machine; build the operator from those of ge.es.all")
__getattr__ = refuse(__name__, _NAMES, _INSTEAD)
