"""Events, and their number of each day."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull

from events.wording import sentence
from opsapi.fields import JsonText, OptionalIdField, PrimaryIdField

USERNAME = JsonText("details", "username")
WHO = Coalesce(JsonText("details", "username"), JsonText("details", "publicKey"))
"""The actor: a username or the public part of a key; an event has at most one of them."""
REMOTE_ADDRESS = JsonText("details", "remoteAddress")
HOSTNAME = JsonText("details", "hostname")


def present(expression: Coalesce | JsonText) -> Q:
    """Whether there is such a value: the index leaves out other events."""
    return Q(IsNull(expression, False))


class Event(models.Model):
    """An event. Only `event_record` writes events, rows are never changed, and only retention deletes them.

    The IDs and names of resources are plain text, because events outlive the resources.
    """

    id = PrimaryIdField()
    created = models.DateTimeField()
    event_type = models.CharField(max_length=64, db_collation="C")
    group_id = OptionalIdField()
    org_id = OptionalIdField()
    alert_id = OptionalIdField()
    details = models.JSONField(help_text="The other fields of the event, with their API names.")
    diffs = models.JSONField(default=list)
    raw = models.JSONField(default=dict)

    class Meta:
        ordering = ["-created", "-id"]
        indexes = [
            # All events, newest first: endpoint 19.
            models.Index(fields=["-created", "-id"], name="event_newest"),
            # The events of a project, newest first.
            models.Index(fields=["group_id", "-created", "-id"], name="event_group_newest"),
            # The events of an organization, newest first.
            models.Index(
                fields=["org_id", "-created", "-id"],
                name="event_org_newest",
                condition=models.Q(org_id__isnull=False),
            ),
            # Filter by type, for the whole installation.
            models.Index(fields=["event_type", "-created", "-id"], name="event_type_newest"),
            # Filter by type in projects: the list of the console, and `eventType` of a project's list.
            models.Index(fields=["group_id", "event_type", "-created"], name="event_group_type_newest"),
            # Console filters by user or key, by remote address and by hostname, over all time. Without the
            # ID: events of the same moment are sorted quickly, and the indexes are half the size.
            models.Index(WHO, F("created").desc(), name="event_who_newest", condition=present(WHO)),
            models.Index(
                REMOTE_ADDRESS,
                F("created").desc(),
                name="event_address_newest",
                condition=present(REMOTE_ADDRESS),
            ),
            models.Index(
                HOSTNAME, F("created").desc(), name="event_hostname_newest", condition=present(HOSTNAME)
            ),
            # The timeline of an alert.
            models.Index(fields=["alert_id"], name="event_alert", condition=models.Q(alert_id__isnull=False)),
        ]

    def __str__(self) -> str:
        return sentence(self.event_type, self.details, None)


class EventCount(models.Model):
    """A change of the number of events: `number` more of a type on a UTC day, negative if they were deleted.

    The sum of all rows is the number of events. A trigger of the table of events writes the rows, in the
    transaction that records or deletes the events; `event_counts_merge` makes them fewer.
    """

    id = models.BigAutoField(primary_key=True)
    scope = models.CharField(
        max_length=24, db_collation="C", help_text="ID of a project or organization; empty: all events."
    )
    event_type = models.CharField(max_length=64, db_collation="C")
    day = models.DateField()
    number = models.BigIntegerField()
    merged = models.BooleanField(db_default=False)

    class Meta:
        indexes = [
            models.Index(fields=["scope", "day"], include=["event_type", "number"], name="event_count_day"),
            models.Index(fields=["id"], name="event_count_unmerged", condition=models.Q(merged=False)),
        ]

    def __str__(self) -> str:
        return f"{self.number:+} {self.event_type} on {self.day}"
