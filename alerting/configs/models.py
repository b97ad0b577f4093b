"""Alert configurations, their notification settings, and marks of the set-up."""

from datetime import timedelta
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from accesslist.models import Project
from alerting.configs.choices import GROUP_WAIT_SEC, Grouping, SetupMarkName
from alerting.configs.rules import threshold_of
from alerting.configs.wording import config_title, named_condition
from alerting.severities import SEVERITY_CHOICES
from events.types import Severity, severity_of
from opsapi.fields import EncryptedField, IdField, PrimaryIdField

LONGEST_NAME, LONGEST_DESCRIPTION, LONGEST_RUNBOOK_URL = 100, 1000, 500
"""The most characters of texts of a configuration. Messages have room for them."""


class AlertConfig(models.Model):
    """An alert configuration: which events raise alerts, and who is notified. A project's own, or global.

    A global configuration has no project but a scope: all projects, narrowed to projects with one of `tags`
    if there are any, or the projects of `group_ids`.

    A deleted configuration keeps its row, hidden: receivers that were notified of its alerts are still
    notified of their end. The row is deleted after a month, when nothing refers to it
    (`configs.changes.deleted_configs_purge`).
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="alert_configs",
        verbose_name="project",
        help_text="Empty for a global configuration.",
    )
    for_all_groups = models.BooleanField(default=False)
    group_ids = ArrayField(IdField(), default=list)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    event_type = models.CharField("type", max_length=64)
    name = models.CharField(max_length=LONGEST_NAME, default="", db_default="")
    severity = models.CharField(
        max_length=8,
        choices=SEVERITY_CHOICES,
        null=True,
        help_text="Empty in rows of builds without severities: the severity of the event type.",
    )
    description = models.CharField(max_length=LONGEST_DESCRIPTION, default="", db_default="")
    runbook_url = models.CharField("runbook URL", max_length=LONGEST_RUNBOOK_URL, default="", db_default="")
    enabled = models.BooleanField(default=True)
    matchers = models.JSONField(default=list)
    metric_threshold = models.JSONField(null=True)
    threshold = models.JSONField(null=True)
    grouping = models.CharField(
        max_length=10,
        choices=[(grouping.value, grouping.value) for grouping in Grouping],
        default=Grouping.NONE.value,
        db_default=Grouping.NONE.value,
    )
    group_wait_sec = models.PositiveSmallIntegerField(
        default=GROUP_WAIT_SEC,
        db_default=GROUP_WAIT_SEC,
        help_text="The time in which a message about an incident waits for more alerts.",
    )
    created = models.DateTimeField()
    updated = models.DateTimeField()
    deleted = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "alert configuration"
        constraints = [
            models.CheckConstraint(
                name="config_scope",
                condition=Q(group=None) | Q(for_all_groups=False, group_ids=[], tags=[]),
            ),
        ]
        indexes = [
            # Configurations that a signal of a project can affect.
            models.Index(
                fields=["group", "event_type"],
                name="config_concerned",
                condition=Q(deleted=None, enabled=True),
            ),
            # Global configurations: for all projects, and for listed or tagged projects.
            models.Index(
                fields=["event_type"],
                name="config_everywhere",
                condition=Q(deleted=None, enabled=True, for_all_groups=True, tags=[]),
            ),
            GinIndex(
                fields=["group_ids", "tags"],
                name="config_of_some",
                fastupdate=False,
                condition=Q(deleted=None, enabled=True, group=None),
            ),
            # The configurations of a project in the order of creation.
            models.Index(
                fields=["group", "created", "id"], name="config_group_created", condition=Q(deleted=None)
            ),
            # Global configurations in the order of creation.
            models.Index(
                fields=["created", "id"], name="config_global_created", condition=Q(deleted=None, group=None)
            ),
        ]

    def __str__(self) -> str:
        return named_condition(self.name, self.condition)

    @property
    def condition(self) -> str:
        """The condition in a few words: `Used cache > 12 GB`."""
        return config_title(self.event_type, threshold_of(self.metric_threshold, self.threshold))

    @property
    def effective_severity(self) -> Severity:
        return severity_of(self.severity, self.event_type)


class KeptSettingManager(models.Manager["NotificationSetting"]):
    """Current notifications of configurations. Only deliveries see removed ones."""

    def get_queryset(self) -> models.QuerySet["NotificationSetting"]:
        """Excludes notifications that were removed from their configuration."""
        return super().get_queryset().filter(removed=False)


class NotificationSetting(models.Model):
    """A notification of a configuration: its recipients, delay and interval.

    `fields` is what answers show, with secrets redacted; `secrets` holds the secrets as encrypted JSON.

    A notification that was removed from its configuration keeps its row until the receivers that it notified
    of an alert are notified of the end.
    """

    id = PrimaryIdField()
    config = models.ForeignKey(AlertConfig, on_delete=models.CASCADE, related_name="settings")
    position = models.PositiveSmallIntegerField()
    type_name = models.CharField("type", max_length=30)
    delay_min = models.PositiveIntegerField(default=0)
    interval_min = models.PositiveIntegerField(null=True, help_text="Empty: notify once per change of state.")
    min_severity = models.CharField(
        "minimum severity",
        max_length=8,
        choices=SEVERITY_CHOICES,
        null=True,
        help_text="Empty: messages of all severities are sent.",
    )
    fields = models.JSONField(default=dict)
    secrets = EncryptedField(null=True)
    removed = models.BooleanField(default=False)

    objects = KeptSettingManager()
    with_removed: ClassVar[models.Manager["NotificationSetting"]] = models.Manager()

    class Meta:
        base_manager_name = "with_removed"
        ordering = ["config", "position"]
        indexes = [
            # Configurations that the worker must purge.
            models.Index(fields=["config"], name="setting_removed", condition=Q(removed=True)),
        ]

    def __str__(self) -> str:
        return f"{self.type_name} ({self.id})"

    @property
    def delay(self) -> timedelta:
        return timedelta(minutes=self.delay_min)

    @property
    def interval(self) -> timedelta | None:
        return None if self.interval_min is None else timedelta(minutes=self.interval_min)


class SetupMark(models.Model):
    """Something that was done or dismissed once, in a project or in the whole installation."""

    id = PrimaryIdField()
    name = models.CharField(max_length=32, choices=[(name.value, name.value) for name in SetupMarkName])
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="setup_marks",
        verbose_name="project",
        help_text="Empty for the installation.",
    )
    created = models.DateTimeField()
    username = models.CharField(max_length=254, help_text="The user, or the public key.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="setup_mark_once_per_project", fields=["group", "name"], condition=Q(group__isnull=False)
            ),
            models.UniqueConstraint(name="setup_mark_once", fields=["name"], condition=Q(group__isnull=True)),
        ]

    def __str__(self) -> str:
        return self.name
