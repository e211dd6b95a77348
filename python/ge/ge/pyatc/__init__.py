# SPDX-License-Identifier: Apache-2.0
"""`python -m ge.pyatc`: the model converter as a Python module; it forwards to the tool atc."""
