"""Redacted values that are sent back: what they mean, and why one means nothing."""

import pytest

from integrations.credentials.resource import IntegrationDocument
from integrations.redaction import Secrets
from integrations.typed_documents import UNKNOWN, UNREADABLE
from opsapi.api.errors import ApiError
from tests.each import each

URL, SECRET = "https://hooks.example.com/in", "encrypted"
STORED: Secrets = {"url": URL, "secret": SECRET}


def document(secrets: Secrets) -> IntegrationDocument:
    """That of a webhook for which these are stored."""
    return IntegrationDocument(context={"type": "WEBHOOK", "secrets": secrets})


def test_the_redacted_form_is_for_what_is_stored() -> None:
    sent = {"url": "https://hooks.example.com/******in", "secret": "******"}
    assert document(STORED).read(sent) == STORED


@each(
    ("stored", "url", "secret", "why"),
    [
        ({}, URL, "******", UNKNOWN),
        ({"url": URL}, URL, "******", UNKNOWN),
        (STORED, URL, "******x", UNKNOWN),
        (STORED, f"{URL}/other", "******", "must be sent again, because url was changed"),
        (STORED, f"{URL}/other", "******x", UNKNOWN),
        ({"url": URL, "secret": None}, URL, "******", UNREADABLE),
        ({"url": URL, "secret": None}, f"{URL}/other", "******x", UNREADABLE),
    ],
    ids=["nothing", "none", "another", "moved", "another and moved", "unreadable", "unreadable and moved"],
)
def test_it_says_why_it_is_for_nothing(stored: Secrets, url: str, secret: str, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        document(stored).read({"url": url, "secret": secret})
    assert [(field.field, field.message) for field in refused.value.bad_fields] == [("secret", why)]
