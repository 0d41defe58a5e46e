"""Programs in several real processes: started by ``torchrun``, or forked, so that nothing is loaded again."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from support.forks import programs

ROOT = Path(__file__).parents[2]


def forked(n, function, *arguments, timeout=300):
    """Call a function in ``n`` forks, with the variables that ``torchrun`` sets; return a finished process for all."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(server.getsockname()[1])}
    sizes = {"WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n)}
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank), **sizes, **meeting} for rank in range(n)]
    return programs(function, *arguments, environments=ranks, timeout=timeout)


def torchrun(n, *arguments, timeout=300):
    """Run a script, or ``-m module``, in ``n`` processes of this machine; return the finished process."""
    command, environment = started(n, *arguments)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)


def started(n, *arguments, options=("--standalone",)):
    """The command, and its environment."""
    command = [sys.executable, "-m", "torch.distributed.run", *options, "--nproc-per-node", str(n)]
    return [*command, *map(str, arguments)], environment()


def environment(**variables):
    """The environment with the package on the path and one thread per process."""
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(paths), **variables}
