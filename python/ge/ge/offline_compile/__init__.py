# SPDX-License-Identifier: Apache-2.0
"""Graphs compiled into files, to be loaded by acl.mdl."""

from .offline_compile import (GraphWithOptions, ModelBuffer, build_finalize, build_initialize, build_model,
                              bundle_build_model, bundle_save_model, save_model)

__all__ = ["GraphWithOptions", "ModelBuffer", "build_finalize", "build_initialize", "build_model",
           "bundle_build_model", "bundle_save_model", "save_model"]
