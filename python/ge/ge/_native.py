# SPDX-License-Identifier: Apache-2.0
"""The C functions under the package (python/ge/native), and the few ways of calling them.

ctypes gives up the interpreter's lock for the length of each call, so that a call may wait for work that needs it: an
allocator written in Python, another thread.
"""

import ctypes
import os
from typing import Any, Callable, List, Optional, Sequence, Tuple

KINDS = {"v": None, "p": ctypes.c_void_p, "s": ctypes.c_char_p, "b": ctypes.c_bool, "i": ctypes.c_int32,
         "u": ctypes.c_uint32, "q": ctypes.c_uint64, "z": ctypes.c_size_t}

# name:parameters:result. v nothing, p pointer, s text, b truth value, i int32, u uint32, q uint64, z size.
FUNCTIONS = """
free:p:v initialize:ppz:u finalize::u error_message::p session_create:ppz:p session_destroy:p:v
session_add_graph:pupppz:u session_remove_graph:pu:u session_run:pupzpp:u session_run_on_stream:puppzpp:u
session_register_allocator:ppq:u session_ensure_allocator:pp:u session_unregister_allocator:pp:u has_allocator:pb:b
allocator_functions:ppp:v attr_destroy:p:v graph_create:s:p graph_destroy:p:v graph_set_valid:p:u graph_name:p:p
graph_nodes:pbpp:u graph_find_node:ps:p graph_add_operator:pp:p graph_remove_node:pp:u graph_add_edge:ppipi:u
graph_add_control_edge:ppp:u graph_remove_edge:ppipi:u graph_set_outputs:pppz:u graph_set_attr:psp:u
graph_get_attr:ps:p graph_dump_to_file:pis:u graph_dump:pi:p graph_save:ps:u graph_load:ps:u graph_subgraphs:ppp:u
graph_get_subgraph:ps:p graph_add_subgraph:pp:u graph_remove_subgraph:ps:u node_destroy:p:v node_name:p:p
node_type:p:p node_controls:pbpp:u node_source:pip:p node_users:pippp:u node_size:pb:z node_operand:pbsi:i
node_get_desc:pbi:p node_set_desc:pbip:u node_has_attr:ps:b node_set_attr:piusp:u node_get_attr:pius:p
node_set_subgraphs:pspzb:u operator_create:ss:p operator_destroy:p:v operator_text:pb:p operator_dynamic:pbsu:u
operator_define:pis:u operator_set_attr:psp:u operator_set_desc:pbsp:u desc_create:pzii:p desc_destroy:p:v
desc_get_shape:pbpp:u desc_set_shape:pbpz:u desc_get_format:pb:i desc_set_format:pbi:u desc_get_type:p:i
desc_set_type:pi:u tensor_create::p tensor_create_with:ppz:p tensor_destroy:p:v tensor_desc:p:p tensor_set_format:pi:u
tensor_set_type:pi:u tensor_placement:p:i tensor_data:ppp:u tensor_to_host:pz:u tensor_to_device:p:u
build_initialize:ppz:u build_finalize::u build_model:pppzp:u build_bundle:pzpppp:u save_model:spb:u model_destroy:p:v
model_length:p:q infer_shape:pppz:u node_support:ppp:u
"""
MISSING = 0xFFFFFFFE  # a function that the installed libraries lack


class Library:
    """Each function as an attribute, without its prefix."""

    def __init__(self) -> None:
        folder = os.path.dirname(os.path.abspath(__file__))
        path = os.path.join(folder, "libge_python.so")
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            raise ImportError(f"ge cannot load {path}: {error}; source set_env.sh of its installation") from error
        for word in FUNCTIONS.split():
            name, takes, gives = word.split(":")
            function = getattr(library, f"gepy_{name}")
            function.argtypes = [KINDS[kind] for kind in takes]
            function.restype = KINDS[gives]
            setattr(self, name, function)


lib = Library()


def text(address: Optional[int]) -> Optional[str]:
    """A text of the library's, which gets its memory back."""
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode("utf-8", errors="replace")
    finally:
        lib.free(address)


def handles(function: Callable[..., int], *arguments: Any) -> Tuple[int, List[int]]:
    """Calls a function that ends in (void*** handles, size_t* count). Its status and the caller's handles."""
    array, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    status = function(*arguments, ctypes.byref(array), ctypes.byref(count))
    if not array:
        return status, []
    try:
        return status, [array[place] for place in range(count.value)]
    finally:
        lib.free(ctypes.cast(array, ctypes.c_void_p))


def listed(function: Callable[..., int], *arguments: Any) -> List[int]:
    """The same for a question that cannot fail: nothing is an answer, and the next failure must not report it."""
    found = handles(function, *arguments)[1]
    if not found:
        take_message()
    return found


def pointers(values: Sequence[Optional[int]]) -> ctypes.Array:
    """An array of handles."""
    return (ctypes.c_void_p * len(values))(*values)


def options(words: dict) -> tuple:
    """A dictionary as (keys, values, count)."""
    keys, values = [key.encode("utf-8") for key in words], [value.encode("utf-8") for value in words.values()]
    array = ctypes.c_char_p * len(words)
    return array(*keys), array(*values), len(words)


def int64s(values: Sequence[int]) -> ctypes.Array:
    return (ctypes.c_int64 * len(values))(*values)


def dims(function: Callable[..., int], *arguments: Any) -> Optional[List[int]]:
    """Calls a function that ends in (int64_t** dims, size_t* count); None when it failed."""
    array, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_size_t()
    status = function(*arguments, ctypes.byref(array), ctypes.byref(count))
    try:
        return None if status else [array[place] for place in range(count.value)]
    finally:
        if array:
            lib.free(ctypes.cast(array, ctypes.c_void_p))


def take_message() -> str:
    """What the engine has to say about the last failure of this thread. Reading clears it."""
    return text(lib.error_message()) or ""


def failed(what: str) -> RuntimeError:
    """The error for a call that failed, with the engine's own words."""
    said = take_message()
    return RuntimeError(f"{what}; {said}" if said else what)
