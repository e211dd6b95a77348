# SPDX-License-Identifier: Apache-2.0
"""The doctor's child: imports torch and torch_npu as a program does and runs one operator. One `ok ...` or bad line each."""

import ctypes
import sys


def brief(error):
    """The line with our library's reason, if there is one: torch_npu wraps it in advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    line = next((line for line in lines if "Reason:" in line), lines[0])
    return f"{type(error).__name__}: {line[:300]}"


def half_types():
    """What the kernels found out about AMX when they were loaded."""
    # The library that the operator has loaded: there may be one for each of several releases of torch.
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        path = next(line.split(maxsplit=5)[5].strip() for line in maps if line.rstrip().endswith("/libmillpond_kernels.so"))
    library = ctypes.CDLL(path)
    library.millpondHalfTypesFinding.restype = ctypes.c_char_p
    return library.millpondHalfTypesFinding().decode()


def main(operators):
    try:
        import torch
        import torch_npu
    except Exception as error:  # whatever import raises is the finding
        print(f"import torch_npu: {brief(error)}")
        return 1
    print(f"ok import torch_npu {torch_npu.__version__} on torch {torch.__version__}: {torch.npu.device_count()} devices")
    if operators:
        try:
            total = torch.ones(1000, device="npu").sum().item()
        except Exception as error:
            print(f"torch.ones(1000, device='npu').sum(): {brief(error)}")
            return 1
        if total != 1000:
            print(f"torch.ones(1000, device='npu').sum() gave {total}, not 1000")
            return 1
        print("ok an operator runs on npu:0")
        print(f"ok {half_types()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "operators"))
