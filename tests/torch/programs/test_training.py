# SPDX-License-Identifier: Apache-2.0
"""Whole training programs: the losses on the virtual NPU are those of the CPU."""

import pytest

# Differences of the order of additions grow from step to step.
RTOL, ATOL = 2e-3, 2e-4


@pytest.mark.parametrize("name", ["train_resnet18", "train_vit", "train_bert", "train_gpt2"])
def test_losses_equal_the_cpus(on_npu, on_cpu, name):
    losses = on_npu(name).losses
    assert losses == pytest.approx(on_cpu(name).losses, rel=RTOL, abs=ATOL)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["train_bert", "train_gpt2"])
def test_dropout_repeats_under_the_same_seed(on_npu, on_cpu, name):
    options = ("--dropout", "0.1", "--steps", "3")
    first, second = on_npu(name, *options, "--seed", "7"), on_npu(name, *options, "--seed", "7")
    assert first.losses == second.losses
    without = on_cpu(name, "--steps", "3", "--seed", "7")
    assert first.losses != pytest.approx(without.losses, rel=1e-6), "dropout dropped nothing"
    other = on_npu(name, *options, "--seed", "8")
    assert first.losses != other.losses


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_autocast(on_npu, on_cpu, dtype):
    npu, cpu = (run("mixed_precision", "--dtype", dtype) for run in (on_npu, on_cpu))
    assert npu.losses == pytest.approx(cpu.losses, rel=3e-2)
    npu.says(f"logits {dtype}")
    if dtype == "float16":
        scales = [int(line.split(" scale ")[1].split()[0]) for line in npu.output.splitlines() if " scale " in line]
        assert scales[0] < 2**24, "the overflow of the first step was not seen"
        assert scales[:7] == [2 ** (23 - i) for i in range(7)]
        assert npu.losses[0] == npu.losses[1], "a step with an overflow must change nothing"


def test_gradient_checkpointing(on_npu):
    on_npu("checkpointing").says("equal gradients: True", "less memory: True")


def test_a_checkpoint_goes_from_device_to_device(on_npu, on_cpu):
    npu = on_npu("save_and_load")
    npu.says(*(f"map_location {place}: loaded to {found}, goes on to the same loss: True"
               for place, found in (("None", "npu"), ("cpu", "cpu"), ("npu", "npu"))))
    loss = next(line for line in on_cpu("save_and_load").output.splitlines() if line.startswith("loss"))
    assert float(npu.output.split("\nloss ")[1].split()[0]) == pytest.approx(float(loss.split()[1]), rel=1e-3)


@pytest.mark.parametrize("workers", [0, 2])
def test_pinned_batches_and_copies_that_do_not_wait(on_npu, on_cpu, workers):
    npu = on_npu("data_loader", "--workers", workers)
    npu.says(f"7 batches on npu, 7 of them pinned, {workers} workers")
    assert npu.output.splitlines()[-1] == on_cpu("data_loader").output.splitlines()[-1]
