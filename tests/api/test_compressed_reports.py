"""Reports compressed with gzip, and other content codings."""

import gzip
import json
import zlib
from typing import Any

import pytest

from accesslist.models import Project
from automation.models import Host, ReportAnswer
from opsapi.api import bodies as read_bodies
from tests.api import bodies
from tests.client import ApiClient
from tests.each import each

pytestmark = pytest.mark.django_db


def text(**changes: Any) -> bytes:
    return json.dumps(bodies.report(bodies.host(), **changes)).encode()


def send(agent: ApiClient, project: Project, body: bytes, coding: str = "gzip", **headers: Any) -> Any:
    return agent.report(project.id, body, HTTP_CONTENT_ENCODING=coding, **headers)


@each("coding", ["gzip", "GZIP", "x-gzip", "identity, gzip"])
def test_a_compressed_report_is_stored(agent: ApiClient, project: Project, coding: str) -> None:
    assert send(agent, project, gzip.compress(text()), coding).status_code == 202
    assert Host.objects.filter(group=project).exists()


@each("coding", ["", "identity", "Identity"])
def test_identity_is_no_coding(agent: ApiClient, project: Project, coding: str) -> None:
    assert send(agent, project, text(), coding).status_code == 202


@each("coding", ["br", "deflate", "zstd", "gzip, gzip", "gzip, br", "compress", "nonsense\u00e9"])
def test_other_codings_are_refused(agent: ApiClient, project: Project, coding: str) -> None:
    answer = send(agent, project, gzip.compress(text()), coding)
    assert (answer.status_code, answer.json()["errorCode"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert answer["Accept-Encoding"] == "gzip, identity"
    assert not Host.objects.exists()


def test_other_endpoints_take_no_coding(owner: ApiClient) -> None:
    body = gzip.compress(json.dumps({"name": "payments"}).encode())
    answer = owner.request("POST", "/groups", body, HTTP_CONTENT_ENCODING="gzip")
    assert (answer.status_code, answer.json()["errorCode"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert answer["Accept-Encoding"] == "identity"
    assert "Content-Encoding" in answer.json()["detail"]
    assert not Project.objects.filter(name="payments").exists()


def _compressed(level: int = 9) -> bytes:
    return gzip.compress(text(), level)


@each(
    "body",
    [
        text(),
        _compressed()[:-1],
        _compressed()[:-9],
        _compressed()[:5],
        _compressed() + b"\0",
        _compressed() + b"garbage",
        _compressed() + _compressed()[:-1],
        _compressed()[:-8] + b"\0" * 8,  # another checksum
        zlib.compress(text()),
        gzip.compress(text())[:20] + b"\xff" * 20,
        gzip.compress(b"") * 17,
        gzip.compress(text()) * 2,  # two documents
        gzip.compress(gzip.compress(text())),
    ],
    ids=len,
)
def test_a_body_that_is_not_one_report_is_refused(agent: ApiClient, project: Project, body: bytes) -> None:
    answer = send(agent, project, body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_JSON")
    assert not Host.objects.exists()


def test_a_report_may_have_several_members(agent: ApiClient, project: Project) -> None:
    whole = text()
    body = b"".join(gzip.compress(whole[start : start + 100]) for start in range(0, len(whole), 100))
    assert send(agent, project, body).status_code == 202


def test_a_compressed_report_repeats_a_plain_report(agent: ApiClient, project: Project) -> None:
    first = send(agent, project, text(), "identity", HTTP_IDEMPOTENCY_KEY="k")
    again = send(agent, project, gzip.compress(text()), HTTP_IDEMPOTENCY_KEY="k")
    assert (first.status_code, again.status_code) == (202, 202)
    assert ReportAnswer.objects.count() == 1


@each("size", [1, 1000, 65_536, 65_537, 1_000_000, 3 * 2**20])
def test_any_size_is_decoded(size: int) -> None:
    for plain in (b"a" * size, bytes(range(256)) * (size // 256 + 1)):
        packed = gzip.compress(plain)
        assert read_bodies.gunzip(packed, len(plain)) == plain
        assert read_bodies.gunzipped_size(packed, len(plain)) == len(plain)


def test_a_bomb_is_refused_before_it_is_held(
    agent: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automation.reports.views.ReportViewSet.max_body", 100_000)
    decoded: list[int] = []
    inflate = read_bodies._inflated

    def counted(*arguments: Any) -> bytes:
        found = inflate(*arguments)
        decoded.append(len(found))
        return found

    monkeypatch.setattr(read_bodies, "_inflated", counted)
    answer = send(agent, project, gzip.compress(b" " * 50_000_000))
    assert (answer.status_code, answer.json()["errorCode"]) == (413, "REQUEST_TOO_LARGE")
    assert sum(decoded) <= 100_000 + 65_536
    decoded.clear()
    several = b"".join(gzip.compress(b" " * 30_000) for _ in range(5))
    assert send(agent, project, several).status_code == 413


def test_a_large_decoded_body_takes_its_share(
    agent: ApiClient, project: Project, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    taken: list[int] = []
    taking = read_bodies.LARGE_BODIES.taking

    def counted(size: int, **options: Any) -> Any:
        taken.append(size)
        return taking(size, **options)

    monkeypatch.setattr(read_bodies.LARGE_BODIES, "taking", counted)
    body = text() + b" " * 2_000_000
    assert send(agent, project, gzip.compress(body)).status_code == 202
    assert taken == [len(body)]
