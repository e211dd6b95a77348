# SPDX-License-Identifier: Apache-2.0
"""Millpond's own Python modules. `python -m millpond` is the command `millpond`;
`millpond.pytest_plugin` fails the test in which the checker found something (docs/check.md)."""
