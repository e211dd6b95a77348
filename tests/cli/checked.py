# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a checked process: writes the lines it is given to $MILLPOND_CHECK_JSON and ends as it is told.

    checked.py SPEC      SPEC: JSON, or the name of a file with it

{"lines": [...], "raw": "text", "children": [SPEC...], "ready": FILE, "wait": SIGNAL, "print": TEXT, "exit": N, "kill": SIGNAL, "environment": FILE,
 "ordered": {BEGINNING: {...}}}
A line without a pid gets this process's. With "wait" it says in the file "ready" that it has started and lasts until that signal, which it
reports as a note of its end. "ordered" has what is different where $MILLPOND_SCHEDULE begins like that.
"""

import json
import os
import signal
import subprocess
import sys


def write(text):
    if not os.environ.get("MILLPOND_CHECK_JSON"):
        return
    handle = os.open(os.environ["MILLPOND_CHECK_JSON"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(handle, text.encode("utf-8", "surrogateescape"))
    os.close(handle)


def main(text):
    if os.path.exists(text):
        with open(text, encoding="utf-8") as file:
            text = file.read()
    spec = json.loads(text)
    order = os.environ.get("MILLPOND_SCHEDULE", "")
    for beginning, instead in spec.get("ordered", {}).items():
        if order.startswith(beginning) if beginning else not order:
            spec.update(instead)
    number = spec.get("wait")
    if number:
        signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    if spec.get("environment"):
        with open(spec["environment"], "w", encoding="utf-8") as file:
            json.dump(dict(os.environ), file)
    for line in spec.get("lines", []):
        write(json.dumps({"pid": os.getpid(), **line}) + "\n")
    for child in spec.get("children", []):
        subprocess.run([sys.executable, __file__, json.dumps(child)], check=False)
    if number:
        with open(spec["ready"], "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
        came = signal.sigwait([number])
        write(json.dumps({"event": "end", "pid": os.getpid(), "notes": [f"got {signal.Signals(came).name}"]}) + "\n")
    write(spec.get("raw", ""))
    if "print" in spec:
        print(spec["print"], end="", flush=True)
    if spec.get("kill"):
        if spec["kill"] != signal.SIGKILL:
            signal.signal(spec["kill"], signal.SIG_DFL)
        os.kill(os.getpid(), spec["kill"])
    os._exit(spec.get("exit", 0))


main(sys.argv[1])
