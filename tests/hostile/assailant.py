"""Sends a request, holds the answer against what every answer has to be, and undoes what it did."""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.db import transaction
from django.utils.functional import cached_property

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS
from opsapi.sql import fetch_rows
from tests.client import ApiClient

OURS = ("accesslist", "alerting", "automation", "events", "integrations")
COUNTS = "events_eventcount"
"""The numbers of events, which triggers write."""
IGNORED = frozenset({"accesslist_digestuse", "accesslist_ratewindow", COUNTS})
"""Tables that a refused request may write, used nonces and how often an address failed, and COUNTS."""

ALWAYS = frozenset({"error", "reason", "errorCode", "detail", "parameters"})


class Assailant:
    """Tries requests, each from the same state, which it leaves as it was."""

    def __init__(self, client: ApiClient, known: Mapping[str, str]) -> None:
        """`known` are the ids that mean the parameters of paths."""
        self.client = client
        self.known = known
        self.tried = 0

    def attempt(self, method: str, target: str, body: bytes | None = None, **options: Any) -> Any:
        """The answer, once it is found to be one that may be given; everything it changed is undone.

        `target` is the raw path and query, `options` as ApiClient.request takes them.
        Raises AssertionError for a fault of the server, a shape nobody promised, or a refusal that
        changed something.
        """
        self.tried += 1
        with transaction.atomic():
            before = self._counts
            answer = self.client.request(method, target, body, base="", **options)
            described = f"{method} {target[:300]} {(body or b'')[:300]!r} {str(options)[:300]}"
            assert answer.status_code < 500, f"{described}: {answer.content[:500]!r}"
            if answer.status_code >= 400:
                check_refusal(answer, method, described)
            if answer.status_code >= 400 or method in {"GET", "HEAD"}:
                assert counts() == before, f"{described}: {answer.status_code}, but rows changed"
            transaction.set_rollback(True)
        return answer

    @cached_property
    def _counts(self) -> Mapping[str, int]:
        """Rows before anything was tried."""
        return counts()


def counts() -> dict[str, int]:
    """Table → number of its rows, of every model of ours that only an accepted request may change."""
    tables = [
        model._meta.db_table
        for model in apps.get_models()
        if model.__module__.partition(".")[0] in OURS and model._meta.db_table not in IGNORED
    ]
    columns = ", ".join(f'(SELECT count(*) FROM "{table}")' for table in tables)  # noqa: S608 - our own names
    [counts] = fetch_rows(f"SELECT {columns}")
    return dict(zip(tables, counts, strict=True))


def check_refusal(answer: Any, method: str, described: str) -> None:
    """Raise AssertionError when a refusal does not have the one shape of refusals."""
    assert answer.headers["Content-Type"].startswith("application/json"), described
    if method == "HEAD":
        return
    document = answer.json()
    if "content" in document:
        assert document["status"] == answer.status_code, described
        document = document["content"]
    assert set(document) - {"badFields"} == ALWAYS, described
    assert document["error"] == answer.status_code, described
    assert ErrorCode[document["errorCode"]].status == answer.status_code, described
    faults = document.get("badFields", [])
    assert len(faults) <= MOST_FAULTS, described
    assert all(fault["field"] and fault["message"] for fault in faults), described
