# SPDX-License-Identifier: Apache-2.0
"""Ways to divide a model among ranks on backend hccl, each beside the same computation in one process on the CPU; test_ranks.py starts it.

    torchrun --nproc-per-node 2 parallel.py [part ...]

Says "all good" on each rank that has nothing to say.
"""

import copy
import sys

import torch
from ranks import run, WRONG
from torch import distributed, nn

STEPS, ROWS, WIDTH = 4, 8, 16


def judge(name, found, expected, tolerance=1e-5):
    torch.npu.synchronize()
    found = found.detach().cpu()
    if found.shape != expected.shape or not torch.allclose(found, expected, rtol=tolerance, atol=tolerance):
        WRONG.append(f"{name}: {found.flatten()[:4].tolist()}, not {expected.flatten()[:4].tolist()}")


def check(name, good, what=""):
    if not good:
        WRONG.append(f"{name} {what}")


def network():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.Tanh(), nn.Linear(32, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 4))


def data(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randn(ROWS, WIDTH, generator=generator), torch.randn(ROWS, 4, generator=generator)


def train(model, optimizer, device, mine=slice(None)):
    """Losses of this rank's rows."""
    losses = []
    for step in range(STEPS):
        inputs, targets = (tensor[mine].to(device) for tensor in data(step))
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


def alone():
    model = network()
    return train(model, torch.optim.AdamW(model.parameters(), lr=1e-2), "cpu")


def judge_mean(name, losses, expected):
    distributed.all_reduce(losses)
    judge(name, losses / distributed.get_world_size(), expected)


def ddp(rank, world):
    mine = slice(rank, None, world)
    for name, options in (("ddp", {}), ("ddp as views", {"gradient_as_bucket_view": True}), ("ddp static", {"static_graph": True}),
                          ("ddp unused", {"find_unused_parameters": True})):
        model = nn.parallel.DistributedDataParallel(network().npu(), **options)
        judge_mean(name, train(model, torch.optim.AdamW(model.parameters(), lr=1e-2), "npu", mine), alone())
    # Gradients of several batches are reduced once.
    model, judged = nn.parallel.DistributedDataParallel(network().npu()), network()
    with model.no_sync():
        nn.functional.mse_loss(model(data(0)[0][mine].npu()), data(0)[1][mine].npu()).backward()
    nn.functional.mse_loss(model(data(1)[0][mine].npu()), data(1)[1][mine].npu()).backward()
    for step in range(2):
        nn.functional.mse_loss(judged(data(step)[0]), data(step)[1]).backward()
    judge("no_sync", model.module[0].weight.grad, judged[0].weight.grad)


def sync_batch_norm(rank, world):
    torch.manual_seed(3)
    judged = nn.Sequential(nn.Linear(WIDTH, 6), nn.BatchNorm1d(6))
    model = nn.parallel.DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(judged)).npu())
    inputs = data(0)[0]
    judge("SyncBatchNorm", model(inputs[rank::world].npu()), judged(inputs)[rank::world])


def fsdp(rank, world):
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD):
        model = FullyShardedDataParallel(network().npu(), sharding_strategy=strategy, device_id=torch.npu.current_device(), use_orig_params=True)
        losses = train(model, torch.optim.AdamW(model.parameters(), lr=1e-2), "npu", slice(rank, None, world))
        judge_mean(f"FSDP {strategy.name}", losses, alone())


def fsdp2(rank, world):
    from torch.distributed.checkpoint.state_dict import get_model_state_dict, StateDictOptions
    from torch.distributed.fsdp import fully_shard, MixedPrecisionPolicy
    for name, options in (("fully_shard", {}), ("fully_shard that keeps", {"reshard_after_forward": False})):
        model = network().npu()
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, **options)
        fully_shard(model, **options)
        losses = train(model, torch.optim.AdamW(model.parameters(), lr=1e-2), "npu", slice(rank, None, world))
        judge_mean(name, losses, alone())
        whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        if rank == 0:
            judged = network()
            train(judged, torch.optim.AdamW(judged.parameters(), lr=1e-2), "cpu")
            judge(f"state of {name}", whole["0.weight"], judged.state_dict()["0.weight"], 1e-4)
    model = fully_shard(network().npu(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    losses = train(model, torch.optim.AdamW(model.parameters(), lr=1e-2), "npu", slice(rank, None, world))
    distributed.all_reduce(losses)
    judge("fully_shard in bfloat16", losses / world, alone(), 3e-2)


def dtensor(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_tensor, DTensor, Partial, Replicate, Shard
    mesh = init_device_mesh("npu", (world,))
    generator = torch.Generator().manual_seed(5)
    left, right = torch.randn(8, 12, generator=generator), torch.randn(12, 8, generator=generator)
    product = distribute_tensor(left.npu(), mesh, [Shard(1)]) @ distribute_tensor(right.npu(), mesh, [Shard(0)])
    check("DTensor", product.placements == (Partial(),), f"{product.placements}")
    judge("DTensor to all", product.full_tensor(), left @ right)
    for to in (Replicate(), Shard(0), Shard(1)):
        judge(f"DTensor to {to}", product.redistribute(mesh, [to]).full_tensor(), left @ right)
    rows = distribute_tensor(left.npu(), mesh, [Shard(0)])
    columns = rows.redistribute(mesh, [Shard(1)])
    judge("DTensor from rows to columns", columns.to_local(), left.chunk(world, 1)[rank])
    judge("DTensor softmax", torch.softmax(columns, 1).full_tensor(), torch.softmax(left, 1))
    uneven = distribute_tensor(torch.arange(7.0).npu(), mesh, [Shard(0)])
    judge("DTensor uneven", (uneven * 2).full_tensor(), torch.arange(7.0) * 2)
    check("DTensor.from_local", DTensor.from_local(torch.ones(2, device="npu"), mesh, [Shard(0)]).shape == (2 * world,))


def tensor_parallel(rank, world):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, loss_parallel, parallelize_module, RowwiseParallel, SequenceParallel
    mesh = init_device_mesh("npu", (world,))
    model = parallelize_module(network().npu(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    judge("tensor parallel", train(model, torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False), "npu"), alone())
    norm = nn.LayerNorm(WIDTH)
    inputs = torch.randn(2, 4 * world, WIDTH, generator=torch.Generator().manual_seed(6))
    parallel = parallelize_module(copy.deepcopy(norm).npu(), mesh, SequenceParallel())
    judge("sequence parallel", parallel(inputs.chunk(world, 1)[rank].npu()).full_tensor(), norm(inputs))
    from torch.distributed.tensor import distribute_tensor, Shard
    logits, labels = torch.randn(6, 8, generator=torch.Generator().manual_seed(7)), torch.arange(6) % 8
    divided = distribute_tensor(logits.npu(), mesh, [Shard(1)])
    with loss_parallel():
        loss = nn.functional.cross_entropy(divided, labels.npu())
    judge("loss parallel", loss.full_tensor() if hasattr(loss, "full_tensor") else loss, nn.functional.cross_entropy(logits, labels))


def two_dimensions(rank, world):
    """FSDP2 along one dimension of a mesh, tensor parallel along the other."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module, RowwiseParallel
    if world < 4:
        return
    mesh = init_device_mesh("npu", (2, world // 2), mesh_dim_names=("data", "model"))
    model = parallelize_module(network().npu(), mesh["model"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["data"])
    losses = train(model, torch.optim.AdamW(model.parameters(), lr=1e-2, foreach=False), "npu", slice(mesh["data"].get_local_rank(), None, 2))
    judge_mean("FSDP2 with tensor parallel", losses, alone())


def pipeline(rank, world):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, ScheduleInterleaved1F1B
    torch.manual_seed(3)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(2 * world)]
    judged = nn.Sequential(*copy.deepcopy(layers))
    inputs, target = data(0)[0], torch.ones(ROWS, WIDTH)
    expected = nn.functional.mse_loss(judged(inputs), target)
    expected.backward()
    for kind in (ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B):
        own = [copy.deepcopy(layer).npu() for layer in layers]
        if kind is ScheduleInterleaved1F1B:  # two stages on each rank
            stages = [PipelineStage(own[number], number, 2 * world, torch.device("npu")) for number in (rank, rank + world)]
            kept, schedule = rank, ScheduleInterleaved1F1B(stages, world, loss_fn=nn.functional.mse_loss)
        else:
            kept = 2 * rank
            stage = PipelineStage(nn.Sequential(own[kept], own[kept + 1]), rank, world, torch.device("npu"))
            schedule = kind(stage, world, loss_fn=nn.functional.mse_loss)
        losses = []
        arguments = (inputs.npu(),) if rank == 0 else ()
        if rank == world - 1:
            schedule.step(*arguments, target=target.npu(), losses=losses)
            judge(kind.__name__, torch.stack(losses).mean(), expected.detach())
        else:
            schedule.step(*arguments)
        judge(f"gradient of {kind.__name__}", own[kept][0].weight.grad, judged[kept][0].weight.grad)


def zero(rank, world):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = nn.parallel.DistributedDataParallel(network().npu())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-2)
    judge_mean("ZeroRedundancyOptimizer", train(model, optimizer, "npu", slice(rank, None, world)), alone())
    optimizer.consolidate_state_dict(to=0)
    if rank == 0:
        check("consolidated state", len(optimizer.state_dict()["state"]) == len(list(model.parameters())))


def functional(rank, world):
    from torch.distributed import _functional_collectives as collectives
    group = distributed.group.WORLD

    def work(tensor):
        total = collectives.all_reduce(tensor * 2, "sum", group)
        gathered = collectives.all_gather_tensor(tensor + 1, 0, group)
        scattered = collectives.reduce_scatter_tensor(gathered, "sum", 0, group)
        return total, gathered, scattered

    own = torch.arange(4.0) + rank
    everybody = [torch.arange(4.0) + other for other in range(world)]
    expected = (2 * sum(everybody), torch.cat(everybody) + 1, (torch.arange(4.0) + rank + 1) * world)
    backends = {"eager": work, "aot_eager": torch.compile(work, backend="aot_eager")}
    for name, call in backends.items():
        for found, wanted in zip(call(own.npu()), expected, strict=True):
            judge(f"functional collectives, {name}", found, wanted)
    swapped = collectives.all_to_all_single(torch.arange(float(world)).npu() + 10 * rank, None, None, group)
    judge("functional all_to_all", swapped, torch.tensor([10.0 * other + rank for other in range(world)]))
    model = nn.parallel.DistributedDataParallel(network().npu())
    losses = train(torch.compile(model, backend="aot_eager"), torch.optim.AdamW(model.parameters(), lr=1e-2), "npu", slice(rank, None, world))
    judge_mean("compiled ddp", losses, alone())


def through_torchair(rank, world):
    try:
        import torchair
    except ImportError:
        from torch_npu.dynamo import torchair
    from torch.distributed import _functional_collectives as collectives
    group = distributed.group.WORLD

    def work(tensor):
        total = collectives.all_reduce(tensor * 2, "sum", group) + 1
        gathered = collectives.all_gather_tensor(tensor + 1, 0, group)
        scattered = collectives.reduce_scatter_tensor(gathered * 1, "sum", 0, group)
        swapped = collectives.all_to_all_single(gathered - 1, None, None, group)
        return total, gathered, scattered, swapped

    everybody = torch.stack([torch.arange(4.0) + other for other in range(world)])
    own, config = everybody[rank], torchair.CompilerConfig()
    expected = (2 * everybody.sum(0) + 1, everybody.flatten() + 1, (own + 1) * world, own.repeat(world))
    for dynamic in (False, True):
        call = torch.compile(work, backend=torchair.get_npu_backend(compiler_config=config), dynamic=dynamic)
        for name, found, wanted in zip(("all_reduce", "all_gather", "reduce_scatter", "all_to_all"), call(own.npu()), expected, strict=True):
            judge(f"torchair, dynamic={dynamic}, {name}", found, wanted)


def checkpoint(rank, world):
    """Saved by all ranks and loaded with another division."""
    import tempfile
    from torch.distributed import checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import distribute_tensor, Replicate, Shard
    mesh = init_device_mesh("npu", (world,))
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    distributed.broadcast_object_list(folder, src=0)
    whole = torch.arange(24.0).reshape(6, 4)
    dcp.save({"weight": distribute_tensor(whole.npu(), mesh, [Shard(0)])}, checkpoint_id=folder[0])
    state = {"weight": distribute_tensor(torch.zeros(6, 4).npu(), mesh, [Replicate()])}
    dcp.load(state, checkpoint_id=folder[0])
    judge("checkpoint", state["weight"].to_local(), whole)


PARTS = (ddp, sync_batch_norm, fsdp, fsdp2, dtensor, tensor_parallel, two_dimensions, pipeline, zero, functional, through_torchair, checkpoint)


if __name__ == "__main__":
    run([part for part in PARTS if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]])
