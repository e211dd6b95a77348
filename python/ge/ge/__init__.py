# SPDX-License-Identifier: Apache-2.0
"""CANN's graph engine: build graphs (ge.es, ge.graph), run them in sessions (ge.session), lend them memory (ge.allocator)."""
