"""Outages over 1,000 hosts: each receiver gets two messages, and one for each change that matters."""

from collections.abc import Sequence

import pytest
from django.db import transaction

from accesslist.models import Project
from alerting.models import Alert, Incident, Notification
from tests.documents import ROOT
from tests.each import each
from tests.hostile.budget import LONG
from tests.integration.alerting.pipeline import Outside
from tests.simulation.outages import (
    FLEET,
    LABELLED_FLEET,
    RECEIVERS,
    SHAPES,
    OutageOutcome,
    Shape,
    SimulatedHost,
    dry_outcome,
    prepare,
    run,
)

SMALL = 30
"""The alerts of a shape that every run tries where no host has labels; `test_incidents.py` tries labels."""


def expected(shape: Shape) -> OutageOutcome:
    names = [str(receiver["typeName"]) for receiver in RECEIVERS if shape.messages]
    return OutageOutcome(shape.alerts, shape.incidents, dict.fromkeys(names, shape.messages))


@pytest.mark.django_db
@each("fleet", [FLEET, LABELLED_FLEET] if LONG else [FLEET], ids=["an agent for each region", "labelled"])
def test_each_outage_is_a_few_messages_and_a_dry_run_finds_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch, fleet: Sequence[SimulatedHost]
) -> None:
    outside = Outside()
    monkeypatch.setattr("alerting.engine.delivery.deliver", outside.deliver)
    config = prepare(project, fleet)
    wrong = []
    for shape in SHAPES:
        if shape.fleet is not fleet or (shape.alerts > SMALL and not LONG):
            continue
        with transaction.atomic():
            outcome = run(project, config, shape, outside)
            if not expected(shape) == outcome == dry_outcome(project):
                wrong.append((shape.words, outcome, dry_outcome(project)))
            assert not Alert.objects.filter(status="OPEN").exists()
            assert not Incident.objects.filter(ended=None).exists()
            assert not Notification.objects.filter(status="PENDING").exists()
            transaction.set_rollback(True)
    assert wrong == []


def test_there_are_twenty_four_shapes_over_a_thousand_hosts() -> None:
    assert (len(SHAPES), len(FLEET), len(LABELLED_FLEET)) == (24, 1_000, 1_000)


def test_no_receiver_gets_more_than_two_messages_and_the_changes_that_matter() -> None:
    for shape in SHAPES:
        assert len(shape.messages) - shape.messages.count("U") <= 2 * shape.incidents


def test_the_page_about_grouping_has_a_row_for_each_shape() -> None:
    page = (ROOT / "docs/grouping.md").read_text()
    assert [shape.row for shape in SHAPES if shape.row not in page] == []
