"""Speed and memory against PyG, DHG and ``torch.sparse``: ``python -m benchmarks``. The package never imports it."""
