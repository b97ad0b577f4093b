"""Diagrams of the documents. Forges draw their blocks of mermaid; the site shows a picture of each.

`make pictures` draws the pictures that are missing. The name of a picture is derived from its diagram, so a
changed diagram has no picture yet, and `make docs` fails.
"""

import hashlib
import re

DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^ *accTitle: *(.+)$", re.MULTILINE)


def picture_name(diagram: str) -> str:
    """The name of the file in `docs/pictures`."""
    return f"diagram-{hashlib.sha256(diagram.encode()).hexdigest()[:12]}.svg"


def diagram_title(diagram: str) -> str:
    """What people read who do not see the picture: the line `accTitle:` of mermaid."""
    found = _TITLE.search(diagram)
    if found is None:
        raise ValueError(f"a diagram has no line accTitle: {diagram[:60]!r}")
    return found[1]
