"""`/api/schema/`: the OpenAPI document as the file that `make check` keeps current."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client

from opsapi.api.root import DOCUMENT
from tests.documents import ROOT
from tests.each import each

PATHS = ("/api/schema", "/api/schema/")
COMPRESSED = {"accept-encoding": "br, gzip"}
FIRST_CALLS = """
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from wsgiref.util import setup_testing_defaults

from opsapi.wsgi import application

barrier = Barrier(32)

def call(number):
    environ = {"PATH_INFO": "/api/schema/", "HTTP_ACCEPT_ENCODING": "gzip" if number % 2 else ""}
    setup_testing_defaults(environ)
    statuses = []
    barrier.wait()
    b"".join(application(environ, lambda status, headers: statuses.append(status)))
    return statuses

with ThreadPoolExecutor(32) as pool:
    print(sorted({status for statuses in pool.map(call, range(32)) for status in statuses}))
"""


@pytest.mark.parametrize("path", PATHS)
def test_the_file_is_served(client: Client, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (200, DOCUMENT.read_bytes())
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("accepted", ["gzip", "br, GZIP;q=0.5", "deflate, gzip;q=1.0, *;q=0"])
def test_it_is_compressed_for_clients_that_accept_gzip(client: Client, accepted: str) -> None:
    answer = client.get("/api/schema/", headers={"accept-encoding": accepted})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.content) == DOCUMENT.read_bytes()
    assert len(answer.content) * 10 < DOCUMENT.stat().st_size
    assert answer.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "gzip; q=0.000, br", "*;q=0.1"])
def test_it_is_compressed_for_no_other(client: Client, accepted: str) -> None:
    answer = client.get("/api/schema/", headers={"accept-encoding": accepted})
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("coding", [{}, COMPRESSED], ids=["plain", "compressed"])
def test_a_client_that_has_it_is_answered_304(client: Client, coding: dict[str, str]) -> None:
    etag = client.get("/api/schema/", headers=coding).headers["ETag"]
    assert etag.startswith('"')
    for known in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        answer = client.get("/api/schema/", headers={**coding, "if-none-match": known})
        assert (answer.status_code, answer.content) == (304, b"")
        assert (answer.headers["ETag"], answer.headers["Vary"]) == (etag, "Accept-Encoding")
    assert client.get("/api/schema/", headers={**coding, "if-none-match": '"other"'}).status_code == 200


def test_the_compressed_document_has_its_own_etag(client: Client) -> None:
    plain, compressed = client.get("/api/schema/"), client.get("/api/schema/", headers=COMPRESSED)
    assert plain.headers["ETag"] != compressed.headers["ETag"]


@pytest.mark.parametrize("query", ["", "?format=yaml", "?format=openapi"])
@pytest.mark.parametrize("accepted", ["application/vnd.oai.openapi", "application/yaml", "text/html"])
def test_any_accept_header_gets_the_same_representation(client: Client, accepted: str, query: str) -> None:
    answer = client.get(f"/api/schema/{query}", headers={"accept": accepted})
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


def test_head_has_no_body(client: Client) -> None:
    whole, head = client.get("/api/schema/"), client.head("/api/schema/")
    assert (head.status_code, head.content) == (200, b"")
    for name in ("ETag", "Content-Length", "Content-Type"):
        assert head.headers[name] == whole.headers[name]


@each("path", PATHS)
@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_is_refused_as_everywhere(path: str, method: str) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["errorCode"] == "METHOD_NOT_ALLOWED"


@pytest.mark.slow
def test_the_first_calls_of_a_process_are_answered_however_many_come_at_once(tmp_path: Path) -> None:
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    fresh = subprocess.run(
        [sys.executable, "-c", FIRST_CALLS],
        cwd=ROOT,
        env={"OPSAPI_ENV_FILE": "/dev/null", "OPSAPI_DATA_DIR": str(tmp_path), "DATABASE_URL": nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fresh.stdout == "['200 OK']\n", fresh.stderr
