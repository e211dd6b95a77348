# SPDX-License-Identifier: Apache-2.0
"""The operators under the name that CANN's package of nn operators has. It is the whole of ge.es.all."""

from .all import *  # noqa: F403
from .all import __all__  # noqa: F401
