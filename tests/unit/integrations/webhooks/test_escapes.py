"""Escapes of a ready template: names that a service would read as markup."""

from collections.abc import Mapping
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from integrations.webhooks.placeholders import filled
from integrations.webhooks.templates import read_template, request_of, template_faults
from tests.each import each
from tests.unit.integrations.messages import make_message

HTML = {"&": "&amp;", "<": "&lt;"}


def sent(body: Any, **changes: Any) -> Any:
    template = read_template(
        "x",
        {
            "label": "X",
            "url": "https://x.example.com/in",
            "parameters": {"room": "The room"},
            "escape": HTML,
            "words": {"mark": {"default": "<&>"}},
            "requests": {"default": {"body": {"room": "{{url.room}}", "mark": "{{word.mark}}", **body}}},
        },
    )
    request = request_of(template, "https://x.example.com/in?room=%3Ca%3E", make_message(**changes))
    return orjson.loads(request.body)


def test_names_are_escaped_wherever_they_are_inserted() -> None:
    body = {"alone": "{{what}}", "inside": "({{what}})", "facts": "{{facts}}", "tags": "{{tags}}"}
    read = sent(body, headline="<a&b>", known={"Host": "<x>"}, document={"tags": ["<t>"]})
    assert read["alone"] == "&lt;a&amp;b>"
    assert read["inside"] == "(&lt;a&amp;b>)"
    assert read["facts"]["Host"] == "&lt;x>"
    assert read["tags"] == ["&lt;t>"]


def test_words_parameters_and_links_stay_as_they_are() -> None:
    link = "https://ops.example.com/?a=<1>&b=2"
    read = sent({"link": "{{link}}", "text": "{{configLink}} {{word.mark}}"}, link=link, config_link=link)
    assert read == {"room": "<a>", "mark": "<&>", "link": link, "text": f"{link} <&>"}


def test_no_space_without_width_is_inserted_into_a_url() -> None:
    escapes = {"@": "@\u200b", "&": "&amp;"}
    runbook = "https://wiki.example/@ops/db?a&b"
    values = {"runbookUrl": runbook, "description": "@all"}.get
    read = filled({"url": "{{runbookUrl}}", "text": "{{description}}: {{runbookUrl}}"}, values, escapes)
    url = "https://wiki.example/@ops/db?a&amp;b"
    assert read == {"url": url, "text": f"@\u200ball: {url}"}


def test_a_path_is_not_escaped_but_encoded() -> None:
    request = {"path": "/{{what}}", "body": {"a": 1}}
    template = read_template(
        "x", {"label": "X", "url": "https://x.example.com", "escape": HTML, "requests": {"default": request}}
    )
    url = request_of(template, "https://x.example.com/in", make_message(headline="<a&b")).url
    assert url == "https://x.example.com/in/%3Ca%26b"


@given(text=st.text("&<a ", min_size=1, max_size=30), limit=st.integers(1, 40))
def test_no_escape_is_cut(text: str, limit: int) -> None:
    whole = "".join(HTML.get(char, char) for char in text)
    found = filled({"a": f"{{{{title:{limit}}}}}"}, lambda _: text, HTML)["a"]
    assert len(found) <= limit
    if len(whole) <= limit:
        assert found == whole
    else:
        assert found.endswith("…")
        kept = found.removesuffix("…")
        assert whole.startswith(kept)
        assert kept.count("&") == kept.count(";")


@each(
    ("text", "escaped"),
    [("[OPEN] a (b)", "[OPEN* a (b)"), ("[a](b)", "[a]-(b)"), ("]](](", "*]-(]-(")],
)
def test_the_longest_text_is_replaced_first(text: str, escaped: str) -> None:
    assert filled({"a": "{{title}}"}, lambda _: text, {"]": "*", "](": "]-("}) == {"a": escaped}


def test_it_refuses_an_empty_text() -> None:
    document: Mapping[str, Any] = {
        "label": "X",
        "url": "https://x.example.com",
        "escape": {"": "x"},
        "requests": {"default": {"body": {"a": 1}}},
    }
    assert [fault.path for fault in template_faults(document)] == ["escape"]
