"""Docstrings for the site: what is written for ``help`` in a terminal becomes links and code blocks."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj):`(?:([^`<]+?)\s+<([\w.]+)>|(~?)([\w.]+))`")
_ADDRESS = re.compile(r"`([^`<]+?)\s+<(https://[^>]+)>`_")


class ReadableDocstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value, obj)


def readable(text: str, obj: griffe.Object) -> str:
    """The docstring with roles and addresses as links, and examples under the heading that is parsed as code."""
    text = re.sub(r"(?m)^Example:$", "Examples:", text)
    text = _ADDRESS.sub(r"[\1](\2)", text)
    return _ROLE.sub(lambda role: _link(role, obj), text)


def _link(role: re.Match[str], obj: griffe.Object) -> str:
    """A link to the target of a role in an object's docstring; plain code if the reference does not have the target."""
    title, target, is_short, alone = role.groups()
    name = target or alone
    try:
        path = obj.resolve(name)
    except griffe.NameResolutionError:
        path = name
    shown = title or (name.rpartition(".")[2] if is_short else name)
    return f'<autoref optional identifier="{path}">`{shown}`</autoref>'
