"""Files of the pages: kept for a year, compressed, and gone after an upgrade below the running process."""

import gzip
import json
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.templatetags.static import static
from django.test import RequestFactory

from opsapi.static_files import StaticFiles
from tests.each import each

URL = "/static/console/that-goes.js"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file that is there at the start."""
    made = tmp_path / "that-goes.js"
    made.write_text("a = 1;")
    return made


@pytest.fixture
def files(file: Path) -> StaticFiles:
    """The middleware, which has seen it; it passes nothing on."""
    made = StaticFiles(_nobody, settings)
    made.add_file_to_dictionary(URL, str(file))
    return made


SCRIPT = "console/console.js"
FONT = "console/fonts/icons.woff2"


def test_hashed_name_is_kept_for_a_year(files: StaticFiles) -> None:
    for name in (SCRIPT, FONT):
        answer = files(RequestFactory().get(static(name)))
        assert answer["Cache-Control"] == "public, max-age=31536000, immutable"


def test_text_is_compressed_for_a_client_that_accepts_gzip(files: StaticFiles) -> None:
    for url in (static(SCRIPT), f"/static/{SCRIPT}"):
        compressed = files(RequestFactory().get(url, headers={"Accept-Encoding": "gzip, deflate, br"}))
        plain = files(RequestFactory().get(url))
        assert (compressed["Content-Encoding"], "Content-Encoding" in plain.headers) == ("gzip", False)
        assert compressed["Vary"] == plain["Vary"] == "Accept-Encoding"
        body = _body(plain)
        assert int(compressed["Content-Length"]) < int(plain["Content-Length"]) == len(body)
        assert gzip.decompress(_body(compressed)) == body == Path(_of(SCRIPT)).read_bytes()


def test_font_is_not_compressed(files: StaticFiles) -> None:
    answer = files(RequestFactory().get(static(FONT), headers={"Accept-Encoding": "gzip"}))
    assert "Content-Encoding" not in answer.headers
    assert "Vary" not in answer.headers
    assert _body(answer) == Path(_of(FONT)).read_bytes()


@each("accepted", ["gzip;q=0", "br, gzip; q=0.000", "identity"])
def test_client_that_refuses_gzip_gets_the_text(files: StaticFiles, accepted: str) -> None:
    for url in (static(SCRIPT), f"/static/{SCRIPT}"):
        answer = files(RequestFactory().get(url, headers={"Accept-Encoding": accepted}))
        assert "Content-Encoding" not in answer.headers
        assert _body(answer) == Path(_of(SCRIPT)).read_bytes()


def test_client_that_has_the_file_gets_no_body(files: StaticFiles) -> None:
    for name in (SCRIPT, FONT):
        tag = files(RequestFactory().get(static(name)))["ETag"]
        answer = files(RequestFactory().get(static(name), headers={"If-None-Match": tag}))
        assert (answer.status_code, answer["ETag"], _body(answer)) == (304, tag, b"")


def test_name_of_another_version_leads_to_this_version_for_a_minute(files: StaticFiles) -> None:
    answer = files(RequestFactory().get("/static/console/console.0123456789ab.js"))
    assert answer["Cache-Control"] == "max-age=60, public"
    assert _body(answer) == Path(_of(SCRIPT)).read_bytes()


def test_hashed_name_cannot_be_written_to(files: StaticFiles) -> None:
    answer = files(RequestFactory().post(static(SCRIPT)))
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_head_has_the_length_and_no_body(files: StaticFiles) -> None:
    answer = files(RequestFactory().head(static(SCRIPT)))
    assert (int(answer["Content-Length"]), _body(answer)) == (len(Path(_of(SCRIPT)).read_bytes()), b"")


def _of(name: str) -> str:
    found = finders.find(name)
    assert found
    return found


def _body(answer: HttpResponseBase) -> bytes:
    if not isinstance(answer, FileResponse) or not answer.file_to_stream:
        return b"".join(answer)
    # Closing the answer would end a request, and with it the connection of the tests before.
    with closing(answer.file_to_stream) as stream:
        return bytes(stream.read())


def test_one_that_is_there_is_served(files: StaticFiles) -> None:
    answer = files(RequestFactory().get(URL))
    assert isinstance(answer, FileResponse)
    assert answer.file_to_stream
    # Closing the answer would end a request, and with it the connection of the tests before.
    with closing(answer.file_to_stream) as stream:
        assert (answer.status_code, stream.read()) == (200, b"a = 1;")


def test_one_that_is_gone_is_not_found(files: StaticFiles, file: Path) -> None:
    file.unlink()
    answer = files(RequestFactory().get(URL))
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 404
    assert json.loads(answer.content)["errorCode"] == "RESOURCE_NOT_FOUND"


def test_one_that_cannot_be_read_is_a_fault(files: StaticFiles, file: Path) -> None:
    file.unlink()
    file.mkdir()
    with pytest.raises(IsADirectoryError):
        files(RequestFactory().get(URL))


def _nobody(_request: HttpRequest) -> HttpResponse:
    raise AssertionError("passed on")
