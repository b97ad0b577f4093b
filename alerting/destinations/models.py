"""Destinations of messages, and hosts that no message reaches."""

from django.db import models

from accesslist.models import Project
from opsapi.fields import EncryptedField, IdField


class Destination(models.Model):
    """A channel with one configuration, of one project: what fails, waits and is paced together.

    The id follows from project, channel, configuration and `is_global` (`destination_id` of the services), so
    the end of an alert reaches the receiver of its beginning, whatever the alert configuration names by then.
    `config` holds what the channel needs, encrypted, until no message can need it any more.
    """

    id = IdField(primary_key=True)
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="destinations",
        verbose_name="project",
        help_text="Empty for events without a project.",
    )
    is_global = models.BooleanField(default=False, help_text="A destination of a global configuration.")
    channel = models.CharField(max_length=30)
    recipient = models.CharField(max_length=300, default="", help_text="Redacted if it is a secret.")
    host = models.CharField(max_length=300, default="", db_collation="C", help_text="Scheme, name and port.")
    config = EncryptedField(null=True)
    failures = models.PositiveIntegerField(default=0, help_text="Consecutive failed attempts.")
    failing_since = models.DateTimeField(null=True)
    last_error = models.CharField(max_length=300, null=True)
    answered = models.DateTimeField(null=True, help_text="When it last accepted a message.")
    tried = models.DateTimeField(null=True, help_text="Start of the last attempt.")
    next_try = models.DateTimeField(null=True, help_text="No attempt starts before this time.")
    paused_until = models.DateTimeField(
        null=True, help_text="The receiver asked for no attempts before this time."
    )
    pace_ms = models.PositiveIntegerField(default=0, help_text="Minimum time between two attempts.")
    refused_pace_ms = models.PositiveIntegerField(
        default=0, db_default=0, help_text="The pace that the receiver last refused."
    )
    slowed = models.DateTimeField(null=True, help_text="When the pace was last slowed down.")
    updated = models.DateTimeField()

    class Meta:
        indexes = [
            # Failing destinations, the latest first, for the console. Unused destinations, for deletion.
            models.Index(
                fields=["-failing_since"],
                name="destination_failing",
                condition=models.Q(failing_since__isnull=False),
            ),
            models.Index(fields=["updated"], name="destination_updated"),
            # The destinations on a host that is reachable again.
            models.Index(fields=["host"], name="destination_host"),
        ]

    def __str__(self) -> str:
        return self.recipient or self.channel


class UnreachableHost(models.Model):
    """A host that accepts no connections. The first successful connection deletes the row."""

    host = models.CharField(max_length=300, primary_key=True, db_collation="C")
    failures = models.PositiveIntegerField(help_text="Consecutive failed connections.")
    since = models.DateTimeField()
    next_try = models.DateTimeField(help_text="No connection is tried before this time.")

    def __str__(self) -> str:
        return self.host
