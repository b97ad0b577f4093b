"""The rows that the agents of a project can create: each kind is limited, and so is the growth of a day.

A report that exceeds a limit is refused whole (LIMIT_REACHED). The limits are compared when rows are added,
so concurrent reports can exceed them by the rows that they add at the same time: a lock would make reports
wait for each other. Hosts have an exact limit (`project_hosts_counted`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet

from accesslist.locks import scopes_lock_shared
from automation.agents.models import Agent
from automation.desired_state.models import ProcessStatus
from automation.hosts.models import Cluster, Database, ReplicaSet
from automation.reports import growth
from automation.reports.models import ReachedLimit
from automation.reports.store import SAID_FOR
from events.choices import DiffType
from events.diffs import diff
from events.log.changes import event_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute

NOTED_EVERY = timedelta(minutes=1)
"""How often the time of the last refusal is written."""


@dataclass(frozen=True, slots=True)
class RowLimit:
    """The limit of a kind of rows in a project: its words in a refusal, its setting, and the rows."""

    words: str
    setting: str
    rows_of: Callable[[str], QuerySet[Any]]

    @property
    def most(self) -> int:
        most: int = getattr(settings, self.setting)
        return most

    def refusal(self) -> ApiError:
        return ApiError(
            ErrorCode.LIMIT_REACHED, self.words, str(self.most), note=f"The setting is {self.setting}."
        )


def _of_group(model: type[Model]) -> Callable[[str], QuerySet[Any]]:
    return lambda group_id: model._default_manager.filter(group_id=group_id)


AGENTS = RowLimit("agents", "OPSAPI_MAX_AGENTS", _of_group(Agent))
CLUSTERS = RowLimit("clusters", "OPSAPI_MAX_CLUSTERS", _of_group(Cluster))
REPLICA_SETS = RowLimit("replica sets", "OPSAPI_MAX_REPLICA_SETS", _of_group(ReplicaSet))
PROCESSES = RowLimit("process states", "OPSAPI_MAX_PROCESSES", _of_group(ProcessStatus))
DATABASES = RowLimit(
    "databases",
    "OPSAPI_MAX_DATABASES",
    lambda group_id: Database.objects.filter(host__group_id=group_id, host__deleted=None),
)
SETTINGS = MappingProxyType(
    {limit.words: limit.setting for limit in (AGENTS, CLUSTERS, REPLICA_SETS, PROCESSES, DATABASES)}
    | {
        "hosts": "OPSAPI_MAX_HOSTS",
        "agents that share hosts": "OPSAPI_MAX_SHARING_AGENTS",
        growth.WORDS: "OPSAPI_MAX_DAILY_MB",
    }
)
"""The setting of each limit, by its words in a refusal."""


def rows_limited(limit: RowLimit, *, group_id: str) -> None:
    """Call it after rows were added, in their transaction.

    Raises: ApiError: LIMIT_REACHED, if the project has more rows than the limit.
    """
    if limit.rows_of(group_id)[: limit.most + 1].count() > limit.most:
        raise limit.refusal()


# A refusal in a period that is already said writes the row at most once in NOTED_EVERY.
_NOTE = """
INSERT INTO automation_reachedlimit AS known (group_id, words, most, since, refused)
VALUES (%(group)s, %(words)s, %(most)s, %(now)s, %(now)s)
ON CONFLICT (group_id, words) DO UPDATE SET
    most = excluded.most,
    since = CASE WHEN known.refused BETWEEN %(said)s AND %(ahead)s THEN known.since ELSE excluded.since END,
    refused = excluded.refused
WHERE known.refused NOT BETWEEN %(noted)s AND %(ahead)s OR known.most <> excluded.most
"""


@contextmanager
def within_limits(*, group_id: str, now: datetime) -> Iterator[None]:
    """Store something of a project in the block, which has a transaction of its own. A limit is remembered.

    Raises: ApiError: LIMIT_REACHED, also if the project has stored OPSAPI_MAX_DAILY_MB today.
    """
    with limit_noted(group_id=group_id, now=now):
        growth.day_limited(group_id=group_id, now=now)
        yield


@contextmanager
def limit_noted(*, group_id: str, now: datetime) -> Iterator[None]:
    """Remember a limit that the block reaches. It has a transaction of its own."""
    try:
        yield
    except ApiError as refusal:
        if refusal.code is ErrorCode.LIMIT_REACHED:
            _note(group_id=group_id, refusal=refusal, now=now)
        raise


def _note(*, group_id: str, refusal: ApiError, now: datetime) -> None:
    """Remember a refusal, after the transaction of the block was rolled back.

    The first refusal is an event; further refusals are no events until SAID_FOR has passed without any.
    """
    words, most = refusal.parameters
    with transaction.atomic():
        if group_id not in scopes_lock_shared(groups=[group_id]).orgs_of_groups:
            return
        given = {
            "group": group_id,
            "words": words,
            "most": int(most),
            "now": now,
            "said": now - SAID_FOR,
            "noted": now - NOTED_EVERY,
            "ahead": now + NOTED_EVERY,
        }
        if not execute(_NOTE, given):
            return
        if ReachedLimit.objects.filter(group_id=group_id, words=words, since=now).exists():
            event_record(
                event_type=EventType.GROUP_LIMIT_REACHED_AUDIT,
                actor=SYSTEM,
                now=now,
                group_id=group_id,
                diffs=diff(
                    DiffType.GROUP, group_id, old={}, new={SETTINGS.get(words, words): f"{most} {words}"}
                ),
            )
