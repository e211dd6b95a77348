# SPDX-License-Identifier: Apache-2.0
"""Says that it is not here."""

import sys

sys.exit("ge.pyatc failed: this module does not convert models; build the graph with ge.es and run it in a "
         "ge.session.Session, or call the tool atc")
