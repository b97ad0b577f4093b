"""The tables of hosts, agents, measurements and automation configurations.

It creates in one step what the replaced migrations led to. A database that these migrations have created counts
as migrated.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.functions.text
import django.db.models.manager
from django.db import migrations, models

import opsapi.fields
import opsapi.ids

# Room in the pages, so that the updates of reports touch no index. Measured with 500 hosts and 30 reports: 27 %
# of the updates were HOT with full pages, 93 % with a fillfactor of 70, and 97 % with 50, which leaves room for a
# complete report.
_ROOMY = ("automation_host", "automation_agent")
_READINGS = [
    "CREATE SEQUENCE automation_reading_report AS smallint MINVALUE 0 CYCLE",
    """
    CREATE TABLE automation_reading (
        source_id integer NOT NULL,
        report smallint NOT NULL,
        age smallint NOT NULL,
        reported timestamp with time zone NOT NULL,
        numbers double precision[] NOT NULL
    ) PARTITION BY RANGE (reported)
    """,
    "CREATE INDEX reading_newest ON automation_reading (source_id, reported)",
    # For the first reports; the platform creates the other partitions.
    """
    DO $$ BEGIN
        FOR ahead IN -1..3 LOOP
            EXECUTE format(
                'CREATE TABLE automation_reading_%s PARTITION OF automation_reading FOR VALUES FROM (%L) TO (%L)',
                to_char((now() AT TIME ZONE 'UTC')::date + ahead, 'YYYYMMDD'),
                ((now() AT TIME ZONE 'UTC')::date + ahead)::timestamp AT TIME ZONE 'UTC',
                ((now() AT TIME ZONE 'UTC')::date + ahead + 1)::timestamp AT TIME ZONE 'UTC'
            );
        END LOOP;
    END $$
    """,
]
_NO_READINGS = ["DROP TABLE automation_reading", "DROP SEQUENCE automation_reading_report"]
# The clocks of heartbeat timeouts cannot start in the future. A trigger compares with the clock of the database:
# a CHECK constraint would be checked while a backup is restored, on a machine whose clock may be behind. Triggers
# are restored after the rows.
_FUNCTION = """
CREATE FUNCTION automation_clocks_not_ahead() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.counting_since > clock_timestamp() + interval '1 minute' THEN
        RAISE EXCEPTION 'the clocks of heartbeat timeouts cannot start in the future: %', NEW.counting_since
              USING ERRCODE = 'check_violation', CONSTRAINT = 'fleet_watch_not_ahead';
    END IF;
    RETURN NEW;
END $$
"""
_TRIGGER = """
CREATE TRIGGER fleet_watch_not_ahead BEFORE INSERT OR UPDATE OF counting_since ON automation_fleetwatch
FOR EACH ROW EXECUTE FUNCTION automation_clocks_not_ahead()
"""


class Migration(migrations.Migration):
    replaces = [
        ("automation", "0001_initial"),
        ("automation", "0002_clusters"),
        ("automation", "0003_deleted_hosts"),
        ("automation", "0004_measurement_retention"),
        ("automation", "0005_process_statuses"),
        ("automation", "0006_room_for_heartbeats"),
        ("automation", "0007_silence"),
        ("automation", "0008_replica_sets"),
        ("automation", "0009_versions_behind"),
        ("automation", "0010_automation_revisions"),
        ("automation", "0011_fill_replica_sets"),
        ("automation", "0012_overview"),
        ("automation", "0013_words_for_people"),
        ("automation", "0014_redact_old_diffs"),
        ("automation", "0015_report_answers"),
        ("automation", "0016_masked_documents"),
        ("automation", "0017_readings"),
        ("automation", "0018_shared_hosts"),
        ("automation", "0019_plain_words"),
        ("automation", "0020_host_labels"),
        ("automation", "0021_hosts_of_shards_and_agents"),
        ("automation", "0022_hosts_with_labels"),
        ("automation", "0023_heartbeat_timeout_help"),
        ("automation", "0024_one_index_of_clusters"),
        ("automation", "0001_squashed_0024_one_index_of_clusters"),
        ("automation", "0002_engine_of_hosts"),
        ("automation", "0003_demonstration_agents"),
        ("automation", "0004_clocks_not_ahead"),
        ("automation", "0005_no_index_of_agents_down"),
        ("automation", "0006_reached_limits"),
        ("automation", "0007_empty_since"),
        ("automation", "0008_stored_days"),
        ("automation", "0009_newest_observations"),
        ("automation", "0001_squashed_0009_newest_observations"),
        ("automation", "0010_guessed_types"),
        ("automation", "0011_problems_of_hosts"),
        ("automation", "0012_unmeasured_hosts"),
        ("automation", "0013_agent_settings"),
        ("automation", "0014_unknown_roles"),
        ("automation", "0015_agent_updates"),
        ("automation", "0016_unknown_members"),
    ]

    dependencies = [
        ("accesslist", "0001_squashed_0004_given_passwords"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cluster",
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
                ("name", models.CharField(max_length=200)),
                ("created", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="clusters",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "empty_since",
                    models.DateTimeField(
                        help_text="When the worker first found the cluster without hosts.", null=True
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("group"), django.db.models.functions.text.Lower("name"), name="cluster_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Agent",
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
                    "agent_type",
                    models.CharField(
                        choices=[
                            ("MONITORING", "Monitoring"),
                            ("BACKUP", "Backup"),
                            ("AUTOMATION", "Automation"),
                        ],
                        max_length=12,
                    ),
                ),
                ("hostname", models.CharField(max_length=253)),
                ("version", models.CharField(max_length=50)),
                ("created", models.DateTimeField()),
                ("last_report", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agents",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                ("down", models.BooleanField(default=False, help_text="The agent has a heartbeat timeout.")),
                (
                    "returned",
                    models.DateTimeField(
                        help_text="When the agent last reported again after a heartbeat timeout.", null=True
                    ),
                ),
                (
                    "version_behind",
                    models.BooleanField(
                        default=False,
                        help_text="Another agent of the same type in the project runs a newer version.",
                    ),
                ),
                (
                    "demonstration",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The agent belongs to the demonstration, so it has no heartbeat timeout. A real "
                        "report removes the mark.",
                    ),
                ),
                (
                    "observed",
                    models.DateTimeField(help_text="The newest observation in its reports.", null=True),
                ),
                (
                    "waiting_observed",
                    models.DateTimeField(
                        help_text="The newest observation in its reports that said how many other reports wait.",
                        null=True,
                    ),
                ),
                (
                    "waiting_since",
                    models.DateTimeField(
                        help_text="When a report first said that other reports wait on the agent's disk. Empty if none wait.",
                        null=True,
                    ),
                ),
                (
                    "update_problem",
                    models.TextField(
                        help_text="Why the agent did not update itself, although the settings of the project say so.",
                        null=True,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("group"),
                        models.F("agent_type"),
                        django.db.models.functions.text.Lower("hostname"),
                        name="agent_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReplicaSet",
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
                ("name", models.CharField(max_length=200)),
                ("shard_name", models.CharField(max_length=200, null=True)),
                ("primaries", models.PositiveIntegerField(default=0)),
                ("healthy", models.PositiveIntegerField(default=0)),
                ("unhealthy", models.PositiveIntegerField(default=0)),
                ("created", models.DateTimeField()),
                (
                    "cluster",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replica_sets",
                        to="automation.cluster",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replica_sets",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "empty_since",
                    models.DateTimeField(
                        help_text="When the worker first found the replica set without hosts.", null=True
                    ),
                ),
                (
                    "unknown",
                    models.PositiveIntegerField(
                        db_default=0, default=0, help_text="Reachable members whose role is not known."
                    ),
                ),
                (
                    "primary_unknown",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="There is no known primary, and NO_PRIMARY has not begun: an unknown member may "
                        "be the primary.",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        models.F("group"),
                        models.F("name"),
                        django.db.models.functions.comparison.Coalesce("cluster", models.Value("")),
                        name="replica_set_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Host",
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
                ("hostname", models.CharField(max_length=253)),
                ("port", models.PositiveIntegerField()),
                (
                    "type_name",
                    models.CharField(
                        choices=[
                            ("STANDALONE", "Standalone"),
                            ("REPLICA_PRIMARY", "Primary"),
                            ("REPLICA_SECONDARY", "Secondary or standby"),
                            ("REPLICA_ARBITER", "Arbiter"),
                            ("RECOVERING", "Recovering"),
                            ("SHARD_MONGOS", "mongos"),
                            ("SHARD_CONFIG", "Config server"),
                            ("SHARD_STANDALONE", "Shard standalone"),
                            ("SHARD_PRIMARY", "Shard primary"),
                            ("SHARD_SECONDARY", "Shard secondary"),
                            ("NO_DATA", "No data"),
                        ],
                        default="NO_DATA",
                        max_length=20,
                        verbose_name="type",
                    ),
                ),
                ("down", models.BooleanField(default=False)),
                ("version", models.CharField(max_length=50, null=True)),
                ("replica_set_name", models.CharField(max_length=200, null=True)),
                (
                    "cluster_name",
                    models.CharField(help_text="Name of the cluster.", max_length=200, null=True),
                ),
                ("shard_name", models.CharField(max_length=200, null=True)),
                ("uptime_seconds", models.BigIntegerField(null=True)),
                ("created", models.DateTimeField()),
                ("last_report", models.DateTimeField(null=True)),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="hosts",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "cluster",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="hosts",
                        to="automation.cluster",
                    ),
                ),
                ("deleted", models.DateTimeField(null=True)),
                (
                    "reported_by",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="automation.agent",
                    ),
                ),
                (
                    "replica_set",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="hosts",
                        to="automation.replicaset",
                    ),
                ),
                (
                    "version_behind",
                    models.BooleanField(
                        default=False,
                        help_text="Another host of the project runs a newer version of the same series.",
                    ),
                ),
                (
                    "labels",
                    models.JSONField(
                        help_text="Labels from the agent, value by name; null without labels.", null=True
                    ),
                ),
                (
                    "engine",
                    models.CharField(
                        choices=[("MONGODB", "MongoDB"), ("POSTGRESQL", "PostgreSQL")],
                        help_text="The database engine, as its agent reports it. Empty if no report says it.",
                        max_length=20,
                        null=True,
                    ),
                ),
                ("measured", models.DateTimeField(help_text="The newest sample of any of its metrics.", null=True)),
                (
                    "observed",
                    models.DateTimeField(
                        help_text="The newest observation of its state. Older observations change nothing.", null=True
                    ),
                ),
                (
                    "type_guessed",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The host was never reached: its agent assumes the type.",
                    ),
                ),
                (
                    "problem",
                    models.TextField(
                        help_text="Why the agent could not measure the host, although it is reachable.", null=True
                    ),
                ),
                (
                    "unmeasured_since",
                    models.DateTimeField(
                        help_text="The first of the newest observations that reached the host and did not measure it. "
                        "Empty if the newest observation measured the host or did not reach it.",
                        null=True,
                    ),
                ),
                (
                    "not_measured",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The host was reachable without a measurement for four minutes, and not measured "
                        "since.",
                    ),
                ),
                (
                    "type_unknown",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="The newest observation reached the host and did not see its type. "
                        "The stored type may be old.",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("deleted__isnull", False)),
                        fields=["deleted"],
                        name="host_deleted",
                    ),
                    models.Index(
                        condition=models.Q(("deleted", None), ("down", True)),
                        fields=["group", "hostname", "port"],
                        name="host_down",
                    ),
                    models.Index(fields=["cluster", "shard_name"], name="host_shard"),
                    models.Index(fields=["reported_by"], name="host_agent"),
                    django.contrib.postgres.indexes.GinIndex(
                        fields=["labels"], name="host_labels", opclasses=["jsonb_path_ops"]
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("group"),
                        django.db.models.functions.text.Lower("hostname"),
                        models.F("port"),
                        condition=models.Q(("deleted", None)),
                        name="host_once",
                    )
                ],
                "base_manager_name": "with_deleted",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("with_deleted", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Database",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="databases",
                        to="automation.host",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("host", "name"), name="database_once")],
            },
        ),
        migrations.CreateModel(
            name="Measurement",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("reported", models.DateTimeField()),
                ("metrics", models.JSONField(default=dict)),
                ("databases", models.JSONField(default=dict)),
                (
                    "host",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="measurements",
                        to="automation.host",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["host", "-reported"], name="measurement_host_newest"),
                    models.Index(fields=["reported"], name="measurement_oldest"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProcessStatus",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                ("hostname", models.CharField(max_length=253)),
                ("goal_version", models.PositiveIntegerField()),
                ("error", models.TextField(null=True)),
                ("reported", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="process_statuses",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "processes",
                "constraints": [
                    models.UniqueConstraint(fields=("group", "name"), name="process_status_once")
                ],
                "verbose_name": "process",
            },
        ),
        migrations.CreateModel(
            name="FleetWatch",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("counting_since", models.DateTimeField()),
                ("swept", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name_plural": "fleet watch",
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("id", 1)), name="fleet_watch_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AutomationRevision",
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
                ("number", models.PositiveIntegerField(help_text="Version of the document.")),
                ("document", opsapi.fields.EncryptedField()),
                ("processes", models.JSONField(default=list, help_text="Name and hostname of each process.")),
                (
                    "diffs",
                    models.JSONField(default=list, help_text="Changes per process, with secrets redacted."),
                ),
                (
                    "changes",
                    models.JSONField(default=dict, help_text="Number of changed processes, by status."),
                ),
                (
                    "restored_from",
                    models.PositiveIntegerField(help_text="The revision that was restored.", null=True),
                ),
                (
                    "actor_kind",
                    models.CharField(
                        choices=[("key", "key"), ("user", "user"), ("agent", "agent"), ("system", "system")],
                        max_length=6,
                    ),
                ),
                ("actor_id", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                ("actor_name", models.CharField(max_length=254, null=True)),
                ("created", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="automation_revisions",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
                (
                    "masked",
                    opsapi.fields.EncryptedField(
                        help_text="The document with secrets masked; null if the document has no secrets.",
                        null=True,
                    ),
                ),
                (
                    "masked_by",
                    models.CharField(help_text="Version of the masking rules.", max_length=16, null=True),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("group", "number"), name="automation_revision_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReportAnswer",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("body", models.CharField(db_collation="C", max_length=64)),
                ("answer", models.TextField()),
                ("created", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["created"], name="report_answer_oldest")],
            },
        ),
        migrations.CreateModel(
            name="Source",
            fields=[
                ("id", models.AutoField(primary_key=True, serialize=False)),
                (
                    "database",
                    models.CharField(default="", help_text="Empty for the host itself.", max_length=200),
                ),
                (
                    "host",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sources",
                        to="automation.host",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("host", "database"), name="source_once")],
            },
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(_READINGS, _NO_READINGS)],
            state_operations=[
                migrations.CreateModel(
                    name="Reading",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "source",
                                "reported",
                                "report",
                                "age",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("reported", models.DateTimeField()),
                        ("report", models.SmallIntegerField()),
                        (
                            "age",
                            models.SmallIntegerField(
                                help_text="Seconds from the measurement to `reported`, fractions of both cut."
                            ),
                        ),
                        (
                            "numbers",
                            django.contrib.postgres.fields.ArrayField(
                                base_field=models.FloatField(null=True), size=None
                            ),
                        ),
                        (
                            "source",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="readings",
                                to="automation.source",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [models.Index(fields=["source", "reported"], name="reading_newest")],
                    },
                ),
            ],
        ),
        migrations.CreateModel(
            name="HostLease",
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
                ("hostname", models.CharField(help_text="In lower case.", max_length=253)),
                ("port", models.PositiveIntegerField()),
                ("held_by", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                ("wanted_by", opsapi.fields.OptionalIdField(db_collation="C", max_length=24, null=True)),
                ("free_from", models.DateTimeField(null=True)),
                (
                    "together",
                    models.CharField(
                        default="", help_text="Identifies the replica set of the host.", max_length=200
                    ),
                ),
                ("token", models.CharField(default="", max_length=32)),
                ("since", models.DateTimeField()),
                ("created", models.DateTimeField()),
                ("earlier", models.JSONField(default=dict, help_text="Token and end of recent leases.")),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="host_leases",
                        to="accesslist.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("group", "hostname", "port"), name="host_lease_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Watcher",
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
                ("instance", models.CharField(max_length=64)),
                ("interval", models.DurationField()),
                ("asked", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("metrics", models.JSONField(default=dict, help_text="Metric coverage of its hosts.")),
                ("metrics_digest", models.CharField(default="", max_length=64)),
                (
                    "agent",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watchers",
                        to="automation.agent",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="watchers",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("group", "agent", "instance"), name="watcher_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ReachedLimit",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("words", models.CharField(max_length=100)),
                ("most", models.BigIntegerField()),
                ("since", models.DateTimeField()),
                ("refused", models.DateTimeField()),
                (
                    "group",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reached_limits",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("group", "words"), name="reached_limit_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="StoredDay",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("octets", models.BigIntegerField()),
                (
                    "group",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="stored_days",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("group", "day"), name="stored_day_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="AgentSettings",
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
                ("version", opsapi.fields.IdField(db_collation="C", max_length=24)),
                ("shown", models.JSONField(help_text="The settings, with secrets redacted.")),
                ("secrets", opsapi.fields.EncryptedField(help_text="The settings as JSON, with secrets.")),
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agent_settings",
                        to="accesslist.project",
                        verbose_name="project",
                    ),
                ),
            ],
            options={
                "verbose_name": "settings of agents",
                "verbose_name_plural": "settings of agents",
            },
        ),
        migrations.RunSQL(
            [f"ALTER TABLE {table} SET (fillfactor = 50)" for table in _ROOMY],
            [f"ALTER TABLE {table} RESET (fillfactor)" for table in _ROOMY],
        ),
        migrations.RunSQL([_FUNCTION], ["DROP FUNCTION automation_clocks_not_ahead"]),
        migrations.RunSQL([_TRIGGER], ["DROP TRIGGER fleet_watch_not_ahead ON automation_fleetwatch"]),
    ]
