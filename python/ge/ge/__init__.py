# SPDX-License-Identifier: Apache-2.0
"""The graph engine: build graphs (ge.es, ge.graph), run them (ge.session), lend them memory (ge.allocator)."""
