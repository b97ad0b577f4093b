"""Files of the pages after an upgrade has deleted a file below the running process."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse
from django.test import RequestFactory

from opsapi.static_files import StaticFiles

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
