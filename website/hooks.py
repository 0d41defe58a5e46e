"""What the site adds to Markdown: equations as MathML, and a page of examples that run while the site is built."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import textwrap
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
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PluginError(f"examples/{script.name} must run; it failed:\n{done.stderr}")
        return done.stdout, {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.png"))}


def section(script: Path, printed: str, pictures: list[str]) -> str:
    """An example on the page: its subject, its output, and its source, collapsed."""
    source = script.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or ""
    code = textwrap.indent(f"```python\n{source}```", "    ")
    shown = "\n".join(f"![What {script.stem} draws](images/{name})" for name in pictures)
    parts = [f"## {script.stem}", about, f"```text\n{printed}```", shown, f'??? note "examples/{script.name}"', code]
    return "\n\n".join(parts) + "\n"
