# SPDX-License-Identifier: BSD-3-Clause
"""`torch_train.py convolutions|layers`: a few steps of training on made data."""

import sys

import torch

torch.manual_seed(7)
if sys.argv[1] == "convolutions":
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3), torch.nn.ReLU(), torch.nn.Flatten()
    )
    x, steps = torch.rand(16, 3, 48, 48), 12
else:
    model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 256))
    x, steps = torch.rand(256, 512), 40
optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(steps):
    optimiser.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimiser.step()
print(float(loss))
