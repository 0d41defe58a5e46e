"""Write ``requirements/dev.txt``: every package of the development environment, with its version and its hashes.

The lock is for Python 3.11 on Linux x86-64, as in CI, with the CPU build of PyTorch, so it names no CUDA library. It
lists the wheels that fit this platform; a package without one is listed with its source archive. uv resolves the
versions; it needs a source of PyTorch's CPU builds in ``UV_EXTRA_INDEX_URL`` or ``UV_FIND_LINKS``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements" / "dev.txt"
PYTHON = (3, 11)
GLIBC = 28
_HEAD = """\
# The development environment, for Python 3.11 on Linux x86-64. Written by `make lock`; do not edit.
# `make locked` installs it. torch is the CPU build: pip needs an index that has it, in PIP_EXTRA_INDEX_URL.
"""


def main() -> int:
    """Resolve and write."""
    packages = resolve()
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text(_HEAD + "".join(map(entry, packages)), encoding="utf-8")
    print(f"{len(packages)} packages in {LOCK.relative_to(ROOT)}")
    return 0


def resolve() -> list[dict[str, Any]]:
    """The packages that the extra ``dev`` and the build need, as uv describes them."""
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (torch,) = re.findall(r"^torch==(\S+)$", constraints, re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        override, build, out = (Path(folder, name) for name in ("override.txt", "build.txt", "pylock.toml"))
        override.write_text(f"torch=={torch}+cpu\n", encoding="utf-8")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        build.write_text("\n".join(project["build-system"]["requires"]), encoding="utf-8")
        options = ["--extra", "dev", "--constraint", "constraints.txt", "--override", str(override)]
        options += ["--python-version", ".".join(map(str, PYTHON)), "--python-platform", f"x86_64-manylinux_2_{GLIBC}"]
        options += ["--index-strategy", "unsafe-best-match", "--format", "pylock.toml", "--quiet", "-o", str(out)]
        inputs = ["pyproject.toml", str(build)]
        subprocess.run([sys.executable, "-m", "uv", "pip", "compile", *inputs, *options], cwd=ROOT, check=True)
        packages: list[dict[str, Any]] = tomllib.loads(out.read_text(encoding="utf-8"))["packages"]
    return packages


def entry(package: dict[str, Any]) -> str:
    """The lines of a package: its version and the hashes of the files that may be installed."""
    fitting = [wheel for wheel in package.get("wheels", []) if is_fitting(file_name(wheel))]
    files = fitting or ([package["sdist"]] if "sdist" in package else [])
    if not files:
        raise ValueError(f"{package['name']} {package['version']} has no file that fits.")
    hashes = sorted(f"    --hash=sha256:{one['hashes']['sha256']}" for one in files)
    return f"{package['name']}=={package['version']} \\\n" + " \\\n".join(hashes) + "\n"


def file_name(file: dict[str, Any]) -> str:
    """The name of a file, the last part of its address."""
    name: str = file.get("name") or str(file.get("url") or file["path"]).rpartition("/")[2]
    return name.replace("%2B", "+")


def is_fitting(wheel: str) -> bool:
    """Whether a wheel can be installed on the platform of the lock."""
    return not set(_tags()).isdisjoint(parse_wheel_filename(wheel)[3])


def _tags() -> Iterator[Tag]:
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(GLIBC, 4, -1)]
    platforms += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    yield from cpython_tags(PYTHON, platforms=platforms)
    yield from compatible_tags(PYTHON, interpreter="cp311", platforms=platforms)


if __name__ == "__main__":
    sys.exit(main())
