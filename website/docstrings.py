"""Docstrings as the site shows them: what is written for ``help`` in a terminal becomes links and blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod|obj):`(~?)([\w.]+)`")
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
    return _ROLE.sub(lambda role: _link(role[2], obj, is_short=bool(role[1])), text)


def _link(name: str, obj: griffe.Object, *, is_short: bool) -> str:
    """A link to what a role names, seen from an object; it stays plain code if the reference does not have it."""
    try:
        path = obj.resolve(name)
    except griffe.NameResolutionError:
        path = name
    shown = name.rpartition(".")[2] if is_short else name
    return f'<autoref optional identifier="{path}">`{shown}`</autoref>'
