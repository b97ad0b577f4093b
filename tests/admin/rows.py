"""One row of everything the console shows, with a canary in every secret."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.apps import apps
from django.db import models, transaction

from accesslist.invitations.changes import invitation_create
from accesslist.keys.changes import api_key_create
from accesslist.models import (
    AccessListEntry,
    ApiKey,
    DigestUse,
    Kiosk,
    Project,
    RateWindow,
    SecondFactor,
    Team,
    User,
)
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.engine.choices import NotificationStatus
from alerting.engine.share_counts import usage_add
from alerting.models import (
    EvaluationTurn,
    Incident,
    MaintenanceWindow,
    Notification,
    NotificationAttempt,
    NotificationSetting,
    ProjectUsage,
    SetupMark,
    UnreachableHost,
    WorkerHeartbeat,
)
from automation.addresses import Address
from automation.models import (
    AgentSettings,
    AutomationRevision,
    FetchedConfig,
    Host,
    Measurement,
    MemberObservation,
    PackedReadings,
    PackedRollups,
    Packing,
    PausedPlan,
    PlanTurn,
    ReachedLimit,
    Reading,
    ReportAnswer,
    Rollup,
    Source,
    StoredDay,
    WaitingMove,
)
from automation.reports.rules import LeaseRequest
from events.choices import DiffType, SignalKind
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import event_record
from events.models import Event, EventCount, Retention
from events.outbox.changes import signal_record
from events.types import EventType
from integrations.choices import DeliveryStatus, SecretKind
from integrations.models import Integration
from opsapi import clock
from opsapi.api.principal import SYSTEM
from opsapi.encryption import encrypt
from opsapi.ids import new_id
from opsapi.roles import Grant, Role, Scope
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory
from tests.factories.alerting import (
    EMAIL,
    WEBHOOK,
    make_alert,
    make_config,
    make_destination,
    make_notification,
)
from tests.factories.automation import host_report, ingest, process_report, publish
from tests.factories.documents import process
from tests.factories.integrations import make_integration

APPS = ("accesslist", "alerting", "automation", "events", "integrations")
CANARY = "canary"
WEBHOOK_SECRET = f"{CANARY}-webhook-secret"
SCRAPER_PASSWORD = f"{CANARY}-scraper-password"
WEBHOOK_TOKEN = f"{CANARY}-token-in-the-url"
NOTIFICATION_SECRET = f"{CANARY}-secret-of-a-notification"
DOCUMENT_SECRET = f"{CANARY}-secret-in-a-document"
FACTOR_SECRET = f"{CANARY}-secret-of-a-second-factor"
KIOSK_HASH = f"{CANARY}-hash-of-a-kiosk"
RECOVERY_HASH = f"{CANARY}-hash-of-a-recovery-code"


def our_models() -> list[type[models.Model]]:
    """Every concrete model of our apps."""
    found: Iterator[type[models.Model]] = (
        model for config in apps.get_app_configs() for model in config.get_models()
    )
    return [model for model in found if model._meta.app_config and model.__module__.split(".")[0] in APPS]


def shown_models() -> list[type[models.Model]]:
    """The models with pages of their own: other pages show measurements, numbers of events and incidents.

    Nobody reads used nonces, and Django's admin cannot show a table with a composite primary key. Notices and
    the checklist show the marks of the set-up, and notices show reached limits and projects that use too much
    time of workers. The start page shows the growth of projects. A page of the list of agents shows their
    settings. The Retention page shows how long events and
    alerts are kept. The status of automation shows
    pauses, turns and moves that wait, and the plans that follow from observations of members. Events show the
    versions that agents have fetched.
    """
    shown_in_part = {AgentSettings, SetupMark, ReachedLimit, ProjectUsage, StoredDay, Retention} | {
        PausedPlan,
        PlanTurn,
        WaitingMove,
        FetchedConfig,
        MemberObservation,
    }
    elsewhere = {
        Source,
        Reading,
        PackedReadings,
        PackedRollups,
        Packing,
        Rollup,
        Measurement,
        EventCount,
        Incident,
        DigestUse,
    } | shown_in_part
    return [model for model in our_models() if model not in elsewhere]


def make_operator(**changes: Any) -> User:
    """A Global owner."""
    user: User = UserFactory.create(**changes)
    user.grants.create(role=Role.GLOBAL_OWNER.value)
    return user


def fill(project: Project) -> None:
    """A row or more of every model."""
    now = clock.now()
    _fill_access(project)
    DigestUse.objects.create(nonce=new_id(), nc="00000001", used=now)
    RateWindow.objects.create(bucket=f"login name {new_id()}", started=now, count=1)
    _fill_fleet(project)
    ReportAnswer.objects.create(id=uuid4(), body="0" * 64, answer='{"accepted": {}}', created=now)
    host = Host.objects.filter(group=project).latest("id")
    host.databases.create(name="orders")
    _fill_alerting(project, host)
    make_integration(project, "SCRAPER", password=SCRAPER_PASSWORD)
    _publish(project)
    WorkerHeartbeat.objects.create(name=new_id(), seen=now)
    tested = {"created": now, "username": "ada"}
    SetupMark.objects.update_or_create(group=project, name="CHANNEL_TESTED", defaults=tested)
    StoredDay.objects.update_or_create(group=project, day=now.date(), defaults={"octets": 1})
    agents = {"version": new_id(), "shown": {"mongodb": [], "postgresql": []}, "secrets": "unreadable"}
    AgentSettings.objects.update_or_create(group=project, defaults=agents)
    reached = {"most": 1, "since": now, "refused": now}
    ReachedLimit.objects.update_or_create(group=project, words="agents", defaults=reached)
    EvaluationTurn.objects.update_or_create(group_id=project.id, defaults={"served": now})
    usage_add(group_id=project.id, seconds=1.0, now=now)
    UnreachableHost.objects.create(host=f"http://{new_id()}:80", failures=1, since=now, next_try=now)
    destination_id, url = new_id(), f"http://hooks.example.com/{WEBHOOK_TOKEN}/tail"
    make_destination(
        project, id=destination_id, config=encrypt(json.dumps({"url": url}), owner=destination_id)
    )
    with transaction.atomic():
        signal_record(group_id=project.id, kind=SignalKind.HOSTS, payload={"hosts": []}, now=now)


def _fill_access(project: Project) -> None:
    now = clock.now()
    grants = [Grant(Role.GROUP_AGENT, group_id=project.id), Grant(Role.ORG_MEMBER, org_id=project.org_id)]
    key = api_key_create(values={"desc": "agents"}, grants=grants, actor=SYSTEM, now=now).key
    block = f"10.{AccessListEntry.objects.count() % 250}.0.0/16"
    AccessListEntry.objects.create(cidr_block=block, api_key=key, created=now, updated=now)
    team = Team.objects.create(org_id=project.org_id, name="on call", created=now)
    team.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    team.members.add(_operator_with_second_factor())
    invitation_create(
        here=Scope(org_id=project.org_id, group_id=project.id),
        roles=[Role.GROUP_READ_ONLY],
        email_address=f"{new_id()}@example.com",
        by=[Grant(Role.GLOBAL_OWNER)],
        actor=SYSTEM,
        now=now,
    )
    Kiosk.objects.create(
        desc="hall",
        project=project,
        token_hash=KIOSK_HASH,
        creator=UserFactory.create(),
        created=now,
        expires=now + timedelta(days=30),
    )


def _fill_fleet(project: Project) -> None:
    ingest(
        project,
        host_report(f"db-{new_id()}", replica_set_name="rs0", cluster_name="orders", CONNECTIONS=5.0),
        processes=[process_report()],
    )
    shared = LeaseRequest(
        instance=new_id(),
        interval=timedelta(minutes=1),
        hosts=[Address(f"db-{new_id()}", 27017)],
        together=["rs0"],
        metrics={},
        stops=False,
    )
    ingest(project, leases=shared)


def _operator_with_second_factor() -> User:
    user, factor_id, now = make_operator(), new_id(), clock.now()
    SecondFactor.objects.create(
        id=factor_id,
        user=user,
        secret=encrypt(FACTOR_SECRET, owner=factor_id),
        confirmed=now,
        recovery_hashes=[RECOVERY_HASH],
        created=now,
    )
    return user


def _fill_alerting(project: Project, host: Host) -> None:
    now = clock.now()
    webhook = {
        **WEBHOOK,
        "webhookUrl": f"http://hooks.example.com/{WEBHOOK_TOKEN}/tail",
        "webhookSecret": WEBHOOK_SECRET,
    }
    config = make_config(project, notifications=[webhook, *_service_notifications(), EMAIL])
    alert = make_alert(
        project,
        config_id=config.id,
        target_key=host.id,
        facts={"hostname": host.hostname, "port": host.port},
    )
    notification = make_notification(
        project,
        alert=alert,
        setting_id=config.settings.latest("position").id,
        status=NotificationStatus.DELIVERED.value,
        delivered=now + timedelta(seconds=1),
        lease_token=uuid4(),
    )
    NotificationAttempt.objects.create(
        notification=notification,
        number=1,
        ended=now,
        status=DeliveryStatus.DELIVERED.value,
        latency_ms=12,
    )
    Incident.objects.create(
        group=project, config_id=alert.config_id, lead_id=alert.id, created=now, grown=now, ended=now
    )
    MaintenanceWindow.objects.create(
        group=project,
        alert_types=["HOST"],
        start=now,
        end=now + timedelta(hours=1),
        description="new disks",
        created=now,
        updated=now,
    )


def _publish(project: Project) -> None:
    """Two revisions, of which the second changes a process and its secret."""
    for version in (0, 1):
        secret = f"{DOCUMENT_SECRET}-{version}"
        changed = process(alias=f"<b>{version}</b>", args2_6={"clusterPassword": secret})
        publish(project, version, auth={"key": secret}, processes=[changed])


def _service_notifications() -> Iterator[dict[str, Any]]:
    """One of each type that has secrets."""
    for kind in NOTIFICATION_TYPES.values():
        planted = {
            SecretKind.URL: f"http://hooks.example.com/{NOTIFICATION_SECRET}/tail",
            SecretKind.HEADERS: {"X-Key": NOTIFICATION_SECRET},
        }
        secrets = {
            name: planted.get(field.secret, NOTIFICATION_SECRET) for name, field in kind.secret_fields.items()
        }
        if secrets:
            yield {"typeName": kind.type, "delayMin": 0, **kind.example, **secrets}


def record_event(project: Project, hostname: str = "db1") -> Event:
    """An event with facts and a change."""
    changes = diff(DiffType.GROUP, project.id, old={"name": "<b>old</b>"}, new={"name": project.name})
    with transaction.atomic():
        return event_record(
            event_type=EventType.HOST_DOWN,
            actor=SYSTEM,
            now=clock.now(),
            group_id=project.id,
            facts=EventFacts(hostname=hostname, port=27017),
            diffs=changes,
        )


def secrets_of_rows() -> list[str]:
    """What no page may hold: everything encrypted and every hash, as stored and as it was given."""
    stored = [
        *ApiKey.objects.values_list("ha1", flat=True),
        *NotificationSetting.objects.exclude(secrets=None).values_list("secrets", flat=True),
        *Integration.objects.values_list("secrets", flat=True),
        *AutomationRevision.objects.values_list("document", flat=True),
        *User.objects.values_list("password", flat=True),
        *SecondFactor.objects.values_list("secret", flat=True),
        *(value for value in Notification.objects.values_list("lease_token", flat=True) if value),
    ]
    return [str(secret) for secret in stored if secret] + [
        SCRAPER_PASSWORD,
        WEBHOOK_SECRET,
        WEBHOOK_TOKEN,
        NOTIFICATION_SECRET,
        DOCUMENT_SECRET,
        FACTOR_SECRET,
        RECOVERY_HASH,
        KIOSK_HASH,
        PASSWORD,
    ]


def many(number: int) -> None:
    """That many projects full of rows, each with an operator and an event."""
    for _ in range(number):
        project = ProjectFactory.create()
        fill(project)
        record_event(project)
        make_operator()
