"""What the site adds to Markdown: equations as MathML, and a page of examples that run while the site is built."""

from __future__ import annotations

import ast
import os
import runpy
import subprocess
import sys
import tempfile
import textwrap
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
INTRODUCTION = """# Examples

Each example is a script in `examples/` on real data that needs no download. Its output and pictures were made when this
site was built. The pictures need `pip install '.[plot]'` in the source folder.
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Turn ``math`` blocks into MathML, which browsers show without scripts."""
    fence = {"name": "math", "class": "math", "format": equation}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of examples, and their pictures."""
    page = [INTRODUCTION]
    for script in sorted(ROOT.joinpath("examples").glob("*.py")):
        printed, pictures = run(script)
        page.append(section(script, printed, list(pictures)))
        for name, content in pictures.items():
            files.append(File.generated(config, f"images/{name}", content=content))
    files.append(File.generated(config, "examples.md", content="\n".join(page)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Mark examples with prompts as console sessions, so that prompts and output are coloured."""
    return markdown.replace("```python\n>>>", "```pycon\n>>>")


def equation(source: str, *_: Any, **__: Any) -> str:
    """An equation in TeX as MathML."""
    return str(convert(source.strip(), display="block"))


def run(script: Path) -> tuple[str, dict[str, bytes]]:
    """The output of a script, and the pictures that it writes."""
    with tempfile.TemporaryDirectory() as folder:
        printed, told, code = (in_a_fork if hasattr(os, "fork") else in_a_process)(script, folder)
        if code:
            raise PluginError(f"examples/{script.name} must run; it failed:\n{told}")
        return printed, {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.png"))}


def in_a_process(script: Path, folder: str) -> tuple[str, str, int]:
    """Run a script in a folder: both outputs, and the exit code."""
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr, done.returncode


def in_a_fork(script: Path, folder: str) -> tuple[str, str, int]:
    """The same in a fork of this process, because loading the libraries takes longer than most scripts."""
    load_libraries()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
                os.chdir(folder)
                sys.argv, sys.path[0] = [str(script)], str(script.parent)
                runpy.run_path(str(script), run_name="__main__")
                code = 0
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(error.code is not None)
                if code and code is not error.code:
                    print(error.code, file=sys.stderr)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return out.read(), err.read(), code


@cache
def load_libraries() -> None:
    """Load what the examples need."""
    os.environ["OMP_NUM_THREADS"] = "1"
    if (source := str(ROOT / "src")) not in sys.path:
        sys.path.insert(1, source)
    for name in ("matplotlib.figure", "sklearn.ensemble", "torch", "numba", "hypergnn"):
        import_module(name)
    hypergnn = sys.modules["hypergnn"]
    for name in hypergnn.__all__:  # each is loaded when it is first used
        getattr(hypergnn, name)


def section(script: Path, printed: str, pictures: list[str]) -> str:
    """An example on the page: its subject, its output, and its source, collapsed."""
    source = script.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or ""
    code = textwrap.indent(f"```python\n{source}```", "    ")
    shown = "\n".join(f"![What {script.stem} draws](images/{name})" for name in pictures)
    parts = [f"## {script.stem}", about, f"```text\n{printed}```", shown, f'??? note "examples/{script.name}"', code]
    return "\n\n".join(parts) + "\n"
