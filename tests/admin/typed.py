"""What a browser without script would send of a page's form."""

from html.parser import HTMLParser

Attributes = dict[str, str | None]
_UNSENT = frozenset({"submit", "button", "reset"})


class _FormReader(HTMLParser):
    """Collects the inputs of the page's forms; what is in templates is not part of them."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self.select: str | None = None
        self.first: str | None = None
        self.textarea: str | None = None
        self.templates = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found: Attributes = dict(attrs)
        self.templates += tag == "template"
        name = found.get("name")
        if self.templates or (tag != "option" and not name):
            return
        if tag == "input":
            self._input(str(name), found)
        elif tag == "select":
            self.select, self.first = str(name), None if "multiple" in found else ""
        elif tag == "textarea":
            self.textarea = str(name)
            self.values[self.textarea] = [""]
        elif tag == "option" and self.select:
            self._option(found)

    def handle_endtag(self, tag: str) -> None:
        self.templates -= tag == "template"
        if tag == "select" and self.select and not self.templates:
            if self.first is not None:
                self.values.setdefault(self.select, [self.first])
            self.select = None
        elif tag == "textarea":
            self.textarea = None

    def handle_data(self, data: str) -> None:
        if self.textarea:
            # The line break behind the tag is not part of the text.
            self.values[self.textarea][0] += data.removeprefix("\n")

    def _input(self, name: str, found: Attributes) -> None:
        kind = found.get("type", "text")
        boxed = kind in {"checkbox", "radio"}
        if kind not in _UNSENT and (not boxed or "checked" in found):
            self.values.setdefault(name, []).append(found.get("value") or ("on" if boxed else ""))

    def _option(self, found: Attributes) -> None:
        if "selected" in found and self.select:
            self.values.setdefault(self.select, []).append(found.get("value") or "")


def typed_in(page: str) -> dict[str, list[str]]:
    """The inputs of a page as they are there, by name."""
    reader = _FormReader()
    reader.feed(page)
    return reader.values
