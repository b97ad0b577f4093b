"""An agent sends the reports of an hour at once: people hear only of the hosts that are still down.

`make faults` has 1,000 hosts; `make test-slow` has 100.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import close_over, open_tracked
from alerting.models import Alert
from automation.agents.changes import held_signals_release
from events.models import Event
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

BEGAN = datetime(2099, 3, 4, 14, 0, tzinfo=UTC)
MINUTES = 60
UP, OVER, HOLDS, AGAIN = "up", "over", "holds", "again"
DOWN = {UP: (), OVER: range(10, 20), HOLDS: range(30, MINUTES), AGAIN: (5, 6, 7, *range(50, MINUTES))}
"""The minutes in which hosts of a kind are down."""
SCALE = 50 if LONG else 5
KINDS = [UP] * 12 * SCALE + [OVER] * 5 * SCALE + [HOLDS] * 2 * SCALE + [AGAIN] * SCALE


def test_people_hear_only_of_hosts_that_are_still_down(project: Project, outside: Outside) -> None:
    make_config(project)
    ingest(project, *(host_report(f"db{n}") for n in range(len(KINDS))), now=BEGAN - timedelta(minutes=1))
    evaluate(BEGAN - timedelta(minutes=1))
    arrival = BEGAN + timedelta(minutes=MINUTES - 1)
    for minute in range(MINUTES):
        hosts = [host_report(f"db{n}", reachable=minute not in DOWN[kind]) for n, kind in enumerate(KINDS)]
        observed = BEGAN + timedelta(minutes=minute)
        ingest(project, *hosts, observed=observed, waiting=MINUTES - 1 - minute, now=arrival)
        if minute % 20 == 0:
            evaluate(arrival)
            open_tracked(now=arrival)
            deliver_all(arrival)
    assert not Alert.objects.exists()
    held_signals_release(now=arrival)
    evaluate(arrival)
    close_over(now=arrival)
    while open_tracked(now=arrival):
        pass
    deliver_all(arrival)
    begins = Counter(Alert.objects.filter(status="OPEN").values_list("created", flat=True))
    expected = {BEGAN + timedelta(minutes=30): 2 * SCALE, BEGAN + timedelta(minutes=50): SCALE}
    assert begins == expected
    assert Alert.objects.count() == sum(expected.values())
    assert Counter(kind.name for kind in outside.kinds) == {"OPEN": 3 * SCALE}
    # The history has everything.
    counts = Counter(
        Event.objects.filter(event_type__in=["HOST_DOWN", "HOST_UP"], alert_id=None).values_list(
            "event_type", flat=True
        )
    )
    assert counts == {"HOST_DOWN": 9 * SCALE, "HOST_UP": 6 * SCALE}
