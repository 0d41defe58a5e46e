"""Print the peak memory of a process that trains a deep network.

``python tools/measure_memory.py`` trains 128 layers of hypergraph convolution, 64 features wide, on Pubmed for two
epochs in this process, and prints the largest resident set: interpreter, libraries and data included.
"""

from __future__ import annotations

import argparse
import resource
import sys
from dataclasses import replace

import torch

import hypergnn as hg
from hypergnn.experiments.beyond import deep_config
from hypergnn.training.engine import train
from hypergnn.training.order import near_together
from hypergnn.training.plan import Plan, Task


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="pubmed")
    parser.add_argument("--depth", type=int, default=128)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    before = peak_bytes()
    config = replace(deep_config(arguments.dataset, "initial", arguments.depth), max_epochs=2)
    data = near_together(hg.datasets.load(arguments.dataset))
    for _ in train(Plan.of(Task.of(data, config), config), config, [0]):
        pass
    print(
        f"{config.depth} layers, {config.hidden * config.heads} wide, on {data.name}: {peak_bytes() / 1e6:.0f} MB at "
        f"the peak, {before / 1e6:.0f} MB of them before the data was loaded"
    )


def peak_bytes() -> int:
    """The largest resident set of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
