"""How Sphinx builds the documents as a site, which the platform serves at `/docs/`: see `make docs`.

The pages are the Markdown of this directory. They also work on a forge, so their links are paths of files.
The site needs no inline script and no inline style: the Content-Security-Policy of `/docs/` allows none.
"""

import posixpath
import re
import sys
from importlib.metadata import distribution
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.pictures import DIAGRAM, diagram_title, picture_name

project = "Ops API"
html_title = "Ops API"
extensions = ["myst_parser"]
templates_path = ["_templates"]
exclude_patterns = ["_templates", "_static"]

# Headings get the anchors that forges give them.
myst_heading_anchors = 4

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "../opsapi/static/console/icon.svg"
html_copy_source = html_show_sourcelink = html_show_copyright = html_show_sphinx = False
html_use_index = html_domain_indices = False

_PAGES = {"README.md": "start.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""The pages of this directory that show files of the project's root."""
_OTHERS = ("sphinx", "furo", "pygments", "snowballstemmer")
"""Packages whose scripts and style sheets are part of the site."""
_LINK = re.compile(r"(?<=\]\()(?:\.\./)+(" + "|".join(map(re.escape, _PAGES)) + r")(?=[#)])")


def _as_page(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to files of the root lead to their pages, and show the pictures of diagrams."""
    to_root = posixpath.relpath(".", posixpath.dirname(docname) or ".")
    text = _LINK.sub(lambda match: f"{to_root}/{_PAGES[match[1]]}", source[0])
    source[0] = DIAGRAM.sub(
        lambda match: f"![{diagram_title(match[1])}]({to_root}/pictures/{picture_name(match[1])})", text
    )


def _add_licences(app: Sphinx, error: Exception | None) -> None:
    """Write the licences of the files that the site has from others, as they demand."""
    if error:
        return
    texts = []
    for name in _OTHERS:
        package = distribution(name)
        files = [
            file for file in package.files or () if re.search(r"licenses/(?:LICENSE|COPYING)", str(file))
        ]
        texts += [f"{name} {package.version}\n\n{file.read_text()}" for file in files]
        if not files:
            raise ValueError(f"{name} has no file with its licence")
    (Path(app.outdir) / "_static" / "licences.txt").write_text("\n\n".join(texts))


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _as_page)
    app.connect("build-finished", _add_licences)
