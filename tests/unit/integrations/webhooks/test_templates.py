"""Templates of webhooks: the check of ready templates, and the requests they make."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from integrations.choices import MessageKind
from integrations.webhooks.sample import sample_message
from integrations.webhooks.templates import TEMPLATES, Template, read_template, request_of, template_faults
from tests.each import each

VALID: Mapping[str, Any] = {
    "label": "X",
    "url": "https://x.example.com/in",
    "requests": {"default": {"body": {"a": "b"}}},
}
SERVICE = read_template(
    "service",
    {
        **VALID,
        "parameters": {"topic": "The topic"},
        "words": {"state": {"alert.close": "ok", "default": "bad"}},
        "requests": {
            "default": {"body": {"state": "{{word.state}}", "topic": "{{url.topic}}"}},
            "alert.close": {
                "method": "PUT",
                "path": "/{{key}}/a-{{what}}",
                "query": {"by": "{{what}}"},
                "body": {"state": "{{word.state}}"},
            },
        },
    },
)


def asked(template: Template, kind: MessageKind, url: str) -> tuple[str, str, Any]:
    request = request_of(template, url, sample_message(kind))
    return request.method, request.url, orjson.loads(request.body)


def test_it_takes_request_and_words_by_kind_of_message() -> None:
    url = "https://x.example.com/in/?a=%2f&topic=oncall&b"
    assert asked(SERVICE, MessageKind.OPEN, url) == (
        "POST",
        "https://x.example.com/in/?a=%2f&b",
        {"state": "bad", "topic": "oncall"},
    )
    assert asked(SERVICE, MessageKind.CLOSE, url) == (
        "PUT",
        "https://x.example.com/in/69201a2b3c4d5e6f70819203/a-Host%20down?a=%2f&b&by=Host%20down",
        {"state": "ok"},
    )


def test_it_keeps_a_url_without_parameters() -> None:
    url = "https://x.example.com/in/%7Eada/?a=%2f&b=;"
    assert asked(read_template("x", VALID), MessageKind.OPEN, url)[1] == url


@each(
    ("changes", "path"),
    [
        ({"labels": "X"}, "labels"),
        ({"requests": {}}, "requests.default"),
        ({"requests": {**VALID["requests"], "alert.opened": {"body": {"a": 1}}}}, "requests.alert.opened"),
        ({"requests": {"default": {}}}, "requests.default.body"),
        ({"requests": {"default": {"body": {"a": "{{b}}"}}}}, "requests.default.body.a"),
        ({"requests": {"default": {"body": {"a": 1}, "method": "GET"}}}, "requests.default.method"),
        ({"requests": {"default": {"body": {"a": 1}, "path": "{{b}}"}}}, "requests.default.path"),
        ({"requests": {"default": {"body": {"a": 1}, "query": {"b": "{{b}}"}}}}, "requests.default.query.b"),
        ({"requests": {"default": {"body": {"a": 1}, "headers": {}}}}, "requests.default.headers"),
        ({"requests": {"default": {"body": {"a": "{{url.b}}"}}}}, "url.b"),
        ({"parameters": {"b": "B"}}, "url.b"),
        ({"words": {"b": {"default": 1}}}, "word.b"),
        (
            {"words": {"b": {"alert.open": 1}}, "requests": {"default": {"body": {"a": "{{word.b}}"}}}},
            "words.b.default",
        ),
    ],
)
def test_it_refuses_templates_with_the_place_of_the_fault(changes: Mapping[str, Any], path: str) -> None:
    assert [fault.path for fault in template_faults({**VALID, **changes})] == [path]
    with pytest.raises(ValueError, match="template x"):
        read_template("x", {**VALID, **changes})


@each("template", TEMPLATES.values(), ids=TEMPLATES)
def test_each_ready_template_makes_the_request_of_each_kind(template: Template) -> None:
    url = f"{template.url}?{'&'.join(f'{name}=x' for name in template.parameters)}"
    for kind in MessageKind:
        _, address, body = asked(template, kind, url)
        assert address.startswith("https://")
        assert "{{" not in orjson.dumps([address, body]).decode()
