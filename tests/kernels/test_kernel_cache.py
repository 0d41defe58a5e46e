"""The cache of compiled kernels: damage is noticed, others cannot write to it, and files are written whole."""

import os
import stat
import subprocess
import sys
import warnings

import numba
import pytest

from hypergnn.kernels.cpu import cache, jit


def toy(number):
    return number + 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_said", set())
    return tmp_path


def run(number=1):
    """Compile or load the kernel as a new process would; returns its result and whether it was loaded."""
    kernel = jit.compiled(toy)
    return kernel(number), sum(kernel.stats.cache_hits.values()) > 0


def files(folder):
    return sorted(folder.rglob("*.kernel"))


def test_a_kernel_is_compiled_once_for_each_signature(folder):
    assert run() == (2, False)
    assert run() == (2, True)
    assert run(1.5) == (2.5, False)
    assert len(files(folder)) == 2
    assert {path for path in folder.rglob("*") if path.is_file()} == set(files(folder))  # no index, no temporary files
    jit.compiled(toy)._cache.flush()
    assert files(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda _: b"",
        lambda content: content[:10],
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: content[:-500] + bytes([content[-500] ^ 4]) + content[-499:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: content.replace(b"\n", b"\r", 3),
        lambda content: os.urandom(len(content)),
    ],
)
def test_a_damaged_file_is_replaced_with_one_line_of_warning(folder, damage):
    run()
    (path,) = files(folder)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(RuntimeWarning, match=r"a file of the kernel cache in .* was damaged") as said:
        assert run() == (2, False)
    assert len(said) == 1
    assert run() == (2, True)


def test_a_file_of_another_kernel_is_not_taken_for_it(folder):
    run()
    (own,) = files(folder)
    run(1.5)
    (other,) = set(files(folder)) - {own}
    other.write_bytes(own.read_bytes())
    with pytest.warns(RuntimeWarning, match="was damaged"):
        assert run(1.5) == (2.5, False)


def test_other_sources_are_compiled_again_without_a_word(folder, monkeypatch):
    run()
    monkeypatch.setattr(jit, "_sources", lambda: "others")
    assert run() == (2, False)
    assert run() == (2, True)
    assert len(files(folder)) == 1


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
def test_the_folder_is_private_and_one_that_others_can_write_to_is_not_used(folder, monkeypatch):
    run()
    (path,) = files(folder)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.parent.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=r"is not used: others can write to it"):
        assert run() == (2, False)
    path.parent.chmod(0o700)
    path.chmod(0o666)
    with pytest.warns(RuntimeWarning, match=r"was damaged"):
        assert run() == (2, False)
    monkeypatch.setattr(cache, "_said", set())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(RuntimeWarning, match=r"is not used: others can write to it"):
        assert run() == (2, False)


def test_a_folder_behind_a_link_is_not_used(folder, tmp_path_factory):
    run()
    own = files(folder)[0].parent
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    own.rename(elsewhere / "kernels")
    own.symlink_to(elsewhere / "kernels")
    with pytest.warns(RuntimeWarning, match=r"is not used"):
        assert run() == (2, False)


@pytest.mark.usefixtures("folder")
def test_a_cache_that_cannot_be_written_stops_nobody(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "write_atomic", full)
    with pytest.warns(RuntimeWarning, match=r"cannot be written .*No space left"):
        assert run() == (2, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        assert run() == (2, False)


# The kernel of the loss, which compiles in a second.
LOSS = """
import torch
from hypergnn import kernels
print(kernels.cross_entropy(torch.zeros(1, 2, 4), torch.tensor([0, 1]), torch.tensor([0, 1])).exp().round().item())
"""


@pytest.mark.slow
def test_a_process_with_a_torn_cache_gives_its_result_and_one_line(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}

    def run_loss():
        return subprocess.run([sys.executable, "-c", LOSS], env=environment, capture_output=True, text=True, check=True)

    for _ in range(2):
        done = run_loss()
        assert (done.stdout, done.stderr) == ("4.0\n", "")
    assert files(tmp_path)
    for path in files(tmp_path):
        path.write_bytes(path.read_bytes()[:-100])
    done = run_loss()
    assert done.stdout == "4.0\n"
    assert done.stderr.count("RuntimeWarning: a file of the kernel cache") == 1
