"""The platform's own resources: the root (endpoint 16), the error catalogue, health checks, and plain pages.

The pages are `/api/schema/`, `/api/docs/` and `/metrics`. `manage.py openapi` writes the OpenAPI document to
a file. Servers do not generate it, because drf-spectacular is not thread-safe and takes seconds. `/metrics`
is for Prometheus. It needs no key, and a loopback address or an address of OPSAPI_METRICS_ALLOW.
"""

import gzip
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path

from csp.decorators import csp
from django.conf import settings
from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import condition
from django.views.decorators.vary import vary_on_headers
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from opsapi.api.addresses import is_forwarded, peer_address
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.content_security import DOCS
from opsapi.api.documents import Document, links_of
from opsapi.api.encodings import accepts_gzip
from opsapi.api.errors import UNAVAILABLE_RETRY_SECONDS, ApiError
from opsapi.api.fields import ShownFlag, ShownText
from opsapi.api.handler import only_read, plain_answer
from opsapi.api.links import link
from opsapi.api.paging import PlainRows
from opsapi.api.permissions import ANY_KEY, OPEN
from opsapi.api.query import LISTING, PAGING
from opsapi.api.views import ApiViewSet
from opsapi.apps import HealthCheck, readiness, readiness_notes, root_links
from opsapi.metric_series import exposition
from opsapi.postgresql.base import this_connection
from opsapi.postgresql.faults import DatabaseFault, database_fault
from opsapi.postgresql.migrations import unapplied_migrations
from opsapi.postgresql.trial import WriteTrial
from opsapi.sql import execute, fetch_rows
from opsapi.wire_json import JsonObject

APP_NAME = "Ops API"


class RootDocument(Document):
    """The root resource."""

    deprecated_fields = frozenset({"throttling"})

    appName = ShownText(example=APP_NAME)
    build = ShownText(
        help_text="Commit hash of the build.", example="a6f97c850963fc73a6f97c850963fc73a6f97c85"
    )
    throttling = ShownFlag(help_text="Obsolete, always false.", example=False)
    links = links_of("")


class ErrorCodeDocument(Answer):
    """An entry of the error catalogue."""

    errorCode = serializers.CharField(source="value")
    status = serializers.IntegerField()
    message = serializers.CharField(help_text="{0} stands for the first parameter of the error.")

    @classmethod
    def sample(cls) -> JsonObject:
        return cls.of(ErrorCode.GROUP_NOT_FOUND)


class RootViewSet(ApiViewSet):
    """Endpoint 16: the start, with links to all other resources."""

    access = {"retrieve": ANY_KEY}
    parameters = {"retrieve": PAGING}
    answers = {"retrieve": RootDocument}

    def retrieve(self, request: Request) -> Response:
        """Get the root resource, which is the same for every key."""
        links = self.links.self_only("")
        links += [link(name, self.links.to(path)) for name, path in root_links().items()]
        return Response(
            {"appName": APP_NAME, "build": settings.OPSAPI_BUILD, "throttling": False, "links": links}
        )


class ErrorCodeViewSet(ApiViewSet):
    """The published error catalogue."""

    access = {"index": ANY_KEY}
    parameters = {"index": LISTING}
    answers = {"index": [ErrorCodeDocument]}

    def index(self, request: Request) -> Response:
        """List the errors of the API."""
        return self.list(PlainRows(ErrorCode), ErrorCodeDocument.of)


_LONGEST_STATEMENT = "3s"
# Like every change, the lock is written to the table and to PostgreSQL's log; no row changes.
_WRITE = "SELECT FROM django_migrations LIMIT 1 FOR UPDATE"
# On a full disk, a table with free space still accepts rows. This writes 1 MB to the disk and removes it.
_MEMORY = "SET LOCAL work_mem = '64kB'"
_FILL = """
    SELECT max(length(line)) FROM (
        SELECT n, repeat(md5(n::text), 32) AS line FROM generate_series(1, 1024) AS n ORDER BY n
    ) AS sorted
"""


class HealthDocument(Document):
    """The state, and what is missing if it is not ok."""

    ok = ShownFlag(example=True)
    missing = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Failed checks with their causes."
    )
    notes = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="States that need no action: checks that are off for a short time, such as the `detection` "
        "of agents and hosts that stop reporting, for four minutes after the platform was away; and the "
        "number of projects that wait for `evaluation` or `delivery` because they exceeded their share of "
        "the workers' time.",
    )


class HealthViewSet(ApiViewSet):
    """`/health/live` and `/health/ready`."""

    authentication_classes = []
    access = {"live": OPEN, "ready": OPEN}
    answers = {"live": HealthDocument, "ready": HealthDocument}
    also_answers = {"ready": {503: HealthDocument}}
    linked = False

    def live(self, request: Request) -> Response:
        """200 while the process answers."""
        return Response({"ok": True})

    def ready(self, request: Request) -> Response:
        """200 if the database accepts writes and is migrated, keys and a worker work, otherwise 503."""
        missing, notes = platform_state()
        noted = {"notes": notes} if notes else {}
        if not missing:
            return Response({"ok": True, **noted})
        retry = {"Retry-After": str(UNAVAILABLE_RETRY_SECONDS)}
        return Response({"ok": False, "missing": missing, **noted}, status=503, headers=retry)


def _store() -> None:
    with _in_time():
        for statement in (_WRITE, _MEMORY, _FILL):
            execute(statement)


write_trial = WriteTrial(_store)
"""Shows whether a report can be stored."""


def platform_state() -> tuple[dict[str, str], dict[str, str]]:
    """Return what is missing, and the notes, as `/health/ready` answers them."""
    try:
        with _in_time():
            if fetch_rows("SELECT pg_is_in_recovery()") == [(True,)]:
                return {"database": DatabaseFault.STANDBY.words}, {}
            if unapplied_migrations():
                return {"migrations": "not all migrations are applied"}, {}
            missing, notes = _answers(readiness()), _answers(readiness_notes())
        write_trial.run()
    except Error as error:
        fault = database_fault(error)
        return {"database": fault.words if fault else "not usable"}, {}
    return missing, notes


def _answers(checks: Mapping[str, HealthCheck]) -> dict[str, str]:
    return {name: words for name, check in checks.items() if (words := check())}


@contextmanager
def _in_time() -> Iterator[None]:
    """Run the block in a transaction that can be repeated, with a time limit for each statement."""
    with this_connection().written_twice_without_harm(), transaction.atomic():
        execute(f"SET LOCAL statement_timeout = '{_LONGEST_STATEMENT}'")
        yield


DOCUMENT = Path(__file__).with_name("openapi.json")
"""The OpenAPI document. `make check` fails if it does not match the routes."""
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_LIST = "OPSAPI_METRICS_ALLOW, or asks through a proxy"


@lru_cache(maxsize=2)
def _representation(*, compressed: bool) -> tuple[bytes, str]:
    """Return the bytes of the document and their strong ETag (RFC 9110, 8.8.3.3: one for each coding)."""
    octets = DOCUMENT.read_bytes()
    if compressed:
        octets = gzip.compress(octets, mtime=0)
    return octets, f'"{hashlib.sha256(octets).hexdigest()[:32]}"'


def _takes_gzip(request: HttpRequest) -> bool:
    return accepts_gzip(request.headers.get("Accept-Encoding", ""))


def _etag(request: HttpRequest) -> str:
    return _representation(compressed=_takes_gzip(request))[1]


@only_read
@vary_on_headers("Accept-Encoding")
@condition(etag_func=_etag)
def schema_page(request: HttpRequest) -> HttpResponse:
    """The OpenAPI 3.1 document as JSON, for any Accept header; 304 for a client that has it."""
    compressed = _takes_gzip(request)
    octets, _ = _representation(compressed=compressed)
    coding = {"Content-Encoding": "gzip"} if compressed else {}
    return HttpResponse(octets, content_type="application/json", headers=coding)


@only_read
@csp(dict(DOCS))
def docs_page(request: HttpRequest) -> HttpResponse:
    """A viewer of the document, in which you can send requests. It loads nothing from other hosts."""
    return render(request, "api/docs.html")


@only_read
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Metrics of the installation, and of the processes on this machine."""
    if not _may_read(request):
        address = str(peer_address(request) or "unknown")
        return plain_answer(ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, address, _LIST))
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_read(request: HttpRequest) -> bool:
    """Whether the address may read. A local proxy makes every client loopback: forwarded requests may not."""
    address = peer_address(request)
    if address is None or is_forwarded(request):
        return False
    return any(address in network for network in (*_LOOPBACK, *settings.OPSAPI_METRICS_ALLOW))
