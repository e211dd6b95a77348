# SPDX-License-Identifier: Apache-2.0
"""Small cases with torchair, all in one process. Each prints one line, "name: result"; test_cases.py says what it must be."""

import copy
import os
import sys
import tempfile
import traceback

import torch
import torch_npu
import torchair
from torch import nn

DEVICE = torch.device("npu:0")
CASES = []


def case(function):
    CASES.append(function)
    return function


def backend(**settings):
    config = torchair.CompilerConfig()
    for name, value in settings.items():
        place = config
        *path, last = name.split("__")
        for part in path:
            place = getattr(place, part)
        setattr(place, last, value)
    return torchair.get_npu_backend(compiler_config=config)


def compiled(function, dynamic=False, **settings):
    return torch.compile(function, backend=backend(**settings), dynamic=dynamic)


def apart(one, other):
    one, other = one.detach().cpu().float(), other.detach().cpu().float()
    assert one.shape == other.shape, f"shapes {tuple(one.shape)} and {tuple(other.shape)}"
    return ((one - other).abs().max() / other.abs().max().clamp(min=1e-6)).item() if one.numel() else 0.0


def mlp(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).eval()


def distance(settings=None, dynamic=False, model=None):
    """How far a compiled perceptron is from the CPU's, in its first and second run."""
    reference = model or mlp()
    function = compiled(copy.deepcopy(reference).to(DEVICE), dynamic, **(settings or {}))
    return max(apart(function(x.to(DEVICE)), reference(x)) for x in (torch.randn(3, 16), torch.randn(3, 16)))


def reason(function, *arguments):
    """The line of the error that says why; the call must fail."""
    try:
        function(*arguments)
        torch.npu.synchronize()
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines()]
        told = [line for line in lines if "converter" in line or "operator type" in line or "node \"" in line]
        return (told or lines or ["no text"])[0][:300]
    return "no error"


@case
def two_models_in_turn():
    first, second = mlp(1), nn.Sequential(nn.Linear(16, 8), nn.Tanh()).eval()
    one, other = (compiled(copy.deepcopy(model).to(DEVICE)) for model in (first, second))
    worst = 0
    for _ in range(3):
        x = torch.randn(5, 16)
        worst = max(worst, apart(one(x.to(DEVICE)), first(x)), apart(other(x.to(DEVICE)), second(x)))
    return worst


@case
def intermediates_of_a_dynamic_graph_are_the_wheels_memory():
    def wide(x):
        return (torch.exp(x.expand(4096, x.shape[1]) + 1) * 2).sum(0)

    function = compiled(wide, dynamic=True)
    x = torch.randn(1, 257, device=DEVICE)
    function(x)
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    result = function(x)
    torch.npu.synchronize()
    rise = torch.npu.max_memory_allocated() - before
    return f"{rise >= 4096 * 257 * 4} {apart(result, wide(x.cpu()))}"


@case
def memory_does_not_grow_with_runs():
    function = compiled(copy.deepcopy(mlp()).to(DEVICE), dynamic=True)
    x = torch.randn(64, 16, device=DEVICE)
    for _ in range(3):
        function(x)
    before = torch.npu.memory_allocated()
    for _ in range(20):
        function(x)
    torch.npu.synchronize()
    return torch.npu.memory_allocated() - before


@case
def frozen_parameters():
    return max(distance({"experimental_config__frozen_parameter": True}), distance({"experimental_config__frozen_parameter": True}, True))


@case
def refreshable_feature_memory():
    return distance({"experimental_config__memory_efficiency": True})


@case
def reference_data():
    def add(state, x):
        state.add_(x)
        return state * 2

    function = compiled(add, experimental_config__enable_ref_data=True)
    state, x = torch.ones(4, device=DEVICE), torch.ones(4, device=DEVICE)
    function(state, x)
    result = function(state, x)
    return f"{state.tolist()} {result.tolist()}"


@case
def in_place_updates():
    def update(cache, place, row):
        torch_npu.scatter_update_(cache, place, row, -2)
        cache[:, :, 6:8].copy_(row)
        return cache.sum()

    worst = 0
    for dynamic in (False, True):
        function = compiled(update, dynamic)
        ours, theirs = (torch.zeros(1, 4, 8, 16, device=DEVICE) for _ in range(2))
        for place in (0, 3):
            row = torch.randn(1, 4, 2, 16, device=DEVICE)
            at = torch.tensor([place], device=DEVICE)
            worst = max(worst, apart(function(ours, at, row), update(theirs, at, row)), apart(ours, theirs))
    return worst


@case
def a_volume_without_a_batch():
    # Its four dimensions become five, and the layout of a picture must not go along.
    x, weight = torch.randn(2, 4, 5, 3), torch.randn(2, 3, 2, 2, 2)
    return apart(compiled(nn.functional.conv_transpose3d)(x.to(DEVICE), weight.to(DEVICE)), nn.functional.conv_transpose3d(x, weight))


@case
def half_precision():
    worst = 0
    for kind in (torch.float16, torch.bfloat16):
        model = mlp().to(DEVICE, kind)
        x = torch.randn(3, 16, device=DEVICE, dtype=kind)
        worst = max(worst, apart(compiled(copy.deepcopy(model))(x), model(x)))
    return worst


@case
def a_stream_of_ones_own():
    reference = mlp()
    function = compiled(copy.deepcopy(reference).to(DEVICE))
    stream, x = torch.npu.Stream(), torch.randn(3, 16)
    with torch.npu.stream(stream):
        given = x.to(DEVICE)
        result = function(given)
    stream.synchronize()
    return apart(result, reference(x))


@case
def gears():
    reference = mlp()
    function = compiled(copy.deepcopy(reference).to(DEVICE), True)
    worst = 0
    for rows in (2, 4):
        x = torch.randn(rows, 16)
        given = x.to(DEVICE)
        torchair.inference.set_dim_gears(given, {0: [2, 4, 8]})
        worst = max(worst, apart(function(given), reference(x)))
    return worst


@case
def scaled_dot_product_attention():
    worst = 0
    for causal in (False, True):
        def attend(q, k, v, causal=causal):
            return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        q, k, v = (torch.randn(2, 4, 8, 16) for _ in range(3))
        worst = max(worst, apart(compiled(attend)(q.to(DEVICE), k.to(DEVICE), v.to(DEVICE)), attend(q, k, v)))
    return worst


@case
def gradients_of_attention():
    def attend(q):
        return nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).square().sum()

    q = torch.randn(1, 2, 8, 16)
    with torch.enable_grad():
        mine, theirs = q.to(DEVICE).requires_grad_(), q.clone().requires_grad_()
        compiled(attend)(mine).backward()
        attend(theirs).backward()
    return apart(mine.grad, theirs.grad)


@case
def fused_attention_and_norm():
    def layer(q, w):
        seen = torch_npu.npu_prompt_flash_attention(q, q, q, num_heads=2, input_layout="BNSD", scale_value=0.25)
        return torch_npu.npu_rms_norm(seen, w)[0]

    q, w = torch.randn(1, 2, 16, 16, device=DEVICE).half(), torch.ones(16, device=DEVICE).half()
    return apart(compiled(layer)(q, w), layer(q, w))


@case
def dropout_drops_half_and_differs_from_run_to_run():
    with torch.enable_grad():
        model = nn.Sequential(nn.Linear(16, 256), nn.Dropout(0.5)).to(DEVICE).train()
        function = compiled(model)
        x = torch.randn(8, 16, device=DEVICE)
        first, second = function(x), function(x)
        second.sum().backward()
    share = (first == 0).float().mean().item()
    return f"{0.4 < share < 0.6} {not torch.equal(first, second)} {bool(model[0].weight.grad.abs().sum() > 0)}"


@case
def dynamo_export_writes_a_graph_that_can_be_read():
    folder = tempfile.mkdtemp()
    torchair.dynamo_export(torch.randn(3, 16, device=DEVICE), model=copy.deepcopy(mlp()).to(DEVICE), export_path=folder, dynamic=False)
    return f"{'export.air' in os.listdir(folder)} {os.path.getsize(os.path.join(folder, 'export.air')) > 500}"


@case
def a_compiled_cache_on_disk():
    class Model(nn.Module):
        def __init__(self, folder):
            super().__init__()
            self.line = nn.Linear(16, 4)
            self.cached = torchair.inference.cache_compile(self.step, config=torchair.CompilerConfig(), dynamic=False, cache_dir=folder)

        def step(self, x):
            return self.line(x)

        def forward(self, x):
            return self.cached(x)

    folder, worst, x = tempfile.mkdtemp(), 0, torch.randn(3, 16, device=DEVICE)
    for _ in range(2):  # the second finds the file
        model = Model(folder).to(DEVICE).eval()
        worst = max(worst, apart(model(x), model.line(x)))
    return worst


@case
def training_captured_and_replayed():
    with torch.enable_grad():
        theirs = mlp().train()
        mine = copy.deepcopy(theirs).to(DEVICE)
        function = compiled(mine, mode="reduce-overhead")
        for _ in range(2):
            x = torch.randn(3, 16)
            function(x.to(DEVICE)).square().sum().backward()
            theirs(x).square().sum().backward()
    return max(apart(one.grad, other.grad) for one, other in zip(mine.parameters(), theirs.parameters()))


@case
def by_the_backends_name():
    reference, x = mlp(), torch.randn(3, 16)
    return max(apart(torch.compile(copy.deepcopy(reference).to(DEVICE), backend=name, dynamic=False)(x.to(DEVICE)), reference(x))
               for name in ("npu", "npugraph_ex"))


@case
def torchair_has_no_converter():
    def function(x, at, rows):
        return x.index_copy(0, at, rows)

    x, at, rows = torch.zeros(4, 4, device=DEVICE), torch.tensor([1], device=DEVICE), torch.ones(1, 4, device=DEVICE)
    return reason(compiled(function), x, at, rows)


@case
def there_is_no_kernel():
    @torchair.register_fx_node_ge_converter(torch.ops.aten.frac.default)
    def convert(self, meta_outputs=None):
        places = torchair.ge.Cast(self, dst_type=9)
        return torchair.ge.custom_op("TomeMerge", inputs={"token_a": self, "token_b": self, "topk_indice": places, "arg_max": places},
                                     outputs=["unmerge_token_a", "unreduce_token_b", "unreduce_count"], attrs={})[0]

    return reason(compiled(lambda x: torch.frac(x)), torch.randn(2, 4, 8, device=DEVICE).half())


@case
def a_fault_in_the_run_names_the_node():
    def function(x, at):
        return torch.gather(x, 0, at)

    return reason(compiled(function), torch.randn(4, 4, device=DEVICE), torch.full((1, 4), 9, device=DEVICE))


@case
def the_next_model_runs_after_faults():
    return distance()


def main():
    torch.npu.set_device(DEVICE)
    torch.set_grad_enabled(False)
    wanted = sys.argv[1:]
    for function in CASES:
        if wanted and function.__name__ not in wanted:
            continue
        torch._dynamo.reset()
        torch.manual_seed(0)
        try:
            print(f"{function.__name__}: {function()}", flush=True)
        except Exception as error:
            print(f"{function.__name__}: failed: {type(error).__name__} {traceback.format_exc()[-3000:]}", flush=True)


if __name__ == "__main__":
    main()
