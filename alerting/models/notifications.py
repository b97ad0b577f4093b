"""Who was told of what: the log of notifications."""

from django.db import models
from django.db.models import Q

from accesslist.models import Project
from alerting.choices import NotificationStatus
from alerting.models.alerts import Alert
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi.fields import IdField, OptionalIdField, PrimaryIdField

LONGEST_RECIPIENT = 300
"""In characters; what is longer is cut off."""


class Notification(models.Model):
    """One message to one receiver: written before it is sent, its outcome after. The log of who was told.

    The id is the delivery id, the same on every attempt. A `lease_token` without an outcome means that
    it is being sent, or that a crash left open whether it was: it is then sent again.

    One for people (GROUP, USER, …) has no `channel` until it is due: it then gives way to one for each
    address they have at that time.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="notifications",
        verbose_name="project",
        help_text="None: a global configuration tells of what happened without a project.",
    )
    alert = models.ForeignKey(Alert, null=True, on_delete=models.CASCADE, related_name="notifications")
    event_id = OptionalIdField(help_text="What a notification told once is about.")
    setting_id = IdField()
    type_name = models.CharField("type", max_length=30)
    channel = models.CharField(
        max_length=30,
        null=True,
        choices=[(one.value, one.value) for one in ChannelType],
        help_text="How it goes out; none yet while it stands for people.",
    )
    kind = models.CharField(max_length=20, choices=[(one.value, one.value) for one in MessageKind])
    status = models.CharField(
        max_length=10,
        choices=[(one.value, one.value) for one in NotificationStatus],
        default=NotificationStatus.PENDING.value,
    )
    reason = models.CharField(max_length=300, null=True)
    recipient = models.CharField(max_length=LONGEST_RECIPIENT, default="")
    receiver = models.CharField(
        max_length=400,
        default="",
        db_collation="C",
        help_text="The key of what fails together; people have none.",
    )
    created = models.DateTimeField()
    due = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    first_attempt = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    delivered = models.DateTimeField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    silenced_by = OptionalIdField(help_text="The maintenance window that holds it back.")

    class Meta:
        indexes = [
            # The next ones to send.
            models.Index(
                fields=["due"], name="notification_due", condition=Q(status=NotificationStatus.PENDING.value)
            ),
            # How many each receiver has in hand.
            models.Index(
                fields=["receiver"],
                name="notification_in_hand",
                condition=Q(status=NotificationStatus.PENDING.value, lease_until__isnull=False),
            ),
            # Those a maintenance window holds back: once it is another they are looked at anew.
            models.Index(
                fields=["group"], name="notification_silenced", condition=Q(silenced_by__isnull=False)
            ),
            # Those that failed, or were tried and still wait, the latest first: the console's start page.
            models.Index(
                fields=["due"],
                name="notification_failing",
                condition=Q(status=NotificationStatus.FAILED.value)
                | Q(status=NotificationStatus.PENDING.value, attempts__gt=0),
            ),
            # Who was told of an alert.
            models.Index(fields=["alert", "setting_id"], name="notification_alert"),
            # Who was told of an event that opens nothing.
            models.Index(fields=["event_id"], name="notification_event", condition=Q(event_id__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                name="notification_one_end",
                fields=["alert", "setting_id", "kind", "channel", "recipient"],
                condition=Q(kind__in=[MessageKind.CLOSE.value, MessageKind.CANCEL.value]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.type_name} ({self.id})"


class NotificationAttempt(models.Model):
    """One try to deliver a notification, with its outcome: written when it ended.

    Where the receiver could not be reached the time would tell why (decisions 7): then `latency_ms` is None
    and `ended` is when it began.
    """

    id = models.BigAutoField(primary_key=True)
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="tries")
    number = models.PositiveIntegerField()
    ended = models.DateTimeField("time", help_text="When it ended; without a latency, when it began.")
    status = models.CharField(max_length=10, choices=[(one.value, one.value) for one in DeliveryStatus])
    reason = models.CharField(max_length=300, null=True)
    latency_ms = models.PositiveIntegerField("latency (ms)", null=True)

    class Meta:
        ordering = ["notification", "number"]

    def __str__(self) -> str:
        return f"{self.number} {self.status} ({self.notification_id})"
