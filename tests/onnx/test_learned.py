# SPDX-License-Identifier: Apache-2.0
"""Domain ai.onnx.ml, as exports of classical models use it, against the onnx package's reference; the batch is open."""

import itertools
import sys
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx", reason="the onnx package is not in this Python; requirements.txt has it")
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

sys.path.insert(0, str(Path(__file__).resolve().parent))
import node_tests
from test_onnx import program

FEATURES, ROWS = 5, 17
ML = "ai.onnx.ml"
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64, np.dtype(np.float64): TensorProto.DOUBLE}


def model(nodes, feeds, outputs, ml_opset=3):
    inputs = [helper.make_tensor_value_info(name, TYPES[value.dtype], ["N", *value.shape[1:]]) for name, value in feeds.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    return helper.make_model(helper.make_graph(nodes, "learned", inputs, results),
                             opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(ML, ml_opset)])


@pytest.fixture(scope="module")
def worker(root):
    one = node_tests.Worker(program(root, "onnx_model_runner"))
    yield one
    one.close()


def run(worker, folder, made, feeds):
    (folder / "model.onnx").write_bytes(made.SerializeToString())
    node_tests.write_inputs(folder / "inputs", list(feeds.values()))
    return worker.ask(folder / "model.onnx", folder / "inputs")


def check(worker, folder, nodes, feeds, outputs, expected=None, ml_opset=3):
    made = model(nodes, feeds, outputs, ml_opset)
    stage, answer = run(worker, folder, made, feeds)
    assert stage == "ok", answer
    if expected is None:
        expected = ReferenceEvaluator(made).run(None, feeds)
    for name, want, have in zip(outputs, expected, answer):
        assert node_tests.difference(np.asarray(want), have, rtol=1e-4, atol=1e-5) is None, (name, want, have)
    return answer


def samples(seed=0, holes=False):
    x = np.random.default_rng(seed).normal(size=(ROWS, FEATURES)).astype(np.float32)
    if holes:
        x[np.random.default_rng(seed + 1).random(x.shape) < 0.2] = np.nan
    return {"x": x}


def forest(seed, trees, targets, kind, modes=("BRANCH_LEQ",), positive=True, depth=3):
    """Attributes of random full trees whose leaves count for one target each, or for all."""
    rng = np.random.default_rng(seed)
    lists = {f"nodes_{name}": [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = {f"{kind}_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        inner = 2**depth - 1
        for node in range(2 * inner + 1):
            leaf = node >= inner
            row = (tree, node, int(rng.integers(FEATURES)), 0.0 if leaf else float(np.float32(rng.normal())), "LEAF" if leaf else str(rng.choice(modes)),
                   0 if leaf else 2 * node + 1, 0 if leaf else 2 * node + 2, int(rng.integers(2)))
            for name, value in zip(lists, row):
                lists[name].append(value)
            for target in range(targets) if leaf else ():
                weight = rng.random() if positive else rng.normal()
                for name, value in zip(leaves, (tree, node, target, float(np.float32(weight)))):
                    leaves[name].append(value)
    return {**lists, **leaves}


ALL_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


@pytest.mark.parametrize(("aggregate", "targets"), itertools.product(["SUM", "AVERAGE", "MIN", "MAX"], [1, 3]))
def test_regression_by_trees(worker, tmp_path, aggregate, targets):
    attributes = forest(1, 4, targets, "target", ALL_MODES, positive=False)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=targets, aggregate_function=aggregate,
                            base_values=[0.5 + i for i in range(targets)], **attributes)
    check(worker, tmp_path, [node], samples(2, holes=True), ["y"])


@pytest.mark.parametrize(("classes", "transform"), itertools.product([2, 4], ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]))
def test_classification_by_trees(worker, tmp_path, classes, transform):
    attributes = forest(3, 5, classes, "class")
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, classlabels_int64s=[10 * i + 3 for i in range(classes)],
                            post_transform=transform, **attributes)
    check(worker, tmp_path, [node], samples(4), ["label", "scores"])


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_boosted_trees_have_one_score_for_two_classes(worker, tmp_path, transform):
    attributes = forest(5, 6, 1, "class", positive=False)
    node = helper.make_node("TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML, classlabels_int64s=[0, 1], post_transform=transform,
                            base_values=[0.25], **attributes)
    feeds = samples(6)
    label, scores = check(worker, tmp_path, [node], feeds, ["label", "scores"])
    assert set(label.tolist()) == {0, 1}
    if transform == "LOGISTIC":
        np.testing.assert_allclose(scores.sum(1), 1, rtol=1e-5)


def test_a_tree_with_a_cycle_is_told_and_ends(worker, tmp_path):
    attributes = forest(7, 1, 1, "target")
    attributes["nodes_truenodeids"][1] = attributes["nodes_falsenodeids"][1] = 0
    attributes["nodes_truenodeids"][0] = attributes["nodes_falsenodeids"][0] = 1
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **attributes)
    feeds = samples()
    stage, answer = run(worker, tmp_path, model([node], feeds, ["y"]), feeds)
    assert stage == "run" and "cycle" in answer, (stage, answer)


@pytest.mark.parametrize(("rows", "transform"), itertools.product([2, 3], ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]))
def test_linear_classification(worker, tmp_path, rows, transform):
    rng = np.random.default_rng(8)
    node = helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain=ML, coefficients=rng.normal(size=rows * FEATURES).tolist(),
                            intercepts=rng.normal(size=rows).tolist(), classlabels_ints=[7 * i for i in range(rows)], post_transform=transform, multi_class=1)
    check(worker, tmp_path, [node], samples(9), ["label", "scores"])


@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regression(worker, tmp_path, targets):
    rng = np.random.default_rng(10)
    node = helper.make_node("LinearRegressor", ["x"], ["y"], domain=ML, coefficients=rng.normal(size=targets * FEATURES).tolist(),
                            intercepts=rng.normal(size=targets).tolist(), targets=targets)
    check(worker, tmp_path, [node], samples(11), ["y"])


KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "POLY": [0.5, 1.0, 3.0], "RBF": [0.3, 0.0, 0.0], "SIGMOID": [0.2, 0.1, 0.0]}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_regression_by_support_vectors(worker, tmp_path, kernel, one_class):
    rng = np.random.default_rng(12)
    node = helper.make_node("SVMRegressor", ["x"], ["y"], domain=ML, kernel_type=kernel, kernel_params=KERNELS[kernel], n_supports=6, one_class=one_class,
                            coefficients=rng.normal(size=6).tolist(), rho=[0.125], support_vectors=rng.normal(size=6 * FEATURES).tolist())
    check(worker, tmp_path, [node], samples(13), ["y"])


def support_vectors(kernel, classes, **more):
    rng = np.random.default_rng(14)
    counts = [2 + i for i in range(classes)]
    pairs, vectors = classes * (classes - 1) // 2, sum(counts)
    return helper.make_node("SVMClassifier", ["x"], ["label", "scores"], domain=ML, kernel_type=kernel, kernel_params=KERNELS[kernel],
                            coefficients=rng.normal(size=(classes - 1) * vectors).tolist(), rho=rng.normal(size=pairs).tolist(),
                            support_vectors=rng.normal(size=vectors * FEATURES).tolist(), vectors_per_class=counts,
                            classlabels_ints=[5 * i + 1 for i in range(classes)], post_transform="NONE", **more)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_classification_by_support_vectors(worker, tmp_path, kernel, classes):
    check(worker, tmp_path, [support_vectors(kernel, classes)], samples(15), ["label", "scores"])


def coupled(pairs):
    """The probabilities p of classes, of sum 1, for which the sum of (r_ji p_i - r_ij p_j)^2 is least: one system of equations. The package's reference
    adds products up where there should be a row of them, and is right for two classes alone."""
    classes = len(pairs)
    q = -pairs.T * pairs
    np.fill_diagonal(q, (pairs**2).sum(0) - np.diag(pairs)**2)
    system = np.block([[q, np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]])
    return np.linalg.solve(system, np.append(np.zeros(classes), 1))[:classes]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3, 4])
def test_probabilities_of_classes_from_those_of_pairs(worker, tmp_path, kernel, classes):
    rng = np.random.default_rng(21)
    feeds, count = samples(15), classes * (classes - 1) // 2
    a, b = (-1 - rng.random(count)).astype(np.float32), rng.normal(size=count).astype(np.float32)
    _, margins = ReferenceEvaluator(model([support_vectors(kernel, classes)], feeds, ["label", "scores"])).run(None, feeds)
    margins = margins[:, 1:] if classes == 2 else margins
    expected = []
    for row in margins.astype(np.float64):
        pairs = np.zeros((classes, classes))
        for number, (i, j) in enumerate(itertools.combinations(range(classes), 2)):
            pairs[i, j] = np.clip(1 / (1 + np.exp(a[number] * row[number] + b[number])), 1e-7, 1 - 1e-7)
            pairs[j, i] = 1 - pairs[i, j]
        expected.append(coupled(pairs))
    node = support_vectors(kernel, classes, prob_a=a.tolist(), prob_b=b.tolist())
    stage, answer = run(worker, tmp_path, model([node], feeds, ["label", "scores"]), feeds)
    assert stage == "ok", answer
    np.testing.assert_allclose(answer[1].sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(answer[1], np.array(expected), atol=0.01)  # the iteration ends within 0.005


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_features_are_prepared(worker, tmp_path, norm):
    feeds = samples(16, holes=True)
    feeds["x"][3] = 0
    nodes = [helper.make_node("Imputer", ["x"], ["filled"], domain=ML, imputed_value_floats=[1.0, 2, 3, 4, 5], replaced_value_float=float("nan")),
             helper.make_node("Scaler", ["filled"], ["scaled"], domain=ML, offset=[0.5, 1, 1.5, 2, 2.5], scale=[1.0, 2, 0.5, 0.25, 4]),
             helper.make_node("Normalizer", ["scaled"], ["normal"], domain=ML, norm=norm),
             helper.make_node("Binarizer", ["scaled"], ["binary"], domain=ML, threshold=0.5),
             helper.make_node("FeatureVectorizer", ["normal", "binary"], ["y"], domain=ML, inputdimensions=[FEATURES, FEATURES])]
    check(worker, tmp_path, nodes, feeds, ["filled", "scaled", "normal", "y"])


def test_categories_and_labels(worker, tmp_path):
    feeds = {"x": np.random.default_rng(17).integers(0, 6, size=(ROWS, 2))}
    nodes = [helper.make_node("OneHotEncoder", ["x"], ["hot"], domain=ML, cats_int64s=[4, 1, 3], zeros=1),
             helper.make_node("LabelEncoder", ["x"], ["real"], domain=ML, keys_int64s=[0, 2, 5], values_floats=[0.5, 1.5, -2.0], default_float=9.0),
             helper.make_node("LabelEncoder", ["x"], ["whole"], domain=ML, keys_int64s=[0, 2, 5], values_int64s=[11, 12, 13], default_int64=-7)]
    check(worker, tmp_path, nodes, feeds, ["hot", "real", "whole"])


def test_an_unknown_category_fails_the_run_where_it_must_be_known(worker, tmp_path):
    feeds = {"x": np.array([[4], [2]])}
    node = helper.make_node("OneHotEncoder", ["x"], ["hot"], domain=ML, cats_int64s=[4, 1, 3], zeros=0)
    stage, answer = run(worker, tmp_path, model([node], feeds, ["hot"]), feeds)
    assert stage == "run" and "categories" in answer, (stage, answer)


def test_what_scikit_learn_writes_behind_a_classifier(worker, tmp_path):
    """The usual tail: probabilities normalised, the label cast, and a table of names, which is returned as its scores."""
    rng = np.random.default_rng(18)
    nodes = [helper.make_node("LinearClassifier", ["x"], ["label", "raw"], domain=ML, coefficients=rng.normal(size=3 * FEATURES).tolist(),
                              intercepts=[0.0, 0.5, -0.5], classlabels_ints=[0, 1, 2], post_transform="LOGISTIC", multi_class=1),
             helper.make_node("Normalizer", ["raw"], ["normal"], domain=ML, norm="L1"),
             helper.make_node("Cast", ["label"], ["output_label"], to=TensorProto.INT64),
             helper.make_node("ZipMap", ["normal"], ["output_probability"], domain=ML, classlabels_int64s=[0, 1, 2])]
    feeds = samples(19)
    expected = ReferenceEvaluator(model(nodes[:3], feeds, ["output_label", "normal"])).run(None, feeds)
    check(worker, tmp_path, nodes, feeds, ["output_label", "output_probability"], expected)


@pytest.mark.parametrize("shape", [(ROWS, FEATURES)])
def test_features_are_taken_out(worker, tmp_path, shape):
    feeds = {"x": np.random.default_rng(20).normal(size=shape).astype(np.float32), "places": np.array([[3, 0]])}
    node = helper.make_node("ArrayFeatureExtractor", ["x", "places"], ["y"], domain=ML)
    check(worker, tmp_path, [node], feeds, ["y"])


@pytest.mark.parametrize(("kind", "attributes"), [
    ("LinearClassifier", {"coefficients": [1.0] * FEATURES * 2, "intercepts": [0.0, 0.0], "classlabels_strings": ["a", "b"]}),
    ("OneHotEncoder", {"cats_strings": ["a", "b"]}),
    ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}),
    ("LinearRegressor", {"coefficients": [1.0] * FEATURES, "post_transform": "PROBIT"}),
    ("SVMRegressor", {"coefficients": [1.0] * FEATURES, "rho": [0.0], "n_supports": 1, "support_vectors": [1.0] * FEATURES, "kernel_type": "COSINE"}),
])
def test_what_is_not_there_is_refused_when_the_model_is_parsed(worker, tmp_path, kind, attributes):
    outputs = ["label", "scores"] if kind.endswith("Classifier") else ["y"]
    feeds = samples()
    stage, answer = run(worker, tmp_path, model([helper.make_node(kind, ["x"], outputs, domain=ML, **attributes)], feeds, outputs), feeds)
    assert stage == "parse" and ("support" in answer or "known" in answer), (stage, answer)
