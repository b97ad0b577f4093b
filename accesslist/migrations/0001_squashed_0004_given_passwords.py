"""The tables of identity and access.

It creates in one step what the replaced migrations led to. A database that these migrations have created counts
as migrated.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.manager
from django.conf import settings
from django.db import migrations, models

import opsapi.fields
import opsapi.ids

# Used nonces and rate windows need not survive a crash: they stay out of the write-ahead log.
_UNLOGGED = ("accesslist_ratewindow", "accesslist_digestuse", "accesslist_digestepoch")


class Migration(migrations.Migration):
    replaces = [
        ("accesslist", "0001_initial"),
        ("accesslist", "0002_unlogged"),
        ("accesslist", "0003_digest_epoch"),
        ("accesslist", "0004_teams_and_deleted_projects"),
        ("accesslist", "0005_sessions_ended"),
        ("accesslist", "0006_second_factor"),
        ("accesslist", "0007_words_for_people"),
        ("accesslist", "0008_look_alike_names"),
        ("accesslist", "0009_self_registered"),
        ("accesslist", "0010_revocations"),
        ("accesslist", "0011_plain_words"),
        ("accesslist", "0001_squashed_0011_plain_words"),
        ("accesslist", "0002_used_nonces_without_sequence"),
        ("accesslist", "0003_invitations"),
        ("accesslist", "0004_given_passwords"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
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
                ("username", models.CharField(max_length=254)),
                ("username_key", models.CharField(editable=False, max_length=1000, unique=True)),
                ("first_name", models.CharField(max_length=100)),
                ("last_name", models.CharField(max_length=100)),
                ("email_address", models.CharField(max_length=254, null=True)),
                ("mobile_number", models.CharField(max_length=40, null=True)),
                ("created", models.DateTimeField()),
                ("sessions_ended", models.DateTimeField(editable=False, null=True)),
                (
                    "username_skeleton",
                    models.CharField(
                        db_collation="C", editable=False, max_length=600, null=True, unique=True
                    ),
                ),
                (
                    "username_key_skeleton",
                    models.CharField(
                        db_collation="C", editable=False, max_length=600, null=True, unique=True
                    ),
                ),
                (
                    "self_registered",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Created without an API key (endpoint 5).",
                        verbose_name="registered itself",
                    ),
                ),
                ("revocations", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                (
                    "password_given",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Somebody else set the password. The console asks for a new one after the log-in.",
                        verbose_name="must change the password",
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ApiKey",
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
                ("desc", models.CharField(max_length=250)),
                ("public_key", models.CharField(db_collation="C", max_length=6, unique=True)),
                ("ha1", opsapi.fields.EncryptedField()),
                ("private_last4", models.CharField(max_length=4)),
                ("created", models.DateTimeField()),
                ("revocations", models.PositiveIntegerField(db_default=0, default=0, editable=False)),
            ],
            options={
                "verbose_name": "API key",
            },
        ),
        migrations.CreateModel(
            name="Organization",
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
            ],
        ),
        migrations.CreateModel(
            name="RateWindow",
            fields=[
                (
                    "bucket",
                    models.CharField(db_collation="C", max_length=200, primary_key=True, serialize=False),
                ),
                ("started", models.DateTimeField()),
                ("count", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="DigestUse",
            fields=[
                ("nonce", models.CharField(db_collation="C", max_length=32)),
                ("nc", models.CharField(db_collation="C", max_length=8)),
                ("used", models.DateTimeField()),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "nonce", "nc", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Project",
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
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=100), default=list, size=None
                    ),
                ),
                (
                    "host_count",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of hosts. Updated when hosts are added and deleted."
                    ),
                ),
                ("created", models.DateTimeField()),
                (
                    "org",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="projects",
                        to="accesslist.organization",
                    ),
                ),
                ("deleted", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["created", "id"], name="project_created"),
                    models.Index(
                        condition=models.Q(("deleted__isnull", False)),
                        fields=["deleted"],
                        name="project_deleted",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted", None)), fields=("name",), name="project_name_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("deleted", None), ("org__isnull", False)),
                            models.Q(("deleted__isnull", False), ("org", None)),
                            _connector="OR",
                        ),
                        name="project_has_org_until_deleted",
                    ),
                ],
                "base_manager_name": "with_deleted",
            },
            managers=[
                ("objects", django.db.models.manager.Manager()),
                ("with_deleted", django.db.models.manager.Manager()),
            ],
        ),
        migrations.CreateModel(
            name="Team",
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
                ("members", models.ManyToManyField(related_name="teams", to=settings.AUTH_USER_MODEL)),
                (
                    "org",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="teams",
                        to="accesslist.organization",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["org", "created", "id"], name="team_org_created")],
            },
        ),
        migrations.CreateModel(
            name="RoleGrant",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("GLOBAL_OWNER", "GLOBAL_OWNER"),
                            ("GLOBAL_READ_ONLY", "GLOBAL_READ_ONLY"),
                            ("GLOBAL_MONITORING_ADMIN", "GLOBAL_MONITORING_ADMIN"),
                            ("GLOBAL_USER_ADMIN", "GLOBAL_USER_ADMIN"),
                            ("GLOBAL_BACKUP_ADMIN", "GLOBAL_BACKUP_ADMIN"),
                            ("GLOBAL_AUTOMATION_ADMIN", "GLOBAL_AUTOMATION_ADMIN"),
                            ("ORG_OWNER", "ORG_OWNER"),
                            ("ORG_GROUP_CREATOR", "ORG_GROUP_CREATOR"),
                            ("ORG_READ_ONLY", "ORG_READ_ONLY"),
                            ("ORG_MEMBER", "ORG_MEMBER"),
                            ("GROUP_OWNER", "GROUP_OWNER"),
                            ("GROUP_READ_ONLY", "GROUP_READ_ONLY"),
                            ("GROUP_MONITORING_ADMIN", "GROUP_MONITORING_ADMIN"),
                            ("GROUP_USER_ADMIN", "GROUP_USER_ADMIN"),
                            ("GROUP_BACKUP_ADMIN", "GROUP_BACKUP_ADMIN"),
                            ("GROUP_AUTOMATION_ADMIN", "GROUP_AUTOMATION_ADMIN"),
                            ("GROUP_DATA_ACCESS_ADMIN", "GROUP_DATA_ACCESS_ADMIN"),
                            ("GROUP_DATA_ACCESS_READ_WRITE", "GROUP_DATA_ACCESS_READ_WRITE"),
                            ("GROUP_DATA_ACCESS_READ_ONLY", "GROUP_DATA_ACCESS_READ_ONLY"),
                            ("GROUP_AGENT", "GROUP_AGENT"),
                        ],
                        max_length=40,
                    ),
                ),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="accesslist.apikey",
                    ),
                ),
                (
                    "org",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="accesslist.organization",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="accesslist.project",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="accesslist.team",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("org", None), ("project", None), ("role__startswith", "GLOBAL_")),
                            models.Q(("org__isnull", False), ("project", None), ("role__startswith", "ORG_")),
                            models.Q(
                                ("org", None), ("project__isnull", False), ("role__startswith", "GROUP_")
                            ),
                            _connector="OR",
                        ),
                        name="grant_scope_fits_role",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("api_key__isnull", False), ("team", None), ("user", None)),
                            models.Q(("api_key", None), ("team", None), ("user__isnull", False)),
                            models.Q(("api_key", None), ("team__isnull", False), ("user", None)),
                            _connector="OR",
                        ),
                        name="grant_has_one_holder",
                    ),
                    models.UniqueConstraint(
                        models.F("role"),
                        django.db.models.functions.comparison.Coalesce("api_key", models.Value("")),
                        django.db.models.functions.comparison.Coalesce("user", models.Value("")),
                        django.db.models.functions.comparison.Coalesce("team", models.Value("")),
                        django.db.models.functions.comparison.Coalesce("org", models.Value("")),
                        django.db.models.functions.comparison.Coalesce("project", models.Value("")),
                        name="grant_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AccessListEntry",
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
                ("cidr_block", opsapi.fields.CidrField()),
                ("description", models.CharField(max_length=250, null=True)),
                ("created", models.DateTimeField()),
                ("updated", models.DateTimeField()),
                ("last_used", models.DateTimeField(null=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="access_list",
                        to="accesslist.apikey",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "access lists",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("api_key", None)),
                        fields=("cidr_block",),
                        name="access_list_global_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("api_key__isnull", False)),
                        fields=("api_key", "cidr_block"),
                        name="access_list_key_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DigestEpoch",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("started", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="SecondFactor",
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
                ("secret", opsapi.fields.EncryptedField()),
                ("confirmed", models.DateTimeField(null=True)),
                ("last_step", models.BigIntegerField(default=0)),
                (
                    "recovery_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, size=None
                    ),
                ),
                ("created", models.DateTimeField()),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="second_factor",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
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
                    "roles",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=40), size=None
                    ),
                ),
                (
                    "email_address",
                    models.CharField(
                        help_text="Empty if anybody who has the link can accept.",
                        max_length=254,
                        null=True,
                        verbose_name="e-mail address",
                    ),
                ),
                ("email_key", models.CharField(db_collation="C", editable=False, max_length=1000, null=True)),
                ("token_hash", models.CharField(editable=False, max_length=64)),
                (
                    "replaced_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64), default=list, editable=False, size=None
                    ),
                ),
                (
                    "inviter_kind",
                    models.CharField(
                        choices=[("key", "key"), ("user", "user"), ("agent", "agent"), ("system", "system")],
                        max_length=10,
                    ),
                ),
                ("inviter_id", opsapi.fields.IdField(db_collation="C", max_length=24)),
                ("inviter_name", models.CharField(max_length=254, verbose_name="invited by")),
                ("created", models.DateTimeField()),
                ("expires", models.DateTimeField(verbose_name="valid until")),
                (
                    "mailed",
                    models.DateTimeField(
                        help_text="When the mail server accepted the message.",
                        null=True,
                        verbose_name="sent by e-mail",
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        choices=[("ACCEPTED", "ACCEPTED"), ("REVOKED", "REVOKED"), ("EXPIRED", "EXPIRED")],
                        max_length=10,
                        null=True,
                    ),
                ),
                ("ended", models.DateTimeField(null=True)),
                (
                    "org",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="accesslist.organization",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="accesslist.project",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["expires"], name="invitation_expires")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("org__isnull", False), ("project", None)),
                            models.Q(("org", None), ("project__isnull", False)),
                            _connector="OR",
                        ),
                        name="invitation_has_one_scope",
                    ),
                    models.UniqueConstraint(
                        models.F("email_key"),
                        django.db.models.functions.comparison.Coalesce("org", models.Value("")),
                        django.db.models.functions.comparison.Coalesce("project", models.Value("")),
                        condition=models.Q(("email_key__isnull", False), ("outcome", None)),
                        name="invitation_once",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            [f"ALTER TABLE {table} SET UNLOGGED" for table in _UNLOGGED],
            [f"ALTER TABLE {table} SET LOGGED" for table in _UNLOGGED],
        ),
    ]
