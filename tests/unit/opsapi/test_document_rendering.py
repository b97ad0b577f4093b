"""Markdown as pages: anchors as forges give them, code, diagrams, links, and no HTML of the source."""

import pytest

from opsapi.documents.rendering import DIAGRAM, diagram_title, picture_name, read_document
from tests.documents import documents
from tests.each import each


def html(source: str) -> str:
    """The HTML below the title."""
    return read_document(f"# Title\n\n{source}", lambda link: f"<{link}>").html


def test_title_headings_and_sections_are_read() -> None:
    source = "# A *title*\n\nfirst `word`\n\n## Part & `code`\n\nsecond\n\n### Part & code\n"
    document = read_document(source, str)
    assert document.title == "A title"
    assert [(each.level, each.anchor, each.text) for each in document.headings] == [
        (2, "part--code", "Part & code"),
        (3, "part--code-1", "Part & code"),
    ]
    assert [(each.anchor, each.title, each.text) for each in document.sections] == [
        ("", "A title", "first word"),
        ("part--code", "Part & code", "second"),
        ("part--code-1", "Part & code", ""),
    ]
    assert "<h1" not in document.html


def test_a_text_without_a_title_is_shown_whole() -> None:
    document = read_document("only text", str)
    assert (document.title, document.html, list(document.sections)) == ("", "<p>only text</p>\n", [])


@each(
    ("source", "expected"),
    [
        ("[a](b.md#c)", 'href="&lt;b.md#c&gt;"'),
        ("![a](b.svg)", 'src="&lt;b.svg&gt;"'),
        ("<https://example.com/>", 'href="&lt;https://example.com/&gt;"'),
        ("`<b>`", "<code>&lt;b&gt;</code>"),
        ("a <br> b", "a <br> b"),
        ('```sh title="as <root>"\nls\n```', "<figcaption>as &lt;root&gt;</figcaption>"),
        ("```sh\necho 'x'\n```", "<span class=\"s1\">'x'</span>"),
        ("```unknown\n<b>\n```", "<code>&lt;b&gt;\n</code>"),
        ("    <b>\n", "<code>&lt;b&gt;\n</code>"),
        ("| a |\n|--:|\n| b |", '<td class="right">b</td>'),
        ("| a |\n|---|\n| b |", '<div class="table" tabindex="0"><table>'),
    ],
)
def test_it_becomes(source: str, expected: str) -> None:
    assert expected in html(source)


@each(
    "source",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[a](javascript:alert(1))",
        "<!-- a remark -->",
        "<picture><img src='x'></picture>",
        '```sh title="<script>"\n```',
    ],
)
def test_html_and_scripts_of_the_source_are_left_out(source: str) -> None:
    text = html(source)
    assert not any(tag in text for tag in ("<script", "<img", "<!--", "<picture", "href="))


def test_a_diagram_is_its_picture() -> None:
    diagram = "flowchart LR\n    accTitle: From a to b\n    a --> b\n"
    text = html(f"```mermaid\n{diagram}```\n")
    assert f"/docs/pictures/{picture_name(diagram)}" in text
    assert 'alt="From a to b"' in text
    assert "-->" not in text


def test_a_diagram_without_a_title_is_refused() -> None:
    with pytest.raises(ValueError, match="accTitle"):
        diagram_title("flowchart LR\n    a --> b\n")


@pytest.mark.slow
def test_no_document_has_html_that_its_page_leaves_out_but_the_screenshot_of_the_readme() -> None:
    lost = {}
    for path in documents():
        shown = DIAGRAM.sub("", path.read_text())
        left = [line for line in shown.splitlines() if line.lstrip().startswith("<") and "://" not in line]
        lost[path.name] = [line for line in left if not line.startswith("<!--")]
    assert {name for name, lines in lost.items() if lines} == {"README.md"}
    assert lost["README.md"][0] == "<picture>"
