"""Flows stay in few rooms, so that they can be read: `tools.rooms` counts the files."""

import pytest

from accesslist.models import Project
from alerting.engine import delivery
from alerting.engine.claims import claim
from tests.factories.alerting import make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import SLOTS, WORKER, Outside, deliver_all, evaluate
from tests.integration.alerting.test_incidents import START
from tools.rooms import Rooms

pytestmark = pytest.mark.django_db


def test_a_decision_enters_few_rooms(project: Project, outside: Outside) -> None:
    make_config(project)
    for name in ("db1", "db2"):
        ingest(project, host_report(name, reachable=False), now=START)
        evaluate(START)
        if name == "db1":  # The second message has the destination of the first.
            deliver_all(START)
    claimed = claim(worker=WORKER, slots=SLOTS, clock=lambda: START)
    with Rooms() as rooms:
        begun = list(delivery.decide(claimed, now=START))
    assert len(begun) == 1
    assert len(rooms.stays) <= 18, str(rooms)
