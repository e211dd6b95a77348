#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/onnx.md: which of the onnx package's node tests pass, and why the others do not.

    tests/onnx/node_tests.py --runner build/.../onnx_model_runner --json FILE
    tools/gen_onnx_doc.py [--check] FILE
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import doc_page

PAGE = Path(__file__).resolve().parents[1] / "docs" / "onnx.md"

HEAD = """# ONNX models

Made by tools/gen_onnx_doc.py from a run of tests/onnx/node_tests.py; do not edit.

`aclgrphParseONNX` and `aclgrphParseONNXFromMem` (`parser/onnx_parser.h`, `libfmk_onnx_parser.so`) turn an ONNX model of
opset 7 to 28 into a graph of GE operators, which sessions compile and run like any other. What is not supported is refused by name when the model is parsed;
nothing is silently ignored: a node with an attribute, input or output that the importer does not know is refused.

- External data files must be in the model's folder or below it, with no symbolic link on the path.
- Model functions are inlined where they are called. `If` becomes GE's `If`; `Scan`, and a `Loop` that collects values, are unrolled
  (at most 1,024 iterations) and need a known trip count; other `Loop`s become GE's `While`, which ends early when its stream is aborted (`aclrtStreamAbort`).
- Nodes that depend only on constants are folded while the model is parsed.
- Graphs nest 32 deep at most. What a model takes beside its constants (functions and loops written out, names, folded constants) is bounded: 512 MiB and 64
  bytes for each byte of its description, a million steps and four for each byte; a refusal says what was asked for.
- Nodes may stand in any order. Operators that have not changed since are taken from models of opset 1 to 6 too.
- Strings, sequences, optionals and sparse tensors are not supported.
- Elements of INT4 are two in a byte, as in GE's tensors. Types that GE lacks or cannot compute with are fed and returned as bytes, one element in each: UINT4, UINT2
  (UINT8) and INT2 (INT8) by their numbers, FLOAT4E2M1, FLOAT8E4M3FNUZ and FLOAT8E5M2FNUZ (UINT8) by their bits. Constants of all of them are as in the file. There are casts,
  quantisation and operators that move elements; others refuse these types.
- `Dropout` in training mode draws from the Mersenne Twister, as the onnx package does: the same seed drops the same elements. Without a seed each run drops others.

## Classical models

Domain `ai.onnx.ml`, as scikit-learn's and the boosting libraries' exports use it: `TreeEnsembleClassifier`, `TreeEnsembleRegressor`, `TreeEnsemble`, `LinearClassifier`,
`LinearRegressor`, `SVMClassifier`, `SVMRegressor`, `Scaler`, `Normalizer`, `Imputer`, `Binarizer`, `OneHotEncoder`, `LabelEncoder`, `FeatureVectorizer`,
`ArrayFeatureExtractor`. Sums are in double, results in float32. Labels, categories and keys must be numbers: strings are refused. `ZipMap`'s table of names and scores is not a
tensor: its output is the scores, a column for each class in the order of the labels. `post_transform` PROBIT is refused.

## Parameters

| parameter | meaning |
|---|---|
| `ge.INPUT_NODES_SET_FP16` | inputs (`a;b`) that are fed as float16 |
| `input_shape` | shapes of inputs, `a:1,3,224,224;b:-1` |
| `ge.outputNodeName` | what is returned instead of the model's outputs, `node:0;other:1` |
| `output` | the graph's name |
| `input_data_names` | names that must be inputs of the model |
| `is_input_adjust_hw_layout`, `is_output_adjust_hw_layout` | only `false` |
| `enable_scope_fusion_passes` | accepted, has no effect on ONNX |

"""


def plain(reason):
    """Without what differs from test to test: files, names of nodes."""
    reason = re.sub(r'"[^"]*\.onnx"', "the model", reason)
    reason = re.sub(r"^(parse|compile|run): ", "", reason)
    reason = re.sub(r"^.*?aclgrphParseONNX failed. Reason: (the model: )?", "", reason)
    reason = re.sub(r"^.*?RunGraph failed. Reason: (task \w+ \(#\d+ of stream \d+, device \d+\): )?", "when it runs: ", reason)
    reason = re.sub(r"\s*TraceBack \(most recent.*", "", reason)
    reason = re.sub(r'(graph "[^"]*": )?node "[^"]*" \([^)]*\): ', "", reason)
    reason = re.sub(r'input "[^"]*" is', "an input is", reason)
    reason = re.sub(r'input "[^"]*": is', "an input is", reason)
    reason = re.sub(r', from node "[^"]*" \([^)]*\)', "", reason)
    return reason.strip()[:160]


def render(results):
    counts = Counter(outcome for outcome, _, _ in results.values())
    lines = [HEAD + "## The onnx package's node tests", ""]
    others = ", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items()) if outcome != "pass")
    lines += [f"Of {len(results)} tests {counts['pass']} pass; {others or 'none else'}. (`refused`: an error says why; `wrong` and `crash` must not be.) Half types may differ by two\nsteps, float32 by one rounding of the largest element, else the package's tolerance holds.", ""]
    lines += ["An operator's row counts the tests whose last node it is; those of its expansion into other operators (`_expanded`) count under the last of these.",
              "", "| operator | pass | of | operator | pass | of | operator | pass | of |", "|---|---|---|---|---|---|---|---|---|"]
    by_type = defaultdict(lambda: [0, 0])
    for outcome, _, kind in results.values():
        by_type[kind][0] += outcome == "pass"
        by_type[kind][1] += 1
    cells = [f"| {kind} | {passed} | {all_of} " for kind, (passed, all_of) in sorted(by_type.items())]
    cells += ["| | | "] * (-len(cells) % 3)
    rows = len(cells) // 3
    lines += [cells[i] + cells[rows + i] + cells[2 * rows + i] + "|" for i in range(rows)]
    lines += ["", "## Not passed, by reason", ""]
    reasons = defaultdict(list)
    for name, (outcome, reason, _) in results.items():
        if outcome != "pass":
            reasons[(outcome, plain(reason))].append(name.removeprefix("test_"))
    for (outcome, reason), names in sorted(reasons.items(), key=lambda one: (-len(one[1]), one[0])):
        lines.append(f"- **{outcome}**: {reason} ({len(names)}): {', '.join(sorted(names))}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(doc_page.main(PAGE, render, __doc__.splitlines()[0], "node_tests.py"))
