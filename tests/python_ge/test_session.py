# SPDX-License-Identifier: Apache-2.0
"""ge.ge_global, ge.session and ge.error. Doc: GeApi, Session, Error."""

import copy

import pytest
from ge.allocator import Allocator, MemBlock
from ge.error import GeError, get_ge_error_msg
from ge.es import GraphBuilder
from ge.ge_global import GeApi
from ge.graph import DataType, Format, Graph, Tensor
from ge.session import Session

CONFIG = {"ge.exec.deviceId": "0", "ge.graphRunMode": "0"}


class Nothing(Allocator):
    def malloc(self, size):
        return MemBlock(0, size)

    def free(self, block):
        pass


def sum_graph(name="sum", shape=(2, 2)):
    builder = GraphBuilder(name)
    left = builder.create_input(0, name="left", shape=list(shape))
    right = builder.create_input(1, name="right", shape=list(shape))
    return builder.build_and_reset([left + right])


def tensor(values, shape=(2, 2)):
    return Tensor(values, None, DataType.DT_FLOAT, Format.FORMAT_ND, list(shape))


# --- Doc GeApi: "config" is a dictionary of options and must not be empty.
@pytest.mark.parametrize("config, message", [({1, "ge.graphRunMode"}, "Ge init config must be a dictionary"), ([], "Ge init config must be a dictionary"),
                                             ({}, "Ge init config must not be empty")])
def test_initialize_refuses_what_is_no_dictionary_of_options(config, message):
    with pytest.raises(TypeError, match=message):
        GeApi.ge_initialize(config)


def test_initialize_and_finalize_return_zero_and_may_be_repeated():
    assert GeApi.ge_initialize(CONFIG) == 0
    assert GeApi().ge_initialize(CONFIG) == 0
    assert GeApi.ge_finalize() == 0
    assert GeApi().ge_finalize() == 0


def test_a_bad_option_is_named_by_the_error():
    with pytest.raises(GeError, match="GEInitialize failed; .*ge.exec.deviceId.*") as caught:
        GeApi.ge_initialize({"ge.exec.deviceId": "4711"})
    assert "4711" in caught.value.error_message


# --- Doc Error: GeError is a RuntimeError with error_message, api_name and context; its text is "<Api> failed; <context>; <message>".
def test_an_error_carries_the_call_its_context_and_the_message():
    session = Session()  # before the engine is on: every call fails
    with pytest.raises(GeError, match=r"^AddGraph failed; graph_id=2; .*GEInitialize") as caught:
        session.add_graph(2, sum_graph())
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.api_name == "AddGraph"
    assert caught.value.context == {"graph_id": 2}
    assert "not initialised" in caught.value.error_message


def test_the_message_is_cleared_by_reading_it():
    with pytest.raises(GeError):
        Session().remove_graph(1)
    assert get_ge_error_msg() == ""


@pytest.mark.parametrize("call, expected", [
    (lambda session: session.run_graph(3, []), "RunGraph failed; graph_id=3; "),
    (lambda session: session.remove_graph(3), "RemoveGraph failed; graph_id=3; "),
    (lambda session: session.register_external_allocator(0x1234, Nothing()), "RegisterExternalAllocator failed; stream=0x1234; "),
    (lambda session: session.unregister_external_allocator(0x1234), "UnregisterExternalAllocator failed; stream=0x1234; "),
    (lambda session: session.run_graph_with_stream_async(3, 0x1234, []), "RegisterDefaultAllocator failed; stream=0x1234; "),
])
def test_every_call_fails_before_the_engine_is_on(call, expected):
    with pytest.raises(GeError) as caught:
        call(Session())
    assert str(caught.value).startswith(expected)


# --- Doc Session: the types of arguments.
@pytest.mark.parametrize("call, message", [
    (lambda: Session({"ge.exec.deviceId"}), "option must be a dictionary"),
    (lambda: Session().add_graph("1", Graph("g")), "Graph_id must be an integer"),
    (lambda: Session().add_graph(1, "g"), "Add_graph must be a Graph"),
    (lambda: Session().add_graph(1, Graph("g"), {"x"}), "options must be a dictionary"),
    (lambda: Session().remove_graph("1"), "Graph_id must be an integer"),
    (lambda: Session().run_graph("1", []), "Graph_id must be an integer"),
    (lambda: Session().run_graph(1, tensor([1.0] * 4)), "inputs must be a list of Tensor"),
    (lambda: Session().run_graph(1, [0]), "All elements in inputs must be the type of Tensor"),
    (lambda: Session().run_graph_with_stream_async("1", 1, []), "Graph_id must be an integer"),
    (lambda: Session().run_graph_with_stream_async(1, None, []), "Stream must be an integer"),
    (lambda: Session().run_graph_with_stream_async(1, 1, ()), "inputs must be a list of Tensor"),
    (lambda: Session().run_graph_with_stream_async(1, 1, [0]), "All elements in inputs must be the type of Tensor"),
    (lambda: Session().register_external_allocator("1", Nothing()), "stream must be an integer"),
    (lambda: Session().register_external_allocator(1, "an allocator"), "allocator must be an Allocator instance"),
    (lambda: Session().unregister_external_allocator("1"), "stream must be an integer"),
])
def test_wrong_types_are_refused_by_name(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("duplicate, word", [(copy.copy, "copy"), (copy.deepcopy, "deepcopy")])
def test_a_session_cannot_be_copied(duplicate, word):
    with pytest.raises(RuntimeError, match=f"Session does not support {word}"):
        duplicate(Session())


# --- runs
def test_a_graph_runs_on_host_tensors(engine):
    session = Session({"ge.exec.enableDump": "0"})
    assert session.add_graph(1, sum_graph(), {"ge.exec.outputReuseMemIndexes": ""}) == 0
    (result,) = session.run_graph(1, [tensor([1.0, 2.0, 3.0, 4.0]), tensor([10.0, 20.0, 30.0, 40.0])])
    assert result.get_data() == [[11.0, 22.0], [33.0, 44.0]]
    assert result.shape == [2, 2] and result.data_type == DataType.DT_FLOAT
    assert session.remove_graph(1) is None
    with pytest.raises(GeError, match="RunGraph failed; graph_id=1; "):
        session.run_graph(1, [tensor([1.0] * 4), tensor([1.0] * 4)])


def test_a_graph_runs_many_times_with_other_values(engine):
    session = Session()
    session.add_graph(7, sum_graph())
    for number in range(20):
        (result,) = session.run_graph(7, [tensor([float(number)] * 4), tensor([1.0] * 4)])
        assert result.data == [[number + 1.0] * 2] * 2


def test_too_few_values_for_the_shape_are_refused_by_the_run(engine):
    session = Session()
    session.add_graph(1, sum_graph())
    with pytest.raises(GeError, match="RunGraph failed; graph_id=1; "):
        session.run_graph(1, [tensor([1.0, 2.0]), tensor([1.0] * 4)])


def test_the_wrong_number_of_inputs_is_refused(engine):
    session = Session()
    session.add_graph(1, sum_graph())
    with pytest.raises(GeError, match="RunGraph failed; graph_id=1; "):
        session.run_graph(1, [tensor([1.0] * 4)])


def test_a_graph_that_cannot_be_compiled_names_the_node(engine):
    builder = GraphBuilder("misfit")
    total = builder.create_input(0, shape=[2, 3]) + builder.create_input(1, shape=[4, 5])
    session = Session()
    session.add_graph(1, builder.build_and_reset([total]))
    with pytest.raises(GeError, match="Add_0"):
        session.run_graph(1, [tensor([1.0] * 6, [2, 3]), tensor([1.0] * 20, [4, 5])])


def test_a_session_that_outlives_the_engine_only_fails():
    GeApi.ge_initialize(CONFIG)
    session = Session()
    session.add_graph(1, sum_graph())
    GeApi.ge_finalize()
    with pytest.raises(GeError):
        session.run_graph(1, [tensor([1.0] * 4), tensor([1.0] * 4)])
