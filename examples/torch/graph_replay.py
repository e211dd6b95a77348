# SPDX-License-Identifier: Apache-2.0
"""A training step captured once in an NPUGraph and replayed with new data. On a CPU the step simply runs each time."""

import torch
from torch import nn

from common import arguments


def main():
    options = arguments(__doc__, steps=(8, "training steps"))
    device = options.device
    model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [(torch.randn(32, 64), torch.randint(10, (32,))) for _ in range(options.steps)]
    # A graph always reads and writes the same addresses: new data is copied to where the first lay.
    data, labels = (part.to(device) for part in batches[0])

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(data), labels)
        loss.backward()
        optimizer.step()
        return loss

    replay = step
    if device.type == "npu":
        before = {name: value.clone() for name, value in model.state_dict().items()}
        side = torch.npu.Stream()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):  # a first run outside the capture: what is made once is made now
            step()
        torch.npu.current_stream().wait_stream(side)
        model.load_state_dict(before)
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            captured_loss = step()

        def replay():
            graph.replay()
            return captured_loss

    print(f"{'replaying a captured step' if replay is not step else 'running the step'} on {device}")
    for number, (new_data, new_labels) in enumerate(batches):
        data.copy_(new_data)
        labels.copy_(new_labels)
        print(f"step {number} loss {replay().item():.9g}")


if __name__ == "__main__":
    main()
