"""Markdown to HTML: with the anchors that forges give headings, coloured code, and pictures of diagrams.

The HTML has no script, no inline style and no HTML of the source: the Content-Security-Policy of `/docs/`
allows none.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_by_name
from pygments.util import ClassNotFound

DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A diagram in a document. Forges draw it; the pages show a picture, which `make pictures` draws."""
_DIAGRAM_TITLE = re.compile(r"^ *accTitle: *(.+)$", re.MULTILINE)
_BLOCK_TITLE = re.compile(r'title="([^"]*)"')
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)

Resolve = Callable[[str], str]
"""Takes the target of a link as the source has it, and returns the address for a browser."""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below the title: level 2 to 6, its anchor and its words."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a document: the part (heading of level 2) that has it, its target, and its words."""

    part: str
    target: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """The words from a heading to the next one. The section of the title has no anchor."""

    anchor: str
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedDocument:
    """A document that begins with its title: the title, the HTML and the headings below it, all links as the
    source has them, and the words by section.
    """

    title: str
    html: str
    headings: Sequence[Heading]
    links: Sequence[Link]
    sections: Sequence[DocumentSection]


def read_document(source: str, resolve: Resolve) -> RenderedDocument:
    """Return the document of a Markdown text whose first heading is its title.

    `resolve` gives the addresses of links and pictures.
    """
    tokens = _PARSER.parse(source)
    headings = list(_named(tokens))
    links = list(_links(tokens))
    for token in _all(tokens):
        for attribute in ("href", "src"):
            if attribute in token.attrs:
                token.attrs[attribute] = resolve(str(token.attrs[attribute]))
        if style := token.attrs.pop("style", None):  # of a table's cell: text-align:right
            token.attrs["class"] = str(style).rpartition(":")[2]
    below = next((number + 1 for number, token in enumerate(tokens) if token.type == "heading_close"), 0)
    return RenderedDocument(
        title=headings[0].text if headings else "",
        html=_PARSER.renderer.render(tokens[below:], _PARSER.options, {"resolve": resolve}),
        headings=headings[1:],
        links=links,
        sections=list(_sections(tokens)),
    )


def picture_name(diagram: str) -> str:
    """The name of the file in `docs/pictures`; a changed diagram has another name."""
    return f"diagram-{hashlib.sha256(diagram.encode()).hexdigest()[:12]}.svg"


def diagram_title(diagram: str) -> str:
    """The words for readers who do not see the picture: the line `accTitle:` of mermaid.

    Raises: ValueError: there is no such line.
    """
    match = _DIAGRAM_TITLE.search(diagram)
    if match is None:
        raise ValueError(f"a diagram has no line accTitle: {diagram[:60]!r}")
    return match[1]


def anchor_of(heading: str) -> str:
    """The anchor that forges give a heading with these words."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or ()


def _words(token: Token) -> str:
    """The words of an inline token, without marks."""
    return "".join(
        " " if child.type in {"softbreak", "hardbreak", "html_inline"} else child.content
        for child in token.children or ()
    )


def _named(tokens: Sequence[Token]) -> Iterator[Heading]:
    """The headings, in order. Each gets its anchor as `id`; an anchor that occurs again gets a number."""
    counts: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = _words(inline)
            anchor = anchor_of(text)
            count = counts[anchor] = counts.get(anchor, -1) + 1
            opening.attrs["id"] = f"{anchor}-{count}" if count else anchor
            yield Heading(int(opening.tag[1:]), str(opening.attrs["id"]), text)


def _links(tokens: Sequence[Token]) -> Iterator[Link]:
    part = ""
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag == "h2":
            part = _words(inline)
        target: str | None = None
        text = ""
        for child in inline.children or ():
            if child.type == "link_open":
                target, text = str(child.attrs["href"]), ""
            elif child.type == "link_close" and target is not None:
                yield Link(part, target, text)
                target = None
            else:
                text += child.content


def _sections(tokens: Sequence[Token]) -> Iterator[DocumentSection]:
    anchor = title = ""
    words: list[str] = []
    inside_heading = False
    for token in tokens:
        if token.type == "heading_open":
            if title:
                yield DocumentSection(anchor, title, " ".join(words))
            anchor, words = str(token.attrs["id"]) if title else "", []
            inside_heading = True
        elif token.type == "inline":
            if inside_heading:
                title, inside_heading = _words(token), False
            else:
                words.append(_words(token))
        elif token.type in {"fence", "code_block"} and token.info != "mermaid":
            words.append(token.content)
    if title:
        yield DocumentSection(anchor, title, " ".join(words))


class _Renderer(RendererHTML):
    """Writes tokens as HTML; markdown-it calls the method that is named like a token's type."""

    def heading_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """The end of a heading, with a link to it."""
        opening = tokens[index - 2]
        label = escape(f"Link to the section {_words(tokens[index - 1])}")
        link = f'<a class="anchor" href="#{opening.attrs["id"]}" aria-label="{label}">#</a>'
        return f"{link}</{opening.tag}>\n"

    def fence(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """A block of code with its title, in colours; a diagram is its picture."""
        token = tokens[index]
        language, _, info = token.info.strip().partition(" ")
        if language == "mermaid":
            picture = escape(env["resolve"](f"/docs/pictures/{picture_name(token.content)}"))
            return f'<p><img src="{picture}" alt="{escape(diagram_title(token.content))}"></p>\n'
        try:
            lexer = get_lexer_by_name(language)
        except ClassNotFound:
            lexer = TextLexer()
        named = _BLOCK_TITLE.search(info)
        caption = f"<figcaption>{escape(named[1])}</figcaption>" if named else ""
        return _code(caption, highlight(token.content, lexer, _FORMATTER))

    def code_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Code that is indented."""
        return _code("", escape(tokens[index].content))

    def table_open(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """The start of a table, which the keyboard can move sideways."""
        return '<div class="table" tabindex="0"><table>\n'

    def table_close(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """The end of a table."""
        return "</table></div>\n"

    def html_block(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """Nothing: HTML of the source is for forges only, such as the README's screenshot."""
        return ""

    def html_inline(self, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
        """A line break in the cell of a table, and nothing else."""
        return "<br>" if tokens[index].content == "<br>" else ""


def _code(caption: str, code: str) -> str:
    return f'<figure class="code">{caption}<pre tabindex="0"><code>{code}</code></pre></figure>\n'


_PARSER = MarkdownIt("commonmark", renderer_cls=_Renderer).enable("table")
"""Shared by all threads: parsing and rendering keep their state in their arguments."""
