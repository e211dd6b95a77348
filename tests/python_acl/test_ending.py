# SPDX-License-Identifier: Apache-2.0
"""The end of an interpreter whose daemon threads and callbacks go on: the process ends with its own code and no other. Issue 13.

Python ends such threads where they ask for the GIL, in the midst of whatever called them."""

import pytest

ROUNDS = 4  # most of these failed each time; what is left to chance is which of the threads is where

OPERATORS = """
    import acl, threading
    acl.init(); acl.rt.set_device(0)
    context, _ = acl.rt.get_context()
    first = threading.Semaphore(0)
    SIZE = 4 << 10

    def work(allocator):
        acl.rt.set_context(context)
        stream, _ = acl.rt.create_stream()
        if allocator:
            desc = acl.rt.allocator_create_desc()
            acl.rt.allocator_set_obj_to_desc(desc, threading.get_ident())
            acl.rt.allocator_set_alloc_func_to_desc(desc, lambda allocator, size: acl.rt.malloc(size, 0)[0])
            acl.rt.allocator_set_free_func_to_desc(desc, lambda allocator, block: acl.rt.free(block))
            acl.rt.allocator_set_get_addr_from_block_func_to_desc(desc, lambda block: block)
            assert acl.rt.allocator_register(stream, desc) == 0
        desc = acl.create_tensor_desc(0, [SIZE // 4], 2)
        given = acl.create_data_buffer(acl.rt.malloc(SIZE, 0)[0], SIZE)
        memory = None if allocator else acl.rt.malloc(SIZE, 0)[0]
        while True:
            wanted = acl.create_data_buffer(memory or 0, SIZE if memory else 0)
            if acl.op.compile_and_execute_v2("Add", [desc, desc], [given, given], [desc], [wanted], 0, 0, 0, "", stream) == 0:
                acl.rt.synchronize_stream(stream)
                first.release()
                if allocator:
                    acl.rt.free(acl.get_data_buffer_addr(wanted))
            acl.destroy_data_buffer(wanted)

    for _ in range(3):
        threading.Thread(target=work, args=(ALLOCATOR,), daemon=True).start()
"""


def ends_well(program, text):
    for _ in range(ROUNDS):
        done = program(text)
        assert done.stdout == "bye\n" and "Fatal" not in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("allocator", [False, True])
def test_daemon_threads_run_operators_while_the_interpreter_ends(program, allocator):
    ends_well(program, OPERATORS.replace("ALLOCATOR", str(allocator)) + """
    for _ in range(6):
        first.acquire()
    print("bye", flush=True)
    """)


def test_daemon_threads_load_the_kernels_while_the_interpreter_ends(program):
    """Their library has begun to come, and the first operator has not been launched."""
    ends_well(program, OPERATORS.replace("ALLOCATOR", "False") + """
    while "libtorch_cpu" not in open("/proc/self/maps").read():
        pass
    print("bye", flush=True)
    """)


@pytest.mark.parametrize("timeout", [-1, 1, 50])
def test_a_started_thread_processes_reports_while_the_interpreter_ends(program, timeout):
    ends_well(program, f"""
        import acl, threading
        acl.init(); acl.rt.set_device(0)
        context, _ = acl.rt.get_context()
        stream, _ = acl.rt.create_stream()
        called = threading.Event()

        def run(arguments):
            acl.rt.set_context(context)
            while True:
                acl.rt.process_report({timeout})

        thread, ret = acl.util.start_thread(run, [1])
        assert acl.rt.subscribe_report(thread, stream) == 0
        assert acl.rt.launch_callback(lambda data: called.set(), None, 1, stream) == 0
        called.wait()
        print("bye", flush=True)
    """)


def test_a_started_thread_runs_python_while_the_interpreter_ends(program):
    ends_well(program, """
        import acl, threading, time
        running = threading.Event()

        def run(arguments):
            running.set()
            while True:
                time.sleep(0.001)

        acl.util.start_thread(run, [1])
        running.wait()
        print("bye", flush=True)
    """)


def test_a_host_function_that_never_returns_does_not_abort_the_end(program):
    """It is waited for, in vain; then Python ends its thread, in the midst of the runtime's own frames."""
    done = program("""
        import acl, threading, time
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        running = threading.Event()

        def run(data):
            running.set()
            while True:
                time.sleep(0.001)

        assert acl.rt.launch_host_func(stream, run, None) == 0
        running.wait()
        print("bye", flush=True)
    """)
    assert done.stdout == "bye\n" and "Fatal" not in done.stderr, done.stderr
