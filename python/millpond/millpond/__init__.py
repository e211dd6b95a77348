# SPDX-License-Identifier: Apache-2.0
"""Millpond's own Python modules. `millpond.pytest_plugin` fails the test in which the checker found something (docs/check.md)."""
