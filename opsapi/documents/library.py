"""The documents of a directory: their addresses, the order of the navigation, and the search."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from opsapi.documents.rendering import DocumentSection, Link, RenderedDocument, read_document
from opsapi.page_paths import DOCUMENTS_PATH

HOME = "index.html"
SEARCH = "search.html"
LONGEST_QUERY = 100
MOST_HITS = 30
_START = {"README.md": "start.html"}
"""The page of the README is named for its content."""
_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md")
_FILES = ("docs/pictures/*.svg", "docs/screenshots/upgrade-*.png", ".env.example", "LICENSE")
"""Files that documents show or link to, but no file that an operator edits, as in `deploy/`: everybody reads
these pages without a log-in."""
_BEHIND = frozenset(
    {"architecture.html", "changelog.html", "contract.html", "contributing.html", "decisions.html"}
)
"""Pages for developers and history: their hits come after the hits of guides with the same words."""
_SNIPPET = 160
"""Characters of a hit's text."""


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """A link of the navigation: the page's name, its label, and the pages below it."""

    name: str
    label: str
    below: Sequence["NavigationEntry"] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the navigation: *Use*, *Run* or *Build*."""

    title: str
    entries: Sequence[NavigationEntry]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A section that the search found: its page, titles, and pieces of its text, of which some match."""

    name: str
    page_title: str
    section_title: str
    anchor: str
    snippet: Sequence[tuple[str, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The best hits of a search, how many sections match, and whether they have all words or only some."""

    hits: Sequence[SearchHit]
    count: int
    all_words: bool


class Library:
    """The documents below a directory, which is a checkout or the files of the installed package.

    Its pages and files are the files that exist at the start; a page that changes later is read again.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        sources = _published(root, _PAGES)
        self._names = {path.relative_to(root).as_posix(): _page_name(path, root) for path in sources}
        self.pages: Mapping[str, Path] = {name: root / source for source, name in self._names.items()}
        """The source of each page, by its name: its path below `/docs/`."""
        self.files: Mapping[str, Path] = {_file_name(path, root): path for path in _published(root, _FILES)}
        """The pictures, and the files that documents link to, by their path below `/docs/`."""
        self._names |= {path.relative_to(root).as_posix(): name for name, path in self.files.items()}
        self._read: dict[str, tuple[tuple[int, int], RenderedDocument]] = {}

    def document(self, name: str) -> RenderedDocument:
        """Return the document of a page.

        Raises: KeyError: there is no such page. FileNotFoundError: it was removed.
        """
        path = self.pages[name]
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = self._read.get(name)
        if known is None or known[0] != stamp:
            source = path.relative_to(self._root).as_posix()
            document = read_document(path.read_text(encoding="utf-8"), partial(self._address, source))
            known = self._read[name] = (stamp, document)
        return known[1]

    def navigation(self) -> Sequence[Part]:
        """Return the parts of the home page (headings of level 2) with the pages that they link to."""
        parts: dict[str, list[NavigationEntry]] = {}
        seen = set()
        for link, name in self._linked(HOME):
            if link.part and name not in seen:
                seen.add(name)
                parts.setdefault(link.part, []).append(NavigationEntry(name, _label(link), self._below(name)))
        return [Part(title, entries) for title, entries in parts.items()]

    def _linked(self, name: str) -> Iterator[tuple[Link, str]]:
        """The links to other pages, with the names of these pages."""
        source = self.pages[name].relative_to(self._root).as_posix()
        for link in self.document(name).links:
            target = self._names.get(_target(source, link.target))
            if target and target in self.pages and target != name:
                yield link, target

    def _below(self, name: str) -> Sequence[NavigationEntry]:
        """The pages of a directory that its `index` links to."""
        directory, _, file = name.rpartition("/")
        if file != HOME:
            return ()
        labels: dict[str, str] = {}
        for link, page in self._linked(name):
            if page.startswith(f"{directory}/"):
                labels.setdefault(page, _label(link))
        return [NavigationEntry(page, label) for page, label in labels.items()]

    def _address(self, source: str, link: str) -> str:
        """The address of a link or picture in the document `source`; other addresses stay."""
        _, mark, anchor = link.partition("#")
        name = self._names.get(_target(source, link))
        if name is None or link.startswith("#"):
            return link
        return f"{DOCUMENTS_PATH}{'' if name == HOME else name}{mark}{anchor}"

    def search(self, query: str) -> Found:
        """Return the sections with all words of the query; if there are none, the sections with some.

        A word also matches inside of a longer word. `query` has at most LONGEST_QUERY characters.
        """
        words = list(dict.fromkeys(query.lower().split()))
        scored = [
            (matched, score, hit)
            for name in self.pages
            for matched, score, hit in self._scored(name, words)
            if matched
        ]
        complete = [section for section in scored if section[0] == len(words)]
        best = sorted(complete or scored, key=lambda section: section[:2], reverse=True)
        return Found(
            hits=[hit() for _, _, hit in best[:MOST_HITS]], count=len(best), all_words=bool(complete)
        )

    def _scored(self, name: str, words: Sequence[str]) -> Iterator[tuple[int, int, Callable[[], SearchHit]]]:
        """For each section of a page: how many words it has, its rank, and the hit."""
        try:
            document = self.document(name)
        except FileNotFoundError:
            return  # an upgrade has removed it
        page_title, phrase = document.title.lower(), " ".join(words)
        for section in document.sections:
            title, text = section.title.lower(), section.text.lower()
            matched = sum(word in title or word in text for word in words)
            in_titles = sum(4 * (word in page_title) + 6 * (word in title) for word in words)
            as_phrase = 10 * (phrase in title) + 5 * (phrase in text)
            score = in_titles + as_phrase + sum(min(text.count(word), 3) for word in words)
            score -= 20 * (name in _BEHIND)
            yield matched, score, partial(_hit, name, document.title, section, words)


def _published(root: Path, patterns: Sequence[str]) -> Sequence[Path]:
    """The files of the patterns, sorted, without hidden files and symbolic links, as editors leave them."""
    real = root.resolve()
    paths = {path for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return sorted(
        path
        for path in paths
        if (not path.name.startswith(".") or path.relative_to(root).as_posix() in patterns)
        and path.resolve() == real / path.relative_to(root)
    )


def _page_name(path: Path, root: Path) -> str:
    source = path.relative_to(root).as_posix()
    return _START.get(source) or f"{source.removeprefix('docs/').removesuffix('.md').lower()}.html"


def _file_name(path: Path, root: Path) -> str:
    source = path.relative_to(root).as_posix()
    return source.removeprefix("docs/") if source.startswith("docs/") else f"files/{source}"


def _target(source: str, link: str) -> str:
    """The path from the root of what a link in `source` leads to; a path with a slash starts at the root."""
    path = link.partition("#")[0]
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(source), path)).lstrip("/")


def _label(link: Link) -> str:
    return link.text[:1].upper() + link.text[1:]


def _hit(name: str, page_title: str, section: DocumentSection, words: Sequence[str]) -> SearchHit:
    return SearchHit(
        name=name,
        page_title=page_title,
        section_title=section.title if section.anchor else "",
        anchor=section.anchor,
        snippet=_snippet(section.text, words),
    )


def _snippet(text: str, words: Sequence[str]) -> Sequence[tuple[str, bool]]:
    """The text around the first match, in pieces of which each second one matches a word."""
    either = re.compile(
        "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)), re.IGNORECASE
    )
    match = either.search(text)
    start = max(0, match.start() - _SNIPPET // 3) if match else 0
    if start:
        start = text.rfind(" ", 0, start) + 1
    cut = text[start : start + _SNIPPET]
    if start + _SNIPPET < len(text):
        cut = cut.rsplit(" ", 1)[0] + " …"
    pieces = re.split(f"({either.pattern})", ("… " if start else "") + cut, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(pieces)]
