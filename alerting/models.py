"""Alert configurations, alerts, and who was told of them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accesslist.models import Project
from alerting.choices import ACTIVE, AlertStatus, ConfigNotificationType, NotificationStatus
from integrations.choices import MessageKind
from opsapi.fields import IdField, OptionalIdField, PrimaryIdField, SealedField


class AlertConfig(models.Model):
    """Which events of a project raise alerts, and who is told (contract 2.5).

    A deleted one keeps its row, without being shown: those who were told of its alerts are still
    to be told that they are over.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="alert_configs")
    event_type = models.CharField(max_length=64)
    enabled = models.BooleanField(default=True)
    matchers = models.JSONField(default=list)
    metric_threshold = models.JSONField(null=True)
    threshold = models.JSONField(null=True)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    deleted = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # Those a signal of a project can concern.
            models.Index(
                fields=["group", "event_type"],
                name="config_concerned",
                condition=Q(deleted=None, enabled=True),
            ),
            # A project's configurations, in the order they were made.
            models.Index(
                fields=["group", "created", "id"], name="config_group_created", condition=Q(deleted=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} ({self.id})"


class NotificationSetting(models.Model):
    """One of a configuration's notifications: whom to tell, how, how often (contract 2.4).

    `fields` is what answers show, secrets redacted; `secrets` holds these in full, sealed JSON.
    """

    id = PrimaryIdField()
    config = models.ForeignKey(AlertConfig, on_delete=models.CASCADE, related_name="settings")
    position = models.PositiveSmallIntegerField()
    type_name = models.CharField(
        max_length=30, choices=[(one.value, one.value) for one in ConfigNotificationType]
    )
    delay_min = models.PositiveIntegerField(default=0)
    interval_min = models.PositiveIntegerField(null=True, help_text="None: told once per change of state.")
    fields = models.JSONField(default=dict)
    secrets = SealedField(null=True)

    class Meta:
        ordering = ["config", "position"]

    def __str__(self) -> str:
        return f"{self.type_name} ({self.id})"


class Alert(models.Model):
    """A condition that holds, or held, on one target (contract 2.6).

    The configuration is named by its id alone: an alert outlives it.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="alerts")
    config_id = IdField()
    event_type = models.CharField(max_length=64)
    status = models.CharField(max_length=12, choices=[(one.value, one.value) for one in AlertStatus])
    target_key = models.TextField(db_collation="C")
    facts = models.JSONField(default=dict, help_text="What it is about, under the wire names.")
    metric_name = models.CharField(max_length=64, null=True)
    current_value = models.FloatField(null=True)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    opens = models.DateTimeField(help_text="When the smallest delay has passed.")
    resolved = models.DateTimeField(null=True)
    last_notified = models.DateTimeField(null=True)
    acknowledged_until = models.DateTimeField(null=True)
    acknowledgement_comment = models.CharField(max_length=500, null=True)
    acknowledging_username = models.CharField(max_length=254, null=True)

    class Meta:
        constraints = [
            # One alert per configuration and target, however many workers race (decisions 6).
            models.UniqueConstraint(
                name="alert_one_active",
                fields=["config_id", "target_key"],
                condition=Q(status__in=[one.value for one in ACTIVE]),
            ),
        ]
        indexes = [
            # A project's alerts, newest first; and those in one state.
            models.Index(fields=["group", "-created", "-id"], name="alert_group_newest"),
            models.Index(fields=["group", "status", "-created", "-id"], name="alert_group_status"),
            # The next alerts whose delay passes.
            models.Index(
                fields=["opens"], name="alert_opens", condition=Q(status=AlertStatus.TRACKING.value)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.status} ({self.id})"


class Notification(models.Model):
    """One message to one receiver: written before it is sent, its outcome after. The log of who was told.

    The id is the delivery id, the same on every attempt. A `lease_token` without an outcome means that
    it is being sent, or that a crash left open whether it was: it is then sent again.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notifications")
    alert = models.ForeignKey(Alert, null=True, on_delete=models.CASCADE, related_name="notifications")
    event_id = OptionalIdField(help_text="What a notification told once is about.")
    setting_id = IdField()
    type_name = models.CharField(max_length=30)
    kind = models.CharField(max_length=20, choices=[(one.value, one.value) for one in MessageKind])
    status = models.CharField(
        max_length=10,
        choices=[(one.value, one.value) for one in NotificationStatus],
        default=NotificationStatus.PENDING.value,
    )
    reason = models.CharField(max_length=300, null=True)
    recipient = models.CharField(max_length=300, default="")
    created = models.DateTimeField()
    due = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    first_attempt = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    delivered = models.DateTimeField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [
            # The next ones to send.
            models.Index(
                fields=["due"], name="notification_due", condition=Q(status=NotificationStatus.PENDING.value)
            ),
            # Who was told of an alert.
            models.Index(fields=["alert", "setting_id"], name="notification_alert"),
        ]
        constraints = [
            models.UniqueConstraint(
                name="notification_one_end",
                fields=["alert", "setting_id", "kind"],
                condition=Q(kind__in=[MessageKind.CLOSE.value, MessageKind.CANCEL.value]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.type_name} ({self.id})"


class WorkerHeartbeat(models.Model):
    """When a worker was last seen: readiness asks for one within the last minute."""

    name = models.CharField(max_length=200, primary_key=True)
    seen = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
