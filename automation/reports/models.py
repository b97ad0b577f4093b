"""Answers to reports, and what reports stored and exceeded."""

from django.db import models

from accesslist.models import Project
from opsapi.clock import time_words


class ReportAnswer(models.Model):
    """The answer to a report with an Idempotency-Key, stored for repeats.

    `id` is a digest of project, API key and Idempotency-Key, `body` is a digest of the report: a single index
    finds the answer and keeps it unique. Rows live for a day.
    """

    id = models.UUIDField(primary_key=True)
    body = models.CharField(max_length=64, db_collation="C")
    # Text rather than JSONField, which does not keep the order of keys.
    answer = models.TextField()
    created = models.DateTimeField()

    class Meta:
        # The oldest rows, for deletion.
        indexes = [models.Index(fields=["created"], name="report_answer_oldest")]

    def __str__(self) -> str:
        return time_words(self.created)


class ReachedLimit(models.Model):
    """A limit of a project that refused a report: since when, and the last refusal.

    `words` name the limited rows as in the refusal, `most` is the limit at the last refusal.
    """

    id = models.BigAutoField(primary_key=True)
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="reached_limits", verbose_name="project"
    )
    words = models.CharField(max_length=100)
    most = models.BigIntegerField()
    since = models.DateTimeField()
    refused = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="reached_limit_once", fields=["group", "words"])]

    def __str__(self) -> str:
        return f"{self.most} {self.words}"


class StoredDay(models.Model):
    """About how many bytes a project stored on a UTC day, by kind (`automation.reports.growth`)."""

    id = models.BigAutoField(primary_key=True)
    # Not indexed: the index of the constraint starts with the project.
    group = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="stored_days",
        verbose_name="project",
        db_index=False,
    )
    day = models.DateField()
    octets = models.BigIntegerField(help_text="Of reports, turns and publications.")
    alert_octets = models.BigIntegerField(default=0, db_default=0)
    message_octets = models.BigIntegerField(default=0, db_default=0)
    change_octets = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(name="stored_day_once", fields=["group", "day"])]

    def __str__(self) -> str:
        return f"{self.octets} bytes on {self.day}"
