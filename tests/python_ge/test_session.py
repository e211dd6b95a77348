# SPDX-License-Identifier: Apache-2.0
"""The engine, its sessions and its errors."""

import pytest
from ge.allocator import Allocator, MemBlock
from ge.error import GeError, get_ge_error_msg
from ge.es import GraphBuilder
from ge.ge_global import GeApi
from ge.graph import DataType, Tensor
from ge.session import Session

CONFIG = {"ge.exec.deviceId": "0", "ge.graphRunMode": "0"}
ONES = [1.0] * 4


class Nothing(Allocator):
    def malloc(self, size):
        return MemBlock(0, size)

    def free(self, block):
        pass


def total(shapes=([2, 2], [2, 2])):
    builder = GraphBuilder("total")
    left, right = [builder.create_input(place, shape=list(shape)) for place, shape in enumerate(shapes)]
    return builder.build_and_reset([left + right])


def tensor(values, shape=(2, 2)):
    return Tensor(values, shape=list(shape))


@pytest.fixture
def session(engine):
    made = Session()
    made.add_graph(1, total())
    return made


# --- the engine
def test_the_engine_can_be_turned_on_and_off_again_and_again():
    for api in (GeApi, GeApi()):
        assert [api.ge_initialize(CONFIG), api.ge_initialize(CONFIG)] == [0, 0]
        assert [api.ge_finalize(), api.ge_finalize()] == [0, 0]


def test_a_bad_option_is_named_by_the_error():
    with pytest.raises(GeError, match="^GEInitialize failed; .*ge.exec.deviceId") as caught:
        GeApi.ge_initialize({"ge.exec.deviceId": "4711"})
    assert "4711" in caught.value.error_message


# --- errors: `<Api> failed; key=value, ...; <what the engine said>`
def test_an_error_has_the_call_its_context_and_the_message_of_the_engine():
    with pytest.raises(GeError, match=r"^AddGraph failed; graph_id=2; .*GEInitialize") as caught:
        Session().add_graph(2, total())  # the engine is off
    error = caught.value
    assert isinstance(error, RuntimeError)
    assert (error.api_name, error.context) == ("AddGraph", {"graph_id": 2})
    assert "not initialised" in error.error_message and str(error).endswith(error.error_message)


def test_an_error_may_have_no_more_than_a_text():
    error = GeError("text")
    assert (str(error), error.error_message, error.api_name, error.context) == ("text", None, None, {})


def test_reading_the_message_clears_it():
    with pytest.raises(GeError):
        Session().remove_graph(1)
    assert get_ge_error_msg() == ""


@pytest.mark.parametrize("api, context, call", [
    ("AddGraph", "graph_id=3", lambda session: session.add_graph(3, total())),
    ("RunGraph", "graph_id=3", lambda session: session.run_graph(3, [])),
    ("RemoveGraph", "graph_id=3", lambda session: session.remove_graph(3)),
    ("RegisterExternalAllocator", "stream=0x12", lambda session: session.register_external_allocator(0x12, Nothing())),
    ("UnregisterExternalAllocator", "stream=0x12", lambda session: session.unregister_external_allocator(0x12)),
    ("RegisterDefaultAllocator", "stream=0x12", lambda session: session.run_graph_with_stream_async(3, 0x12, [])),
])
def test_every_call_fails_while_the_engine_is_off(api, context, call):
    with pytest.raises(GeError) as caught:
        call(Session())
    assert str(caught.value).startswith(f"{api} failed; {context}; ")


# --- runs
def test_a_graph_runs_on_tensors_of_the_host(engine):
    session = Session({"ge.exec.enableDump": "0"})
    assert session.add_graph(1, total(), {"ge.exec.outputReuseMemIndexes": ""}) == 0
    (result,) = session.run_graph(1, [tensor([1.0, 2.0, 3.0, 4.0]), tensor([10.0, 20.0, 30.0, 40.0])])
    assert result.data == [[11.0, 22.0], [33.0, 44.0]]
    assert (result.shape, result.data_type) == ([2, 2], DataType.DT_FLOAT)


def test_a_graph_that_was_removed_does_not_run(session):
    assert session.remove_graph(1) is None
    with pytest.raises(GeError, match="^RunGraph failed; graph_id=1; "):
        session.run_graph(1, [tensor(ONES), tensor(ONES)])
    with pytest.raises(GeError, match="^RemoveGraph failed; graph_id=1; "):
        session.remove_graph(1)


def test_every_run_has_the_values_it_was_given(session):
    for number in range(20):
        (result,) = session.run_graph(1, [tensor([float(number)] * 4), tensor(ONES)])
        assert result.data == [[number + 1.0] * 2] * 2


@pytest.mark.parametrize("inputs", [[[1.0, 2.0], ONES], [ONES]], ids=["too few values", "too few inputs"])
def test_inputs_that_do_not_fit_the_graph_fail_the_run(session, inputs):
    with pytest.raises(GeError, match="^RunGraph failed; graph_id=1; "):
        session.run_graph(1, [tensor(values) for values in inputs])
    (result,) = session.run_graph(1, [tensor(ONES), tensor(ONES)])  # and only that one
    assert result.data == [[2.0, 2.0], [2.0, 2.0]]


def test_a_graph_that_cannot_be_compiled_names_the_node(engine):
    session = Session()
    session.add_graph(1, total(([2, 3], [4, 5])))
    with pytest.raises(GeError, match="Add_0"):
        session.run_graph(1, [tensor([1.0] * 6, [2, 3]), tensor([1.0] * 20, [4, 5])])


def test_a_session_that_outlives_the_engine_only_fails():
    GeApi.ge_initialize(CONFIG)
    session = Session()
    session.add_graph(1, total())
    GeApi.ge_finalize()
    with pytest.raises(GeError):
        session.run_graph(1, [tensor(ONES), tensor(ONES)])
