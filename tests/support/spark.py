"""Spark for tests: one local session for the whole process, and a cluster on loopback: a master and two workers."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from support.real_data import IN_CI

JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # compile quickly: nothing here runs for long
SETTINGS = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",  # plans of a few rows need no second thoughts
    "spark.sql.codegen.wholeStage": "false",  # compiling them takes longer than running them
}


def require():
    """Skip where there is no Java to test with; CI must have it."""
    if shutil.which("java") is None and not IN_CI:
        pytest.skip("no java here: install Debian's package openjdk-17-jre-headless")


def session(master: str = "local[2]", **settings: str):
    """A session, with the interpreter and the modules of this process for its workers."""
    from pyspark.sql import SparkSession

    source = str(Path(__file__).parents[2] / "src")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    paths = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    for name, value in {**SETTINGS, "spark.executorEnv.PYTHONPATH": paths, **settings}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@contextmanager
def cluster(folder: Path):
    """A standalone cluster: its address, and the processes of its two workers, each with one core."""
    import pyspark

    home = Path(pyspark.__file__).parent
    started = []

    def start(role: str, *arguments: str) -> subprocess.Popen:
        command = [
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{role}",
            "--host",
            "127.0.0.1",
            *arguments,
        ]
        log = (folder / f"{role.replace('.', '-')}-{len(started)}.log").open("w")
        environment = os.environ | {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_JAVA_OPTS": JAVA,
            "SPARK_WORKER_DIR": str(folder),
        }
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder, start_new_session=True
        )
        log.close()
        started.append(process)
        return process

    try:
        port, page = free_port(), free_port()
        start("master.Master", "--port", str(port), "--webui-port", str(page))
        address = f"spark://127.0.0.1:{port}"
        wait_until(lambda: is_open(port), "the master")
        pages = ("--webui-port", "0", "--cores", "1", "--memory", "512m")
        workers = [start("worker.Worker", address, *pages) for _ in range(2)]
        wait_until(lambda: n_workers(page) == 2, "two workers")
        yield address, workers
    finally:
        for process in started:
            kill(process)


def kill(process: subprocess.Popen) -> None:
    """Kill a process with all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def n_workers(page: int) -> int:
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
        return answer.read().decode().count('"ALIVE"') - 1  # the master is alive, too
    return 0


def wait_until(holds, what: str, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.1)
    raise TimeoutError(f"waited {seconds:.0f} s for {what}")
