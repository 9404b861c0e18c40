"""An extension of Griffe: examples in docstrings become code blocks; in Markdown, `>>>` would be a quotation."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

#: A paragraph that starts with >>>, up to the next empty line.
EXAMPLE = re.compile(r"(?m)^(?:>>> .*(?:\n(?!\s*$).*)*)")


class DoctestBlocks(Extension):
    """Puts a fence around every doctest."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called once for each function, class, module and attribute."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", obj.docstring.value)
