"""Alerts and incidents."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, Collate, Lower

from accesslist.models import Project
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.severities import SEVERITY_CHOICES
from automation.metrics import Metric
from events.types import Severity, severity_of
from events.wording import in_words, target_words
from opsapi.fields import IdField, OptionalIdField, PrimaryIdField

TARGET_NAME = Collate(
    Lower(Coalesce(KT("facts__hostname"), KT("facts__replicaSetName"), KT("facts__clusterName"))), "C"
)
"""The name of an alert's target in lower case; byte order, so that prefixes can use the index."""


class Alert(models.Model):
    """A condition that is or was met on a target.

    An alert refers to its configuration by ID only, because it outlives the configuration.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="alerts", verbose_name="project"
    )
    config_id = IdField()
    is_global = models.BooleanField(default=False, help_text="The alert belongs to a global configuration.")
    event_type = models.CharField("type", max_length=64)
    severity = models.CharField(
        max_length=8,
        choices=SEVERITY_CHOICES,
        null=True,
        help_text="That of the configuration when the alert began. Empty in rows of builds without "
        "severities: the severity of the event type.",
    )
    status = models.CharField(
        max_length=12, choices=[(alert_status.value, alert_status.value) for alert_status in AlertStatus]
    )
    target_key = models.TextField(db_collation="C")
    facts = models.JSONField(default=dict, help_text="The target, with the field names of the API.")
    incident_id = OptionalIdField(
        help_text="The incident of the alert, from its opening. It has the ID of the alert if the alert is "
        "notified separately."
    )
    metric_name = models.CharField(max_length=64, null=True)
    current_value = models.FloatField(null=True)
    tags = ArrayField(models.CharField(max_length=100), default=list)
    created = models.DateTimeField()
    updated = models.DateTimeField()
    opens = models.DateTimeField(help_text="When the shortest delay has passed.")
    late = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The alert began in a late report. It opens when no other report waits. If it has ended by "
        "then, it is deleted.",
    )
    over = models.DateTimeField(
        null=True,
        help_text="When the condition ended according to a late report. The alert closes unless a newer "
        "report shows the condition.",
    )
    resolved = models.DateTimeField(null=True)
    last_notified = models.DateTimeField(null=True)
    acknowledged_until = models.DateTimeField(null=True)
    acknowledgement_comment = models.CharField(max_length=500, null=True)
    acknowledging_username = models.CharField(max_length=254, null=True)

    class Meta:
        constraints = [
            # One alert per configuration and target, even if workers race. A global configuration sees
            # targets with the same name in several projects.
            models.UniqueConstraint(
                name="alert_one_active",
                fields=["config_id", "group", "target_key"],
                condition=Q(status__in=[active.value for active in ACTIVE]),
            ),
        ]
        indexes = [
            # The alerts of a project, newest first, also by state.
            models.Index(fields=["group", "-created", "-id"], name="alert_group_newest"),
            models.Index(fields=["group", "status", "-created", "-id"], name="alert_group_status"),
            # Alerts of global configurations in the installation, newest first.
            models.Index(fields=["-created", "-id"], name="alert_global_newest", condition=Q(is_global=True)),
            # Ended alerts, for retention.
            models.Index(fields=["resolved"], name="alert_ended", condition=Q(resolved__isnull=False)),
            # The active alerts on the targets of a signal.
            models.Index(
                fields=["group", "target_key"],
                name="alert_active_target",
                condition=Q(status__in=[active.value for active in ACTIVE]),
            ),
            # The active alerts by age, counted from the index: the start page of the console.
            models.Index(
                fields=["created", "id"],
                name="alert_active_oldest",
                include=["group", "acknowledged_until"],
                condition=Q(status__in=[active.value for active in ACTIVE]),
            ),
            # All alerts of the installation, newest first, also by state and by type.
            models.Index(fields=["-created", "-id"], name="alert_newest"),
            models.Index(fields=["status", "-created", "-id"], name="alert_status_newest"),
            models.Index(fields=["event_type", "-created", "-id"], name="alert_type_newest"),
            # The alerts of a configuration, and its noise, which is counted from the index.
            models.Index(
                fields=["config_id", "-created", "-id"],
                name="alert_config_noise",
                include=["status", "resolved", "opens", "acknowledged_until", "group", "target_key"],
            ),
            # Alerts by name of a host, replica set or cluster.
            models.Index(TARGET_NAME, name="alert_target_name"),
            # The alerts of an incident.
            models.Index(
                fields=["incident_id", "status"],
                name="alert_incident",
                condition=Q(incident_id__isnull=False),
            ),
            # The next alerts of each project to close because they are over according to late reports.
            models.Index(
                fields=["group", "updated"],
                name="alert_over",
                condition=Q(over__isnull=False, status__in=[active.value for active in ACTIVE]),
            ),
            # The next alerts to open of each project.
            models.Index(
                fields=["group", "opens"],
                name="alert_opens_next",
                condition=Q(status=AlertStatus.TRACKING.value),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.words}, {target_words(self.facts)}"

    @property
    def effective_severity(self) -> Severity:
        return severity_of(self.severity, self.event_type)

    @property
    def words(self) -> str:
        """The condition in words: `Outside metric threshold: Connections`."""
        metric = f": {Metric(self.metric_name).spec.words}" if self.metric_name else ""
        return in_words(self.event_type) + metric


class Incident(models.Model):
    """An outage: related alerts of a configuration in a project, whose messages are sent together.

    It ends with its last open alert. Its messages are notifications of `lead`, its first alert. Alerts and
    notifications refer to it by ID. `units` are the keys of what its alerts concern (`incidents.topology`).

    The incident of an alert whose configuration groups no alerts has the ID of the alert: receivers know it.
    """

    id = PrimaryIdField()
    group = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="incidents", verbose_name="project"
    )
    config_id = IdField()
    lead = models.ForeignKey(
        Alert, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    units = ArrayField(models.TextField(db_collation="C"), default=list)
    created = models.DateTimeField()
    grown = models.DateTimeField(help_text="When an alert last joined.")
    ended = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            # The incidents that an alert of a configuration can join, the oldest first.
            models.Index(
                fields=["config_id", "group", "created"], name="incident_open", condition=Q(ended=None)
            ),
            # Ended incidents, for retention.
            models.Index(fields=["ended"], name="incident_ended", condition=Q(ended__isnull=False)),
        ]

    def __str__(self) -> str:
        return self.id


GROUPED = ~Q(id=F("lead_id"))
"""The incidents that group alerts."""
