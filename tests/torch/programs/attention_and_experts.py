# SPDX-License-Identifier: Apache-2.0
"""Attention on two ranks and experts on two others, which write into each other's windows (npu_attention_to_ffn, npu_ffn_to_attention), against one process of
plain torch; test_ranks.py starts it. What CANN's schedulers do with the tables is done here as their pages say it. Says "all good" on each rank that has nothing to say."""

import os
import sys
import time

os.environ["TORCH_HCCL_ASYNC_ERROR_HANDLING"] = "0"  # a task that fails spends its communicator, which torch_npu's watchdog would end the process for

import torch
import torch_npu
from ranks import WRONG, run
from torch import distributed

WIDTH, TOKENS, ROUTED, EXPERTS, LAYERS, BATCHES = 96, 6, 2, 4, 3, 2
NOBODY = 1000000  # what stands for "not for this rank" in a message
SESSIONS, FFN = 2, 2


def group_of(rank):
    """A group of its own, since what fails spends it: its name and its backend."""
    backend = distributed.new_group()._get_backend(torch.device("npu"))
    return backend.get_hccl_comm_name(rank), backend


def values(*shape, seed, dtype=torch.bfloat16):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


class Setting:
    """What all ranks know. The FFN ranks come first, or last."""

    def __init__(self, rank, first_ffn=0, shared=1, quantised=False, dtype=torch.bfloat16, spare=0):
        self.rank, self.first_ffn, self.shared, self.quantised, self.dtype = rank, first_ffn, shared, quantised, dtype
        self.choices = ROUTED + shared
        self.row = WIDTH + 128 if quantised else WIDTH
        self.info, self.data = [SESSIONS, BATCHES, 2 + TOKENS * self.choices], [SESSIONS, BATCHES, TOKENS, self.choices, self.row]
        self.back_info, self.back_data = [BATCHES, TOKENS, self.choices], [BATCHES, TOKENS, self.choices, WIDTH + 32]
        self.is_ffn = first_ffn <= rank < first_ffn + FFN
        self.attention_ranks = [each for each in range(4) if not first_ffn <= each < first_ffn + FFN]
        self.session = None if self.is_ffn else self.attention_ranks.index(rank)
        others = self.attention_ranks if self.is_ffn else list(range(first_ffn, first_ffn + FFN))
        self.name, backend = group_of(rank)
        backend._window_register_and_exchange(1 << 20, others)
        self.window = backend._get_window_mem().view(torch.uint8).flatten()
        self.window.zero_()
        if self.is_ffn:
            self.words(self.info)[..., 2:] = NOBODY
        # An expert of several places: which one a session takes is its number modulo theirs. The rest of a line means nothing.
        one, other = first_ffn, first_ffn + 1
        line = [[2, one, 0, other, 2], [1, other, 0, 9, 9], [1, one, 1, 9, 9], [2, other, 1, one, 2]] + [[2, one, 3, other, 3]] * shared
        self.places = torch.tensor([[line[(expert + layer) % EXPERTS] if expert < EXPERTS else line[expert] for expert in range(EXPERTS + shared)]
                                    for layer in range(LAYERS)], dtype=torch.int32)
        torch.npu.synchronize()
        distributed.barrier()

    def words(self, shape):
        """The table of the window's beginning."""
        return self.window.view(torch.int32)[:torch.Size(shape).numel()].view(shape)

    def rows(self, info, data, dtype):
        begin = (4 * torch.Size(info).numel() + 511) // 512 * 512
        return self.window[begin:begin + torch.Size(data).numel() * dtype.itemsize].view(dtype).view(data)

    def ids(self, layer):
        made = torch.stack([torch.randperm(EXPERTS, generator=torch.Generator().manual_seed(100 * layer + 10 * self.session + token))[:ROUTED] for token in range(TOKENS)])
        return made.to(torch.int32).unsqueeze(0)

    def send(self, x, layer, batch=0, **given):
        one = {"session_id": self.session, "micro_batch_id": batch, "layer_id": layer}
        arguments = {"x": x.npu(), "expert_ids": self.ids(layer).npu(), "expert_rank_table": self.places.npu(), "group": self.name, "world_size": 4,
                     "ffn_token_info_table_shape": self.info, "ffn_token_data_shape": self.data, "attn_token_info_table_shape": self.back_info,
                     "moe_expert_num": EXPERTS, "quant_mode": 2 if self.quantised else 0, "ffn_start_rank_id": self.first_ffn,
                     **{key: torch.tensor([value], dtype=torch.int32).npu() for key, value in one.items()}}
        arguments.update(given)
        torch_npu.npu_attention_to_ffn(**arguments)

    def give_back(self, x, sessions, batches, tokens, offsets, **given):
        def ints(list_):
            return torch.tensor(list_, dtype=torch.int32).npu()
        arguments = {"x": x.npu(), "session_ids": ints(sessions), "micro_batch_ids": ints(batches), "token_ids": ints(tokens), "expert_offsets": ints(offsets),
                     "actual_token_num": torch.tensor([len(sessions)]).npu(), "group": self.name, "world_size": 4, "token_info_table_shape": self.back_info,
                     "token_data_shape": self.back_data, "attn_rank_table": ints(self.attention_ranks)}
        arguments.update(given)
        torch_npu.npu_ffn_to_attention(**arguments)


def wait_for(what, said):
    end = time.monotonic() + 60
    while not what():
        if time.monotonic() > end:
            raise RuntimeError(f"60 s without {said}")
        time.sleep(0.001)


def judge(name, found, expected, near=0.0):
    if not torch.allclose(found.float(), expected.float(), rtol=near, atol=near):
        WRONG.append(f"{name}: {found.flatten()[:6].tolist()}, not {expected.flatten()[:6].tolist()}")


def by_row(x):
    scale = x.float().abs().amax(-1, keepdim=True) / 127
    return (x.float() / scale).round().clamp(-128, 127).to(torch.int8), scale


def worked(row, ffn, expert, layer):
    """What an expert of a rank makes of a row: each its own."""
    return (row.float() * (1 + expert + 4 * ffn) + layer).to(torch.bfloat16)


def serve(s, session, batch, layer):
    """One message, as FfnWorkerBatching takes it: what there is, computed and given back."""
    info, data = s.words(s.info), s.rows(s.info, s.data, torch.int8 if s.quantised else s.dtype)
    wait_for(lambda: info[session, batch, 0].item() == 1, f"a message of session {session}")
    experts = info[session, batch, 2:].cpu().view(TOKENS, s.choices)
    judge("the message's layer", info[session, batch, 1].cpu(), torch.tensor(layer))
    mine = [(token, choice) for token in range(TOKENS) for choice in range(s.choices) if experts[token, choice] != NOBODY]
    rows = data[session, batch].cpu()
    values_ = [rows[token, choice, :WIDTH].float() * (rows[token, choice, WIDTH:WIDTH + 4].view(torch.float32) if s.quantised else 1) for token, choice in mine]
    info[session, batch, 2:] = NOBODY
    torch.npu.synchronize()
    info[session, batch, 0] = 0
    torch.npu.synchronize()
    if mine:
        out = torch.stack([worked(value, s.rank - s.first_ffn, int(experts[place]), layer) for value, place in zip(values_, mine)])
        tokens, choices = zip(*mine)
        # Rows behind the ones that count are not looked at, whatever they say.
        room = torch.cat([out, torch.full((3, WIDTH), 99, dtype=out.dtype)])
        s.give_back(room, [session] * len(mine) + [77] * 3, [batch] * len(mine) + [-1] * 3, list(tokens) + [500] * 3, list(choices) + [500] * 3,
                    actual_token_num=torch.tensor([len(mine)]).npu())


def collect(s, batch):
    """As AttentionWorkerCombine waits: all results of a micro batch, whose flags it clears."""
    info = s.words(s.back_info)
    wait_for(lambda: bool((info[batch] == 1).all()), f"the results of micro batch {batch}")
    results = s.rows(s.back_info, s.back_data, torch.bfloat16)[batch].cpu()[..., :WIDTH]
    info[batch] = 0
    torch.npu.synchronize()
    return results.float()


def expected(s, x, layer, active, smooth):
    """The same by one process; zeros for tokens that take no part."""
    ids, out = s.ids(layer)[0], torch.zeros(TOKENS, s.choices, WIDTH)
    for token in range(active):
        for choice in range(s.choices):
            number = int(ids[token, choice]) if choice < ROUTED else EXPERTS + choice - ROUTED
            count, *places = s.places[layer, number].tolist()
            ffn, expert = places[2 * (s.session % count)], places[2 * (s.session % count) + 1]
            row = x[0, token].float()
            if s.quantised:
                whole, scale = by_row(row if smooth is None else row * smooth[layer, number])
                row = whole.float() * scale
            out[token, choice] = worked(row, ffn - s.first_ffn, expert, layer).float()
    return out


def round_trips(rank, _):
    """Layer after layer, in two micro batches, some tokens of which take no part."""
    for first_ffn, shared, quantised, smoothed, asynchronous in ((0, 1, False, False, False), (2, 0, False, False, True), (0, 1, True, True, False),
                                                                 (1, 1, True, False, True), (0, 2, False, False, True)):
        s = Setting(rank, first_ffn, shared, quantised)
        smooth = values(LAYERS, EXPERTS + shared, WIDTH, seed=3, dtype=torch.float32).abs() + 0.5 if smoothed else None
        for layer in range(LAYERS):
            for batch in range(BATCHES):
                if s.is_ffn:
                    for session in range(SESSIONS):
                        serve(s, session, batch, layer)
                    continue
                x, active = values(1, TOKENS, WIDTH, seed=10 * layer + rank), [TOKENS, 4][batch]
                mask = None if batch == 0 and layer == 0 else (torch.arange(TOKENS) < active).unsqueeze(0).npu()
                s.send(x, layer, batch, scales=None if smooth is None else smooth.npu(), active_mask=mask, sync_flag=int(asynchronous))
                found, want = collect(s, batch), expected(s, x, layer, active, smooth)
                judge(f"{first_ffn, shared, quantised, smoothed, asynchronous} layer {layer} batch {batch}", found[:active], want[:active],
                      near=2e-2 if quantised else 0.0)
        distributed.barrier()


def who_is_told(rank, _):
    """With syncFlag 0 every FFN rank, with 1 those that get tokens. What they were not told of stays as it was."""
    for asynchronous in (0, 1):
        s = Setting(rank, shared=0)
        if not s.is_ffn:
            s.places[..., 0], s.places[..., 1] = 1, 0  # all on the first rank
            s.send(values(1, TOKENS, WIDTH, seed=1), 2, 1, sync_flag=asynchronous)
            torch.npu.synchronize()
        distributed.barrier()
        torch.npu.synchronize()
        if s.is_ffn:
            head = s.words(s.info)[:, :, :2].cpu()
            told = [0, 0] if asynchronous and rank == 1 else [1, 2]
            judge(f"syncFlag {asynchronous}: heads of rank {rank}", head, torch.tensor([[[0, 0], told]] * SESSIONS))
            judge(f"syncFlag {asynchronous}: experts of rank {rank}", (s.words(s.info)[:, 1, 2:] == NOBODY).all().cpu(), torch.tensor(rank == 1))
        distributed.barrier()


def a_message_is_not_overwritten(rank, _):
    """Until the FFN ranks have taken it; meanwhile the next one's task is parked, and the host goes on."""
    s = Setting(rank, shared=0, dtype=torch.float16)
    xs = [torch.full((1, TOKENS, WIDTH), float(number), dtype=torch.float16) for number in range(1, 4)]
    if not s.is_ffn:
        for number, x in enumerate(xs):
            s.send(x, number)
        judge("three messages are done before the first is taken", torch.tensor(torch.npu.current_stream().query()), torch.tensor(False))
        torch.npu.synchronize()
    else:
        info, data = s.words(s.info), s.rows(s.info, s.data, torch.float16)
        for number in range(3):
            for session in range(SESSIONS):
                wait_for(lambda session=session: info[session, 0, 0].item() == 1, "a message")
                time.sleep(0.1)
                judge(f"message {number}'s layer", info[session, 0, 1].cpu(), torch.tensor(number))
                came = data[session, 0].cpu()[info[session, 0, 2:].cpu().view(TOKENS, s.choices) != NOBODY]
                judge(f"message {number}", came, torch.full_like(came, number + 1))
                info[session, 0, 2:] = NOBODY
                torch.npu.synchronize()
                info[session, 0, 0] = 0
                torch.npu.synchronize()
    distributed.barrier()


def in_a_graph(rank, _):
    """The same operators as torchair puts them into a graph."""
    import torchair

    s = Setting(rank)
    backend = torchair.get_npu_backend()
    if not s.is_ffn:
        x = values(1, TOKENS, WIDTH, seed=rank)
        # Made in the graph, so that there is something to order.
        torch.compile(lambda x: s.send(x * 2, 1), backend=backend, dynamic=False)(x.npu() / 2)
        judge("a graph's results", collect(s, 0), expected(s, x, 1, TOKENS, None))
    else:
        s.give_back = torch.compile(s.give_back, backend=backend, dynamic=False)
        for session in range(SESSIONS):
            serve(s, session, 0, 1)
    distributed.barrier()


def refused(name, call, *texts):
    try:
        call()
        torch.npu.synchronize()
        WRONG.append(f"{name}: nobody refused it")
    except RuntimeError as error:
        WRONG.extend(f"{name}: '{text}' is not in: {error}" for text in texts if text not in str(error))


def refusals(rank, _):
    """Before anything is written; the group is as good as before."""
    s = Setting(rank)
    x = values(1, TOKENS, WIDTH, seed=1)
    rows = values(2, WIDTH, seed=1)
    lists = [[0, 1]] * 4
    if s.is_ffn:
        s.session = 0
        refused("an FFN rank sends", lambda: s.send(x, 0), "is an FFN rank (0 to 1)")
        refused("rows too long", lambda: s.give_back(values(2, WIDTH + 33, seed=1), *lists), "rows of 128; x has 129")
        refused("tables that do not fit", lambda: s.give_back(rows, *lists, token_info_table_shape=[BATCHES, TOKENS, 1]), "do not fit together")
        refused("a list too short", lambda: s.give_back(rows, [0], *lists[1:]), "sessionIds has 1 elements")
        refused("a world of another size", lambda: s.give_back(rows, *lists, world_size=5), "has 4 ranks, and 5 were told")
    else:
        refused("two groups of tokens", lambda: s.send(values(2, TOKENS, WIDTH, seed=1), 0), "(1, tokens, width)")
        refused("another quantMode", lambda: s.send(x, 0, quant_mode=1), "quantMode is 1")
        refused("scales for nothing", lambda: s.send(x, 0, scales=torch.ones(LAYERS, EXPERTS + 1, WIDTH).npu()), "nothing is quantised")
        refused("no room for the scale", lambda: s.send(x, 0, quant_mode=2), "128 bytes are the scale's")
        refused("tables that do not fit", lambda: s.send(x, 0, attn_token_info_table_shape=[1, TOKENS, s.choices]), "do not fit 6 tokens with 3 experts each")
        refused("another syncFlag", lambda: s.send(x, 0, sync_flag=2), "syncFlag is 2")
        refused("FFN ranks that are not there", lambda: s.send(x, 0, ffn_start_rank_id=3), "ffnStartRankId is 3")
        large = {"ffn_token_info_table_shape": [SESSIONS, 200, s.info[2]], "ffn_token_data_shape": [SESSIONS, 200, *s.data[2:]],
                 "attn_token_info_table_shape": [200, TOKENS, s.choices]}
        refused("tables larger than the window", lambda: s.send(x, 0, **large), "the tables need 1414656 bytes", "has 1048576")
    s.name, _ = group_of(rank)
    if s.is_ffn:
        refused("no window", lambda: s.give_back(rows, *lists), "HcclCommExchangeMem")
    else:
        refused("no window", lambda: s.send(x, 0), "rank 0 of the group", "HcclCommExchangeMem")
    distributed.barrier()


def what_the_values_say(rank, _):
    """Is looked at when the task runs: it fails by name, and nothing of it is written."""
    cases = {"sessionId has 2": {"session_id": 2}, "microBatchId has 2": {"micro_batch_id": 2}, "layerId has 3": {"layer_id": 3}, "expertIds has 4": {"expert_ids": 4},
             "is on rank 3": {"rank": 3}, "has 3 places": {"count": 3}, "true behind false": {"active_mask": [True, False, True, True, True, True]}}
    back = {"sessionIds has 2": (2, 0, 0, 0), "microBatchIds has -1": (0, -1, 0, 0), "tokenIds has 6": (0, 0, 6, 0), "expertOffsets has 3": (0, 0, 0, 3)}
    for text, wrong in cases.items():
        s = Setting(rank)
        if not s.is_ffn:
            given = {key: torch.tensor([value], dtype=torch.int32).npu() for key, value in wrong.items() if key.endswith("_id")}
            if "expert_ids" in wrong:
                given["expert_ids"] = torch.full((1, TOKENS, ROUTED), 4, dtype=torch.int32).npu()
            if "active_mask" in wrong:
                given["active_mask"] = torch.tensor([wrong["active_mask"]]).npu()
            if "rank" in wrong:
                s.places[..., 0], s.places[..., 1] = 1, 3
            if "count" in wrong:
                s.places[..., 0] = 3
            refused(text, lambda s=s, given=given: s.send(values(1, TOKENS, WIDTH, seed=1), 0, **given), text)
        distributed.barrier()
        judge(f"{text}: nothing is written", s.words(s.info)[..., 0].cpu(), torch.zeros(SESSIONS, BATCHES))
    for text, wrong in back.items():
        s = Setting(rank)
        if s.is_ffn:
            lists = [[0, value] for value in wrong]
            refused(text, lambda s=s, lists=lists: s.give_back(values(2, WIDTH, seed=1), *lists), text)
        distributed.barrier()
        if not s.is_ffn:
            judge(f"{text}: nothing is written", s.words(s.back_info).cpu(), torch.zeros(s.back_info))


PARTS = (round_trips, who_is_told, a_message_is_not_overwritten, in_a_graph, refusals, what_the_values_say)
run([part for part in PARTS if not sys.argv[1:] or part.__name__ in sys.argv[1:]])
