"""Notifications and their attempts, the heartbeats of workers, and the turns and usage of projects."""

from datetime import timedelta

from django.db import models
from django.db.models import Func, Q, Value

from accesslist.models import Project
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.engine.choices import KIND_WORDS, IncidentPart, NotificationStatus
from alerting.incidents.models import Alert
from alerting.reasons import NO_RECIPIENTS
from integrations.choices import DeliveryStatus, MessageKind
from opsapi.fields import IdField, OptionalIdField, PrimaryIdField

_NEXT = Func(
    Value("alerting_notification_sequence"), function="nextval", output_field=models.BigIntegerField()
)
LONGEST_RECIPIENT = 300
"""Maximum characters; longer texts are cut."""


LONGEST_ROOT = 500
LONGEST_HANDLE = 200


WITHOUT_RECIPIENTS = Q(status=NotificationStatus.DROPPED.value, reason__startswith=NO_RECIPIENTS)
"""Notifications without recipients."""


class Notification(models.Model):
    """One message to one receiver: written before it is sent, its outcome after. The rows are the log.

    The id is the delivery id. It is derived from the content and the recipient
    (`engine.schedule`), so it is the same on every attempt, and when a signal is evaluated again
    after a crash or a restored backup.

    `destination` is empty until the notification is due. A notification for people (GROUP, USER, …) has no
    `channel` either, and is replaced by one for each of their addresses at that time. Notifications for one
    destination and `subject` are sent one after the other, in the order of `sequence`.

    If several notifications of an alert have the same destination, only one of them sends each message. The
    others are DROPPED, and their `merged_into` is the notification that sent it (`engine/rules.py`).

    A message about alerts has their incident and its first alert (docs/grouping.md).

    A `lease_token` means that a worker has leased it. `perhaps_received` is set before anything is sent, and
    removed only if the receiver certainly did not get it: a crash leaves it set.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project,
        null=True,
        on_delete=models.CASCADE,
        related_name="notifications",
        verbose_name="project",
        help_text="Empty for an event without a project, notified by a global configuration.",
    )
    alert = models.ForeignKey(Alert, null=True, on_delete=models.CASCADE, related_name="notifications")
    event_id = OptionalIdField(help_text="The event of a one-shot notification.")
    incident_id = OptionalIdField(
        help_text="The incident that the message is about, or that includes its alert. Empty for an event, "
        "and for alerts that ended before every alert had an incident."
    )
    part = models.CharField(
        max_length=10, null=True, help_text="The role of the notification in its incident."
    )
    setting_id = IdField()
    type_name = models.CharField("type", max_length=30)
    channel = models.CharField(
        max_length=30,
        null=True,
        help_text="The channel. Empty until the addresses of the recipients are known.",
    )
    kind = models.CharField(
        max_length=20, choices=[(message_kind.value, message_kind.value) for message_kind in MessageKind]
    )
    status = models.CharField(
        max_length=10,
        choices=[
            (notification_status.value, notification_status.value)
            for notification_status in NotificationStatus
        ],
        default=NotificationStatus.PENDING.value,
    )
    reason = models.CharField(max_length=300, null=True)
    recipient = models.CharField(max_length=LONGEST_RECIPIENT, default="")
    destination = IdField(default="", help_text="The destination. Empty until the notification is due.")
    subject = models.TextField(default="", db_collation="C", help_text="The target of the alert.")
    sequence = models.BigIntegerField(db_default=_NEXT, help_text="Order of creation.")
    created = models.DateTimeField()
    due = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    first_attempt = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    leased = models.DateTimeField(
        null=True, help_text="When a worker leased the notification. The lease can be prolonged."
    )
    worker = models.IntegerField(null=True, help_text="The worker that is sending the notification.")
    perhaps_received = models.BooleanField(
        default=False, help_text="The receiver may have got the message: it was sent and not clearly refused."
    )
    said_members = models.PositiveIntegerField(
        null=True, help_text="The number of open alerts that the message states."
    )
    said_root = models.CharField(
        max_length=LONGEST_ROOT, null=True, help_text="The root that the message names."
    )
    delivered = models.DateTimeField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    silenced_by = OptionalIdField(help_text="The maintenance window that mutes the notification.")
    merged_into = OptionalIdField(
        help_text="The notification that sent the same message to the same address."
    )
    handle = models.CharField(
        max_length=LONGEST_HANDLE,
        null=True,
        help_text="The name of the message at the receiver, which later messages about the alert change. "
        "Empty until it is known; null if its destination changes no messages.",
    )
    in_place = models.BooleanField(
        default=False, db_default=False, help_text="It changed an earlier message about the alert."
    )

    class Meta:
        indexes = [
            # The next notifications to send.
            models.Index(
                fields=["due"], name="notification_due", condition=Q(status=NotificationStatus.PENDING.value)
            ),
            # The next notifications without a destination, by project.
            models.Index(
                fields=["group", "due"],
                name="notification_undecided_next",
                condition=Q(status=NotificationStatus.PENDING.value, destination="", lease_token=None),
            ),
            # Notifications that wait for each destination, the first of each subject, and running deliveries.
            models.Index(
                fields=["destination", "due", "sequence"],
                name="notification_claimed_next",
                condition=Q(status=NotificationStatus.PENDING.value, destination__gt="", lease_token=None),
            ),
            models.Index(
                fields=["destination", "subject", "sequence"],
                name="notification_order",
                condition=Q(status=NotificationStatus.PENDING.value, destination__gt=""),
            ),
            models.Index(
                fields=["destination"],
                name="notification_in_hand",
                condition=Q(status=NotificationStatus.PENDING.value, lease_token__isnull=False),
            ),
            # Newest first, for the console, and the notifications of the last hour.
            models.Index(fields=["-created", "-sequence"], name="notification_newest"),
            # Notifications muted by a maintenance window: after a change of the window they are checked
            # again.
            models.Index(
                fields=["group"], name="notification_silenced", condition=Q(silenced_by__isnull=False)
            ),
            # Failed and retrying notifications, and notifications without recipients, the latest first, for
            # the start page of the console.
            models.Index(
                fields=["due"],
                name="notification_failing",
                condition=Q(status=NotificationStatus.FAILED.value)
                | Q(status=NotificationStatus.PENDING.value, attempts__gt=0)
                | WITHOUT_RECIPIENTS,
            ),
            # Notifications of an alert.
            models.Index(fields=["alert", "setting_id"], name="notification_alert"),
            # Notifications that were merged into a notification.
            models.Index(
                fields=["merged_into"], name="notification_merged", condition=Q(merged_into__isnull=False)
            ),
            # Notifications of an event that opens no alert.
            models.Index(fields=["event_id"], name="notification_event", condition=Q(event_id__isnull=False)),
            # Whether a setting has notifications of events.
            models.Index(
                fields=["setting_id"], name="notification_event_setting", condition=Q(event_id__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        receiver = self.recipient or NOTIFICATION_TYPES[self.type_name].label
        return f"“{KIND_WORDS[MessageKind(self.kind)]}” to {receiver}"

    @property
    def is_grouped(self) -> bool:
        """Whether its incident groups alerts. The incident of a single alert has the ID of the alert."""
        return self.incident_id not in {None, self.alert_id}

    @property
    def is_change(self) -> bool:
        """Whether it is sent only if its incident has an important change since the last message."""
        return self.part == IncidentPart.CHANGE.value

    @property
    def is_reminder(self) -> bool:
        """Whether it repeats an earlier message, as `REMINDERS` says in statements."""
        return self.kind == MessageKind.UPDATE.value and self.part is None


REMINDERS = Q(kind=MessageKind.UPDATE.value, part=None)
"""Notifications that repeat an earlier message."""
UNDECIDED_CHANGES = Q(
    part__isnull=False, part=IncidentPart.CHANGE.value, status=NotificationStatus.PENDING.value
)
"""Notifications that are sent only if their incident has an important change."""


class NotificationAttempt(models.Model):
    """An attempt to deliver a notification, written when it has ended.

    If the receiver could not be reached, the time would reveal the reason: then `latency_ms` is None and
    `ended` is the start.
    """

    id = models.BigAutoField(primary_key=True)
    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="tries")
    number = models.PositiveIntegerField()
    ended = models.DateTimeField("time", help_text="End of the attempt, or its start if there is no latency.")
    status = models.CharField(
        max_length=10,
        choices=[(delivery_status.value, delivery_status.value) for delivery_status in DeliveryStatus],
    )
    reason = models.CharField(max_length=300, null=True)
    latency_ms = models.PositiveIntegerField("latency (ms)", null=True)

    class Meta:
        ordering = ["notification", "number"]

    def __str__(self) -> str:
        return f"{self.number} {self.status} ({self.notification_id})"


class WorkerHeartbeat(models.Model):
    """When a worker was last seen. The installation is ready if a worker was seen within the last minute."""

    name = models.CharField(max_length=200, primary_key=True)
    seen = models.DateTimeField()
    stuck_loop = models.CharField(
        max_length=20,
        default="",
        db_default="",
        help_text="The last stuck loop, for which the worker ended.",
    )
    failing_loop = models.CharField(
        max_length=20,
        default="",
        db_default="",
        help_text="The loop that had failed for the longest time when the worker was last seen.",
    )
    failing_since = models.DateTimeField(null=True, help_text="When the steps of this loop began to fail.")
    clock_ahead = models.DurationField(
        default=timedelta(0),
        db_default=timedelta(0),
        help_text="How far the clock of its machine is ahead of the database's.",
    )
    stuck = models.DateTimeField(null=True, help_text="When the worker ended because of this loop.")

    class Meta:
        verbose_name = "worker"

    def __str__(self) -> str:
        return self.name


class EvaluationTurn(models.Model):
    """When a project's signals were last evaluated: the project that waited longest is next.

    One row for each project, and one, with an empty `group_id`, for what happened without a project.
    """

    group_id = models.CharField(max_length=24, primary_key=True, db_collation="C")
    served = models.DateTimeField()
    progress = models.JSONField(
        null=True, help_text="Where the next turn continues; null if the last turn ended between signals."
    )

    def __str__(self) -> str:
        return self.group_id


class ProjectUsage(models.Model):
    """The seconds of workers' time that a project used in a minute and in the minute before.

    Evaluation takes the project first that used least (`engine.usage_rules`). `exceeded` is the last minute
    in which the project exceeded its share, and `config_id` or `window_id` took most of the turn or step in
    which it did.
    """

    group = models.OneToOneField(
        Project, on_delete=models.CASCADE, primary_key=True, related_name="usage", verbose_name="project"
    )
    minute = models.BigIntegerField(help_text="Minutes since 1970.")
    seconds = models.FloatField(help_text="Seconds in this minute.")
    seconds_before = models.FloatField(help_text="Seconds in the minute before.")
    exceeded = models.BigIntegerField(
        null=True, help_text="The last minute in which the project exceeded its share."
    )
    config_id = OptionalIdField(
        help_text="The alert configuration that took most of the turn in which"
        " the project exceeded its share."
    )
    window_id = OptionalIdField(
        help_text="The maintenance window that took most of the step in which the project exceeded its share."
    )

    class Meta:
        indexes = [
            # The projects that have exceeded their share.
            models.Index(
                fields=["exceeded"], name="usage_exceeded", condition=models.Q(exceeded__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return self.group_id
