"""Static files of the pages, served by whitenoise.

Files with hashed names (`opsapi.hashed_files`) never change, so browsers keep them for a year. All texts are
compressed for clients that accept gzip.
"""

import gzip
import io
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple
from wsgiref.headers import Headers

from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import NOT_ALLOWED_RESPONSE, Redirect, Response, StaticFile

from opsapi.api.encodings import accepts_gzip
from opsapi.api.handler import not_found
from opsapi.hashed_files import HashedFile, hashed_file, is_text, plain_name

_YEAR = 31_536_000
"""In seconds."""


class TextFile(StaticFile):  # type: ignore[misc]  # whitenoise has no types
    """A file that is compressed for clients that accept gzip. Weak tags, as both forms share their tag."""

    def get_headers(self, headers_list: Any, files: Any) -> Any:
        """As whitenoise, with the headers of a file that has two forms."""
        headers = super().get_headers(headers_list, files)
        headers["Vary"] = "Accept-Encoding"
        headers["ETag"] = f"W/{headers['ETag'].removeprefix('W/')}"
        return headers

    def get_response(self, method: str, request_headers: Mapping[str, str]) -> Response:
        """Return the answer of whitenoise, compressed if it is the whole file."""
        answer = super().get_response(method, request_headers)
        if answer.status != HTTPStatus.OK or not _accepts_gzip(request_headers):
            return answer
        if answer.file is not None:
            answer.file.close()
        content = _compressed(_Version.of(Path(self.alternatives[0][1])))
        return _compressed_answer(method, Headers([*answer.headers]), content)


class KeptFile(StaticFile):  # type: ignore[misc]  # whitenoise has no types
    """A file with a hashed name, from the memory of the process."""

    def __init__(self, file: HashedFile, headers: Headers) -> None:
        self._file = file
        self._headers = headers
        self.last_modified = None
        self.etag = headers["ETag"] = f'{"W/" if file.is_compressed else ""}"{file.digest}"'
        if file.is_compressed:
            headers["Vary"] = "Accept-Encoding"
        self.not_modified_response = self.get_not_modified_response(headers)

    def get_response(self, method: str, request_headers: Mapping[str, str]) -> Response:
        """Return the whole file: texts as they are kept, or decompressed for a client without gzip."""
        if method not in {"GET", "HEAD"}:
            return NOT_ALLOWED_RESPONSE
        if self.is_not_modified(request_headers):
            return self.not_modified_response
        headers, content = Headers(self._headers.items()), self._file.content
        if self._file.is_compressed and _accepts_gzip(request_headers):
            return _compressed_answer(method, headers, content)
        return _answer(method, headers, gzip.decompress(content) if self._file.is_compressed else content)


def _accepts_gzip(request_headers: Mapping[str, str]) -> bool:
    return accepts_gzip(request_headers.get("HTTP_ACCEPT_ENCODING", ""))


class _Version(NamedTuple):
    """A file as it is now; an upgrade can replace it while the platform runs."""

    path: Path
    changed: int
    size: int

    @classmethod
    def of(cls, path: Path) -> "_Version":
        facts = path.stat()
        return cls(path, facts.st_mtime_ns, facts.st_size)


@lru_cache(maxsize=256)
def _compressed(version: _Version) -> bytes:
    return gzip.compress(version.path.read_bytes(), mtime=0)


def _compressed_answer(method: str, headers: Headers, content: bytes) -> Response:
    headers["Content-Encoding"] = "gzip"
    return _answer(method, headers, content)


def _answer(method: str, headers: Headers, content: bytes) -> Response:
    headers["Content-Length"] = str(len(content))
    return Response(HTTPStatus.OK, headers.items(), None if method == "HEAD" else io.BytesIO(content))


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """The middleware of whitenoise, which also serves hashed names.

    It answers 404 for a file that was removed after the start.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the file of the path, or the answer of the next middleware."""
        path = request.path_info
        if path not in self.files and path.startswith(self.static_prefix):
            hashed = self._hashed(path)
            if hashed is not None:
                return self.serve(hashed, request)
        answer: HttpResponseBase = super().__call__(request)
        return answer

    def _hashed(self, url: str) -> StaticFile | None:
        """The file of a hashed name.

        A page of another version, or of another machine during an upgrade, may ask for another checksum. It
        gets the file of this version, which browsers keep for a minute.
        """
        name = plain_name(url.removeprefix(self.static_prefix))
        plain = self.files.get(f"{self.static_prefix}{name}")
        file = hashed_file(name) if name and plain else None
        if file is None or not url.endswith(file.name):
            return plain
        headers = self._headers(file.path, url)
        headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
        kept = self.files[url] = KeptFile(file, headers)
        return kept

    def get_static_file(self, path: str, url: str, stat_cache: Any = None) -> StaticFile:
        """As whitenoise, and texts are compressed."""
        if not is_text(path):
            return super().get_static_file(path, url, stat_cache)
        return TextFile(path, self._headers(path, url).items(), stat_cache=stat_cache)

    def immutable_file_test(self, path: str, url: str) -> bool:
        """No file on the disk has a hashed name."""
        return False

    def _headers(self, path: str, url: str) -> Headers:
        headers = Headers([])
        self.add_mime_headers(headers, path, url)
        self.add_cache_headers(headers, path, url)
        headers["Access-Control-Allow-Origin"] = "*"
        return headers

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponseBase:
        """Return the file, or 404 for a file that an upgrade has removed while the platform runs."""
        try:
            answer: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        except FileNotFoundError:
            return not_found(request)
        return answer
