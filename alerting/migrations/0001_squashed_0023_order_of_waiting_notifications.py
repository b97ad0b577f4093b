"""The tables of alerts, notifications and maintenance windows.

It creates in one step what the replaced migrations led to. A database that these migrations have created counts
as migrated.
"""

import datetime

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.fields.json
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.db.models.manager
from django.db import migrations, models

import opsapi.fields
import opsapi.ids


class Migration(migrations.Migration):
    replaces = [
        ("alerting", "0001_initial"),
        ("alerting", "0002_global_configs"),
        ("alerting", "0003_maintenance_windows"),
        ("alerting", "0004_notification_channels"),
        ("alerting", "0005_alert_once_per_project"),
        ("alerting", "0006_scope_indexes"),
        ("alerting", "0007_removed_notifications"),
        ("alerting", "0008_ended_alerts"),
        ("alerting", "0009_failing_receivers"),
        ("alerting", "0010_alert_active_target"),
        ("alerting", "0011_overview"),
        ("alerting", "0012_alert_search"),
        ("alerting", "0013_words_for_people"),
        ("alerting", "0014_notifications_without_project"),
        ("alerting", "0015_time_of_attempts"),
        ("alerting", "0016_destinations"),
        ("alerting", "0017_no_receivers"),
        ("alerting", "0018_evaluation_turns"),
        ("alerting", "0019_pauses"),
        ("alerting", "0020_channels_without_choices"),
        ("alerting", "0021_plain_words"),
        ("alerting", "0022_recurring_windows"),
        ("alerting", "0023_grouped_notifications"),
        ("alerting", "0024_alerts_of_incidents"),
        ("alerting", "0025_noise_from_the_index"),
        ("alerting", "0026_one_index_of_configs"),
        ("alerting", "0001_squashed_0026_one_index_of_configs"),
        ("alerting", "0002_titles_of_windows"),
        ("alerting", "0003_setup_marks"),
        ("alerting", "0004_stuck_loops"),
        ("alerting", "0005_progress_of_evaluation"),
        ("alerting", "0006_time_of_projects"),
        ("alerting", "0007_undecided_by_project"),
        ("alerting", "0008_clocks_of_workers"),
        ("alerting", "0009_no_index_of_undecided"),
        ("alerting", "0010_alerts_to_open_by_project"),
        ("alerting", "0011_no_index_of_alerts_to_open"),
        ("alerting", "0012_failing_loops"),
        ("alerting", "0013_leased"),
        ("alerting", "0014_merged_notifications"),
        ("alerting", "0015_late_alerts"),
        ("alerting", "0016_index_of_merged"),
        ("alerting", "0017_index_of_late_alerts"),
        ("alerting", "0018_messages_in_place"),
        ("alerting", "0019_pace_of_destinations"),
        ("alerting", "0001_squashed_0019_pace_of_destinations"),
        ("alerting", "0020_incidents_of_single_alerts"),
        ("alerting", "0021_incidents_of_opened_alerts"),
        ("alerting", "0022_fill_incidents"),
        ("alerting", "0023_order_of_waiting_notifications"),
    ]

    dependencies = [
        ("accesslist", "0001_squashed_0004_given_passwords"),
    ]

    operations = [
        # The order of notifications: the default of Notification.sequence.
        migrations.RunSQL(
            "CREATE SEQUENCE alerting_notification_sequence",
            "DROP SEQUENCE alerting_notification_sequence",
        ),
        migrations.CreateModel(
            name="WorkerHeartbeat",
            fields=[
                ("name", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("seen", models.DateTimeField()),
                (
                    "stuck_loop",
                    models.CharField(
                        db_default="",
                        default="",
                        help_text="The last stuck loop, for which the worker ended.",
                        max_length=20,
                    ),
                ),
                ("stuck", models.DateTimeField(help_text="When the worker ended because of this loop.", null=True)),
                (
                    "clock_ahead",
                    models.DurationField(
                        db_default=datetime.timedelta(0),
                        default=datetime.timedelta(0),
                        help_text="How far the clock of its machine is ahead of the database's.",
                    ),
                ),
                (
                    "failing_loop",
                    models.CharField(
                        db_default="",
                        default="",
                        help_text="The loop that had failed for the longest time when the worker was last seen.",
                        max_length=20,
                    ),
                ),
                (
                    "failing_since",
                    models.DateTimeField(help_text="When the steps of this loop began to fail.", null=True),
                ),
            ],
            options={
                "verbose_name": "worker",
            },
        ),
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("config_id", opsapi.fields.IdField(db_collation="C", max_length=24)),
                ("event_type", models.CharField(max_length=64, verbose_name="type")),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("TRACKING", "TRACKING"),
                            ("OPEN", "OPEN"),
                            ("CLOSED", "CLOSED"),
                            ("CANCELLED", "CANCELLED"),
                        ],
                        max_length=12,
                    ),
                ),
                ("target_key", models.TextField(db_collation="C")),
                (
                    "facts",
                    models.JSONField(default=dict, help_text="The target, with the field names of the API."),
                ),
                ("metric_name", models.CharField(max_length=64, null=True)),
                ("current_value", models.FloatField(null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), default=list, size=None
                    ),
                ),
                ("created", models.DateTimeField()),
                ("updated", models.DateTimeField()),
                ("opens", models.DateTimeField(help_text="When the shortest delay has passed.")),
                ("resolved", models.DateTimeField(null=True)),
                ("last_notified", models.DateTimeField(null=True)),
                ("acknowledged_until", models.DateTimeField(null=True)),
                ("acknowledgement_comment", models.CharField(max_length=500, null=True)),
                ("acknowledging_username", models.CharField(max_length=254, null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alerts",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "is_global",
                    models.BooleanField(
                        default=False, help_text="The alert belongs to a global configuration."
                    ),
                ),
                (
                    "incident_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The incident of the alert, from its opening. It has the ID of the alert if the "
                        "alert is notified separately.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "late",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The alert began in a late report. It opens when no other report waits. If it has "
                        "ended by then, it is deleted.",
                    ),
                ),
                (
                    "over",
                    models.DateTimeField(
                        help_text="When the condition ended according to a late report. The alert closes unless a "
                        "newer report shows the condition.",
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["group", "-created", "-id"], name="alert_group_newest"),
                    models.Index(fields=["group", "status", "-created", "-id"], name="alert_group_status"),
                    models.Index(
                        condition=models.Q(("status", "TRACKING")),
                        fields=["group", "opens"],
                        name="alert_opens_next",
                    ),
                    models.Index(
                        condition=models.Q(("is_global", True)),
                        fields=["-created", "-id"],
                        name="alert_global_newest",
                    ),
                    models.Index(
                        condition=models.Q(("resolved__isnull", False)),
                        fields=["resolved"],
                        name="alert_ended",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ["TRACKING", "OPEN"])),
                        fields=["group", "target_key"],
                        name="alert_active_target",
                    ),
                    models.Index(
                        condition=models.Q(("status__in", ["TRACKING", "OPEN"])),
                        fields=["created", "id"],
                        include=("group", "acknowledged_until"),
                        name="alert_active_oldest",
                    ),
                    models.Index(fields=["-created", "-id"], name="alert_newest"),
                    models.Index(fields=["status", "-created", "-id"], name="alert_status_newest"),
                    models.Index(fields=["event_type", "-created", "-id"], name="alert_type_newest"),
                    models.Index(
                        django.db.models.functions.comparison.Collate(
                            django.db.models.functions.text.Lower(
                                django.db.models.functions.comparison.Coalesce(
                                    django.db.models.fields.json.KeyTextTransform("hostname", "facts"),
                                    django.db.models.fields.json.KeyTextTransform("replicaSetName", "facts"),
                                    django.db.models.fields.json.KeyTextTransform("clusterName", "facts"),
                                )
                            ),
                            "C",
                        ),
                        name="alert_target_name",
                    ),
                    models.Index(
                        condition=models.Q(("incident_id__isnull", False)),
                        fields=["incident_id", "status"],
                        name="alert_incident",
                    ),
                    models.Index(
                        fields=["config_id", "-created", "-id"],
                        include=("status", "resolved", "opens", "acknowledged_until", "group", "target_key"),
                        name="alert_config_noise",
                    ),
                    models.Index(condition=models.Q(("over__isnull", False)), fields=["over"], name="alert_over"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["TRACKING", "OPEN"])),
                        fields=("config_id", "group", "target_key"),
                        name="alert_one_active",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AlertConfig",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("event_type", models.CharField(max_length=64, verbose_name="type")),
                ("enabled", models.BooleanField(default=True)),
                ("matchers", models.JSONField(default=list)),
                ("metric_threshold", models.JSONField(null=True)),
                ("threshold", models.JSONField(null=True)),
                ("created", models.DateTimeField()),
                ("updated", models.DateTimeField()),
                ("deleted", models.DateTimeField(null=True)),
                (
                    "group",
                    models.ForeignKey(
                        help_text="Empty for a global configuration.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alert_configs",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                ("for_all_groups", models.BooleanField(default=False)),
                (
                    "group_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=opsapi.fields.IdField(db_collation="C", max_length=24),
                        default=list,
                        size=None,
                    ),
                ),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), default=list, size=None
                    ),
                ),
                (
                    "group_wait_sec",
                    models.PositiveSmallIntegerField(
                        db_default=15,
                        default=15,
                        help_text="The time in which a message about an incident waits for more alerts.",
                    ),
                ),
                (
                    "grouping",
                    models.CharField(
                        choices=[("NONE", "NONE"), ("TOPOLOGY", "TOPOLOGY")],
                        db_default="NONE",
                        default="NONE",
                        max_length=10,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted", None), ("enabled", True)),
                        fields=["group", "event_type"],
                        name="config_concerned",
                    ),
                    models.Index(
                        condition=models.Q(("deleted", None)),
                        fields=["group", "created", "id"],
                        name="config_group_created",
                    ),
                    models.Index(
                        condition=models.Q(("deleted", None), ("group", None)),
                        fields=["created", "id"],
                        name="config_global_created",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("deleted", None), ("enabled", True), ("for_all_groups", True), ("tags", [])
                        ),
                        fields=["event_type"],
                        name="config_everywhere",
                    ),
                    django.contrib.postgres.indexes.GinIndex(
                        condition=models.Q(("deleted", None), ("enabled", True), ("group", None)),
                        fastupdate=False,
                        fields=["group_ids", "tags"],
                        name="config_of_some",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("group", None),
                            models.Q(("for_all_groups", False), ("group_ids", []), ("tags", [])),
                            _connector="OR",
                        ),
                        name="config_scope",
                    )
                ],
                "verbose_name": "alert configuration",
            },
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "event_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The event of a one-shot notification.",
                        max_length=24,
                        null=True,
                    ),
                ),
                ("setting_id", opsapi.fields.IdField(db_collation="C", max_length=24)),
                ("type_name", models.CharField(max_length=30, verbose_name="type")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("alert.open", "alert.open"),
                            ("alert.update", "alert.update"),
                            ("alert.acknowledge", "alert.acknowledge"),
                            ("alert.close", "alert.close"),
                            ("alert.cancel", "alert.cancel"),
                            ("alert.inform", "alert.inform"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("PENDING", "PENDING"),
                            ("DELIVERED", "DELIVERED"),
                            ("FAILED", "FAILED"),
                            ("DROPPED", "DROPPED"),
                        ],
                        default="PENDING",
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(max_length=300, null=True)),
                ("recipient", models.CharField(default="", max_length=300)),
                ("created", models.DateTimeField()),
                ("due", models.DateTimeField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("first_attempt", models.DateTimeField(null=True)),
                ("lease_token", models.UUIDField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("delivered", models.DateTimeField(null=True)),
                ("latency_ms", models.PositiveIntegerField(null=True)),
                (
                    "alert",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notifications",
                        to="alerting.alert",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        help_text="Empty for an event without a project, notified by a global configuration.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notifications",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        help_text="The channel. Empty until the addresses of the recipients are known.",
                        max_length=30,
                        null=True,
                    ),
                ),
                (
                    "silenced_by",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The maintenance window that mutes the notification.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "destination",
                    opsapi.fields.IdField(
                        db_collation="C",
                        default="",
                        help_text="The destination. Empty until the notification is due.",
                        max_length=24,
                    ),
                ),
                (
                    "perhaps_received",
                    models.BooleanField(
                        default=False,
                        help_text="The receiver may have got the message: it was sent and not clearly refused.",
                    ),
                ),
                (
                    "sequence",
                    models.BigIntegerField(
                        db_default=models.Func(
                            models.Value("alerting_notification_sequence"),
                            function="nextval",
                            output_field=models.BigIntegerField(),
                        ),
                        help_text="Order of creation.",
                    ),
                ),
                (
                    "subject",
                    models.TextField(db_collation="C", default="", help_text="The target of the alert."),
                ),
                (
                    "worker",
                    models.IntegerField(help_text="The worker that is sending the notification.", null=True),
                ),
                (
                    "incident_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The incident that the message is about, or that includes its alert. Empty for an "
                        "event, and for alerts that ended before every alert had an incident.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "part",
                    models.CharField(
                        help_text="The role of the notification in its incident.", max_length=10, null=True
                    ),
                ),
                (
                    "said_members",
                    models.PositiveIntegerField(
                        help_text="The number of open alerts that the message states.", null=True
                    ),
                ),
                (
                    "said_root",
                    models.CharField(help_text="The root that the message names.", max_length=500, null=True),
                ),
                (
                    "leased",
                    models.DateTimeField(
                        help_text="When a worker leased the notification. The lease can be prolonged.", null=True
                    ),
                ),
                (
                    "merged_into",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The notification that sent the same message to the same address.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "handle",
                    models.CharField(
                        help_text="The name of the message at the receiver, which later messages about the alert change. "
                        "Empty until it is known; null if its destination changes no messages.",
                        max_length=200,
                        null=True,
                    ),
                ),
                (
                    "in_place",
                    models.BooleanField(
                        db_default=False, default=False, help_text="It changed an earlier message about the alert."
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status", "PENDING")), fields=["due"], name="notification_due"
                    ),
                    models.Index(fields=["alert", "setting_id"], name="notification_alert"),
                    models.Index(
                        condition=models.Q(("silenced_by__isnull", False)),
                        fields=["group"],
                        name="notification_silenced",
                    ),
                    models.Index(
                        condition=models.Q(("event_id__isnull", False)),
                        fields=["event_id"],
                        name="notification_event",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("status", "FAILED"),
                            models.Q(("attempts__gt", 0), ("status", "PENDING")),
                            _connector="OR",
                        ),
                        fields=["due"],
                        name="notification_failing",
                    ),
                    models.Index(
                        condition=models.Q(("destination", ""), ("lease_token", None), ("status", "PENDING")),
                        fields=["group", "due"],
                        name="notification_undecided_next",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("destination__gt", ""), ("lease_token", None), ("status", "PENDING")
                        ),
                        fields=["destination", "due", "sequence"],
                        name="notification_claimed_next",
                    ),
                    models.Index(
                        condition=models.Q(("destination__gt", ""), ("status", "PENDING")),
                        fields=["destination", "subject", "sequence"],
                        name="notification_order",
                    ),
                    models.Index(
                        condition=models.Q(("lease_token__isnull", False), ("status", "PENDING")),
                        fields=["destination"],
                        name="notification_in_hand",
                    ),
                    models.Index(fields=["-created", "-sequence"], name="notification_newest"),
                    models.Index(
                        condition=models.Q(("merged_into__isnull", False)),
                        fields=["merged_into"],
                        name="notification_merged",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationSetting",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("type_name", models.CharField(max_length=30, verbose_name="type")),
                ("delay_min", models.PositiveIntegerField(default=0)),
                (
                    "interval_min",
                    models.PositiveIntegerField(
                        help_text="Empty: notify once per change of state.", null=True
                    ),
                ),
                ("fields", models.JSONField(default=dict)),
                ("secrets", opsapi.fields.EncryptedField(null=True)),
                (
                    "config",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="settings",
                        to="alerting.alertconfig",
                    ),
                ),
                ("removed", models.BooleanField(default=False)),
            ],
            options={
                "ordering": ["config", "position"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("removed", True)), fields=["config"], name="setting_removed"
                    )
                ],
                "base_manager_name": "with_removed",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("with_removed", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="MaintenanceWindow",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "alert_types",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[
                                ("AGENT", "Agent"),
                                ("AUTOMATION_CONFIG", "Automation configuration"),
                                ("BACKUP", "Backup"),
                                ("BI_CONNECTOR", "BI connector"),
                                ("CLUSTER", "Cluster"),
                                ("DATA_EXPLORER", "Data explorer"),
                                ("HOST", "Host"),
                                ("ORGANIZATION", "Organization"),
                                ("GROUP", "Project"),
                                ("REPLICA_SET", "Replica set"),
                                ("TEAM", "Team"),
                                ("USER", "User"),
                            ],
                            max_length=30,
                        ),
                        size=None,
                    ),
                ),
                (
                    "start",
                    models.DateTimeField(
                        help_text="Notifications are muted from this time, the start of the first occurrence if "
                        "it repeats."
                    ),
                ),
                (
                    "end",
                    models.DateTimeField(
                        help_text="Notifications are sent again from this time, the end of the first occurrence "
                        "if it repeats."
                    ),
                ),
                ("description", models.CharField(max_length=1000, null=True)),
                ("created", models.DateTimeField()),
                ("updated", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance_windows",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "last_end",
                    models.DateTimeField(
                        help_text="End of the last occurrence; null if the window occurs once or never ends.",
                        null=True,
                    ),
                ),
                (
                    "matchers",
                    models.JSONField(
                        help_text="As in the API; null if the window mutes all targets.", null=True
                    ),
                ),
                (
                    "recurrence",
                    models.JSONField(help_text="As in the API; null if the window occurs once.", null=True),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["group", "end"], name="window_group_end"),
                    models.Index(fields=["end"], name="window_end"),
                    models.Index(
                        condition=models.Q(("recurrence__isnull", False)),
                        fields=["group"],
                        name="window_recurring",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("end__gt", models.F("start"))), name="window_ends_later"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationAttempt",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                (
                    "ended",
                    models.DateTimeField(
                        help_text="End of the attempt, or its start if there is no latency.",
                        verbose_name="time",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("delivered", "delivered"), ("retry", "retry"), ("failed", "failed")],
                        max_length=10,
                    ),
                ),
                ("reason", models.CharField(max_length=300, null=True)),
                ("latency_ms", models.PositiveIntegerField(null=True, verbose_name="latency (ms)")),
                (
                    "notification",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tries",
                        to="alerting.notification",
                    ),
                ),
            ],
            options={
                "ordering": ["notification", "number"],
            },
        ),
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    opsapi.fields.IdField(db_collation="C", max_length=24, primary_key=True, serialize=False),
                ),
                (
                    "group",
                    models.ForeignKey(
                        help_text="Empty for events without a project.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="destinations",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "is_global",
                    models.BooleanField(default=False, help_text="A destination of a global configuration."),
                ),
                ("channel", models.CharField(max_length=30)),
                (
                    "recipient",
                    models.CharField(default="", help_text="Redacted if it is a secret.", max_length=300),
                ),
                (
                    "host",
                    models.CharField(
                        db_collation="C", default="", help_text="Scheme, name and port.", max_length=300
                    ),
                ),
                ("config", opsapi.fields.EncryptedField(null=True)),
                (
                    "failures",
                    models.PositiveIntegerField(default=0, help_text="Consecutive failed attempts."),
                ),
                ("failing_since", models.DateTimeField(null=True)),
                ("last_error", models.CharField(max_length=300, null=True)),
                ("answered", models.DateTimeField(help_text="When it last accepted a message.", null=True)),
                ("tried", models.DateTimeField(help_text="Start of the last attempt.", null=True)),
                (
                    "next_try",
                    models.DateTimeField(help_text="No attempt starts before this time.", null=True),
                ),
                (
                    "pace_ms",
                    models.PositiveIntegerField(default=0, help_text="Minimum time between two attempts."),
                ),
                ("updated", models.DateTimeField()),
                (
                    "paused_until",
                    models.DateTimeField(
                        help_text="The receiver asked for no attempts before this time.", null=True
                    ),
                ),
                (
                    "refused_pace_ms",
                    models.PositiveIntegerField(
                        db_default=0, default=0, help_text="The pace that the receiver last refused."
                    ),
                ),
                ("slowed", models.DateTimeField(help_text="When the pace was last slowed down.", null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("failing_since__isnull", False)),
                        fields=["-failing_since"],
                        name="destination_failing",
                    ),
                    models.Index(fields=["updated"], name="destination_updated"),
                    models.Index(fields=["host"], name="destination_host"),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnreachableHost",
            fields=[
                (
                    "host",
                    models.CharField(db_collation="C", max_length=300, primary_key=True, serialize=False),
                ),
                ("failures", models.PositiveIntegerField(help_text="Consecutive failed connections.")),
                ("since", models.DateTimeField()),
                ("next_try", models.DateTimeField(help_text="No connection is tried before this time.")),
            ],
        ),
        migrations.CreateModel(
            name="EvaluationTurn",
            fields=[
                (
                    "group_id",
                    models.CharField(db_collation="C", max_length=24, primary_key=True, serialize=False),
                ),
                ("served", models.DateTimeField()),
                (
                    "progress",
                    models.JSONField(
                        help_text="Where the next turn continues; null if the last turn ended between signals.", null=True
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Incident",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("config_id", opsapi.fields.IdField(db_collation="C", max_length=24)),
                (
                    "lead",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="alerting.alert",
                    ),
                ),
                (
                    "units",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(db_collation="C"), default=list, size=None
                    ),
                ),
                ("created", models.DateTimeField()),
                ("grown", models.DateTimeField(help_text="When an alert last joined.")),
                ("ended", models.DateTimeField(null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="incidents",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended", None)),
                        fields=["config_id", "group", "created"],
                        name="incident_open",
                    ),
                    models.Index(
                        condition=models.Q(("ended__isnull", False)), fields=["ended"], name="incident_ended"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SetupMark",
            fields=[
                (
                    "id",
                    opsapi.fields.PrimaryIdField(
                        db_collation="C",
                        default=opsapi.ids.new_id,
                        editable=False,
                        max_length=24,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        choices=[
                            ("CHANNEL_TESTED", "CHANNEL_TESTED"),
                            ("HOST_DOWN_NOTICE_DISMISSED", "HOST_DOWN_NOTICE_DISMISSED"),
                            ("CHECKLIST_DISMISSED", "CHECKLIST_DISMISSED"),
                        ],
                        max_length=32,
                    ),
                ),
                ("created", models.DateTimeField()),
                ("username", models.CharField(help_text="The user, or the public key.", max_length=254)),
                (
                    "group",
                    models.ForeignKey(
                        help_text="Empty for the installation.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="setup_marks",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("group__isnull", False)),
                        fields=("group", "name"),
                        name="setup_mark_once_per_project",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("group__isnull", True)),
                        fields=("name",),
                        name="setup_mark_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProjectUsage",
            fields=[
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="usage",
                        serialize=False,
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                ("minute", models.BigIntegerField(help_text="Minutes since 1970.")),
                ("seconds", models.FloatField(help_text="Seconds in this minute.")),
                ("seconds_before", models.FloatField(help_text="Seconds in the minute before.")),
                (
                    "exceeded",
                    models.BigIntegerField(
                        help_text="The last minute in which the project exceeded its share.", null=True
                    ),
                ),
                (
                    "config_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The alert configuration that took most of the turn in which the project "
                        "exceeded its share.",
                        max_length=24,
                        null=True,
                    ),
                ),
                (
                    "window_id",
                    opsapi.fields.OptionalIdField(
                        db_collation="C",
                        help_text="The maintenance window that took most of the step in which the project "
                        "exceeded its share.",
                        max_length=24,
                        null=True,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("exceeded__isnull", False)),
                        fields=["exceeded"],
                        name="usage_exceeded",
                    )
                ],
            },
        ),
    ]
