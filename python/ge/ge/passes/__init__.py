# SPDX-License-Identifier: Apache-2.0
"""CANN's framework for rewriting graphs in Python, which needs its compiler. Not here."""

from ge._refused import refuse

_NAMES = (
    "DecomposePass", "FuseCheckResult", "FusionBasePass", "MatchResult", "NodeIo", "PassContext", "PassStage",
    "Pattern", "PatternFusionPass", "PatternMatcherConfig", "PatternMatcherConfigBuilder", "SubgraphBoundary",
    "SubgraphInput", "SubgraphOutput", "SubgraphRewriter", "can_fuse", "clear_registered_passes", "create_pattern",
    "create_replacement", "get_registered_pass_by_descriptor_key", "get_registered_pass_dicts",
    "get_registered_passes", "infer_shape", "pattern", "register_decompose_pass", "register_fusion_pass",
    "report_fuse",
)
_INSTEAD = ("graphs are rewritten by Millpond's own passes, which take no plugins; change the graph with "
            "ge.graph.Graph before it is added to a session")
__getattr__ = refuse(__name__, _NAMES, _INSTEAD)
