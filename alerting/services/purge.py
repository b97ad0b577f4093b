"""The end of a project or host: its alerts at once, its rows later, a batch at a time (decisions 3, 6)."""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from accesslist.models import Project
from accesslist.services.projects import project_purge
from alerting.choices import ACTIVE, DropReason, NotificationStatus
from alerting.models import (
    Alert,
    AlertConfig,
    MaintenanceWindow,
    Notification,
    NotificationAttempt,
    NotificationSetting,
)
from alerting.services.alerts import alerts_cancel
from alerting.services.locks import project_lock
from automation.models import Host
from automation.services.purge import fleet_purge
from events.models import Signal
from integrations.choices import MessageKind
from integrations.services.purge import integrations_purge
from opsapi.api.principal import Actor
from opsapi.batches import delete_batch

ROWS_AT_ONCE = 500
"""So many rows go in one transaction: it stays short, whatever a project holds."""


@transaction.atomic
def project_alerting_end(*, group_id: str, actor: Actor, now: datetime) -> None:
    """Delete a project's configurations and cancel its alerts; those who were told are told so.

    Nothing is evaluated for the project from here until the transaction ends, nor after it: then
    the project is deleted.
    """
    project_lock(group_id)
    AlertConfig.objects.filter(group_id=group_id, deleted=None).update(deleted=now, enabled=False)
    active = Alert.objects.filter(group_id=group_id, status__in=ACTIVE)
    alerts_cancel(alerts=active.select_for_update().order_by("id"), actor=actor, now=now)
    told_once = Notification.objects.filter(group_id=group_id, kind=MessageKind.INFORM.value)
    told_once.filter(status=NotificationStatus.PENDING.value, lease_token=None).update(
        status=NotificationStatus.DROPPED.value, reason=DropReason.CONFIG_OFF.value
    )


@transaction.atomic
def host_alerting_end(*, host: Host, actor: Actor, now: datetime) -> None:
    """Cancel the alerts about a host that is deleted, or is known by another address from now on.

    Those that an agent's own event began name it by its address alone.
    """
    project_lock(host.group_id)
    by_address = Q(facts__hostname__iexact=host.hostname, facts__port=host.port)
    active = Alert.objects.filter(
        Q(facts__hostId=host.id) | by_address, group_id=host.group_id, status__in=ACTIVE
    )
    alerts_cancel(alerts=active.select_for_update().order_by("id"), actor=actor, now=now)


@transaction.atomic
def deleted_project_purge(*, now: datetime) -> bool:
    """Take away one batch of a deleted project's rows, at the end the project; answers whether there was one.

    Any number of workers share the work: each takes a project nobody else has in hand. Projects with
    something still to be told wait for that. A batch is a transaction, so a crash loses nothing.
    """
    telling = Notification.objects.filter(group_id=OuterRef("id"), status=NotificationStatus.PENDING.value)
    deleted = Project.with_deleted.filter(~Exists(telling), deleted__isnull=False).order_by("deleted")
    project = deleted.select_for_update(skip_locked=True).first()
    if project is None:
        return False
    if not _purge_batch(project.id):
        project_purge(project=project, now=now)
    return True


def _purge_batch(group_id: str) -> int:
    """Children first; answers how many rows went, 0 when none are left."""
    of_group = {"group_id": group_id}
    return (
        delete_batch(Signal.objects.filter(**of_group), ROWS_AT_ONCE)
        or delete_batch(NotificationAttempt.objects.filter(notification__group_id=group_id), ROWS_AT_ONCE)
        or delete_batch(Notification.objects.filter(**of_group), ROWS_AT_ONCE)
        or delete_batch(Alert.objects.filter(**of_group), ROWS_AT_ONCE)
        or delete_batch(NotificationSetting.objects.filter(config__group_id=group_id), ROWS_AT_ONCE)
        or delete_batch(AlertConfig.objects.filter(**of_group), ROWS_AT_ONCE)
        or delete_batch(MaintenanceWindow.objects.filter(**of_group), ROWS_AT_ONCE)
        or integrations_purge(group_id=group_id, limit=ROWS_AT_ONCE)
        or fleet_purge(group_id=group_id, limit=ROWS_AT_ONCE)
    )
