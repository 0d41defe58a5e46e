"""What the site does beyond Markdown: equations as MathML, and a page of examples that are run while it is built."""

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

Each is a script in `examples/` on real data that needs no download. What it prints and draws was made with this page.
The pictures need `pip install '.[plot]'` in the folder of the source.
"""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Blocks of ``math`` become MathML, which browsers show without any script."""
    fence = {"name": "math", "class": "math", "format": equation}
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page of examples, and the pictures that they draw."""
    page = [INTRODUCTION]
    for script in sorted(ROOT.joinpath("examples").glob("*.py")):
        printed, pictures = run(script)
        page.append(section(script, printed, list(pictures)))
        for name, content in pictures.items():
            files.append(File.generated(config, f"images/{name}", content=content))
    files.append(File.generated(config, "examples.md", content="\n".join(page)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Mark examples with prompts as what they are, so that prompts and output are coloured."""
    return markdown.replace("```python\n>>>", "```pycon\n>>>")


def equation(source: str, *_: Any, **__: Any) -> str:
    """An equation in TeX as MathML."""
    return str(convert(source.strip(), display="block"))


def run(script: Path) -> tuple[str, dict[str, bytes]]:
    """What a script prints, and the pictures that it leaves in its working folder."""
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(script)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PluginError(f"examples/{script.name} must run; it failed:\n{done.stderr}")
        return done.stdout, {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.png"))}


def section(script: Path, printed: str, pictures: list[str]) -> str:
    """An example on the page: what it is about, what it gives, and its source, folded away."""
    source = script.read_text(encoding="utf-8")
    about = ast.get_docstring(ast.parse(source)) or ""
    code = textwrap.indent(f"```python\n{source}```", "    ")
    shown = "\n".join(f"![What {script.stem} draws](images/{name})" for name in pictures)
    parts = [f"## {script.stem}", about, f"```text\n{printed}```", shown, f'??? note "examples/{script.name}"', code]
    return "\n\n".join(parts) + "\n"
