"""Deletes expired rows: used nonces, rate windows, console sessions, invitations, kiosks."""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db.models import Q

from accesslist.digest.models import DigestUse
from accesslist.digest.rules import NONCE_LIFETIME
from accesslist.digest.store import begin_remembering
from accesslist.invitations.models import Invitation
from accesslist.invitations.rules import KEPT
from accesslist.kiosks.models import Kiosk
from accesslist.kiosks.rules import KEPT as KIOSKS_KEPT
from accesslist.models import RateWindow
from opsapi.clock import AHEAD
from opsapi.session_ends import latest_session_end

# Longer than any window, but not much, because unauthenticated callers create these rows.
_RATE_WINDOW_KEPT = timedelta(minutes=10)


def expired_rows_purge(*, now: datetime) -> None:
    """Delete used nonces that have expired, windows that are over, ended sessions, and old invitations and
    kiosks.

    Windows and sessions whose times lie ahead were written while a clock was wrong: they are over, too.
    """
    begin_remembering(now)
    DigestUse.objects.filter(used__lt=now - 2 * NONCE_LIFETIME).delete()
    over = Q(started__lt=now - _RATE_WINDOW_KEPT) | Q(started__gt=now + AHEAD)
    RateWindow.objects.filter(over).delete()
    Session.objects.filter(Q(expire_date__lt=now) | Q(expire_date__gt=latest_session_end(now))).delete()
    Invitation.objects.filter(expires__lt=now - KEPT).delete()
    Kiosk.objects.filter(expires__lt=now - KIOSKS_KEPT).delete()
