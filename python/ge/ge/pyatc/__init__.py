# SPDX-License-Identifier: Apache-2.0
"""`python -m ge.pyatc`: CANN's model converter as a Python module. Not here."""
