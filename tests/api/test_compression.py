"""Pages are compressed, answers of the API are not."""

import gzip

import pytest
from django.test import Client

from tests.client import ApiClient

pytestmark = pytest.mark.django_db

ACCEPTS = {"Accept-Encoding": "gzip, deflate, br"}
LOGIN = "/admin/login/"


def test_page_is_compressed_for_a_client_that_accepts_gzip(client: Client) -> None:
    answer = client.get(LOGIN, headers=ACCEPTS)
    assert answer["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer["Vary"]
    assert int(answer["Content-Length"]) == len(answer.content) < 5_000
    assert b"</html>" in gzip.decompress(answer.content)
    assert "default-src 'none'" in answer["Content-Security-Policy"]


def test_page_is_not_compressed_for_other_clients(client: Client) -> None:
    answer = client.get(LOGIN)
    assert "Content-Encoding" not in answer.headers
    assert b"</html>" in answer.content


def test_answer_of_the_api_is_not_compressed(owner: ApiClient) -> None:
    answer = owner.get("/errorCodes", headers=ACCEPTS)
    assert answer.status_code == 200
    assert len(answer.content) > 1_000
    assert "Content-Encoding" not in answer.headers


def test_head_of_a_page_has_no_body(client: Client) -> None:
    answer = client.head(LOGIN, headers=ACCEPTS)
    assert (answer["Content-Encoding"], answer.content) == ("gzip", b"")
