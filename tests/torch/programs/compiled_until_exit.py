# SPDX-License-Identifier: Apache-2.0
"""A compiled model that lives until the process ends: torchair's allocator is registered when torch_npu takes its streams down."""

import torch
import torch_npu
import torchair

model = torch.nn.Linear(32, 8).eval().to("npu")
compiled = torch.compile(model, backend=torchair.get_npu_backend(compiler_config=torchair.CompilerConfig()), dynamic=False)
x = torch.ones(16, 32, device="npu")
with torch.no_grad():
    y = compiled(x)
torch_npu.npu.synchronize()
print("same", bool(torch.allclose(y.cpu(), model(x).detach().cpu(), atol=1e-5)))
