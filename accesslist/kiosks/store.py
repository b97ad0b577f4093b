"""The kiosk of a token, what it may show, and the kiosks that an operator can see."""

from datetime import datetime

from django.conf import settings
from django.db.models import Q, QuerySet

from accesslist.kiosks.models import Kiosk
from accesslist.kiosks.rules import KioskProof, kiosk_proof
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.projects.store import visible_projects
from accesslist.throttles import RATE_WINDOW, throttle, wait_of
from opsapi.api.errors import rate_limited
from opsapi.api.principal import VisibleScope


def kiosk_opened(token: str, *, address: str, now: datetime) -> Kiosk | None:
    """Return the valid kiosk of a token; None for a token that is wrong, revoked or expired.

    `address`: whose wrong tokens are counted.

    Raises:
        ApiError: RATE_LIMITED, after OPSAPI_LOGIN_ATTEMPTS wrong tokens of the address in a minute for the
            same kiosk, or for kiosks that do not exist. Other kiosks of the address go on.
    """
    proof = kiosk_proof(token)
    kiosk = _stored(proof) if proof else None
    bucket = f"kiosk token {address} {kiosk.id if kiosk else ''}"
    limit = settings.OPSAPI_LOGIN_ATTEMPTS
    if limit and (wait := wait_of(bucket, limit=limit, window=RATE_WINDOW, now=now)) is not None:
        raise rate_limited(wait)
    if kiosk is None or proof is None or not proof.opens(kiosk.token_hash):
        count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        throttle(bucket, limit, now)
        return None
    return kiosk if now < kiosk.expires else None


def _stored(proof: KioskProof) -> Kiosk | None:
    rows = Kiosk.objects.filter(id=proof.kiosk_id).filter(Q(project=None) | Q(project__deleted=None))
    return rows.select_related("creator", "project", "org").first()


def kiosk_scope(kiosk: Kiosk) -> VisibleScope:
    """Return what the kiosk shows: its projects, as far as its creator can read them now."""
    readable = visible_projects(kiosk.creator.grants_held)
    of_kiosk = (
        readable.filter(id=kiosk.project_id) if kiosk.project_id else readable.filter(org_id=kiosk.org_id)
    )
    return VisibleScope(group_ids=frozenset(of_kiosk.order_by().values_list("id", flat=True)))


def visible_kiosks(rows: QuerySet[Kiosk], visible_scope: VisibleScope) -> QuerySet[Kiosk]:
    """Return the kiosks of projects and organizations that can be read."""
    if visible_scope.everything:
        return rows
    return rows.filter(Q(project__in=visible_scope.group_ids) | Q(org__in=visible_scope.org_ids))
