"""Deletes expired rows of authentication: used nonces, rate windows, console sessions and invitations."""

from datetime import datetime, timedelta

from django.contrib.sessions.models import Session

from accesslist.credentials import begin_remembering
from accesslist.digest import NONCE_LIFETIME
from accesslist.models import DigestUse, Invitation, RateWindow
from accesslist.rules.invitations import KEPT

# Longer than any window, but not much, because unauthenticated callers create these rows.
_RATE_WINDOW_KEPT = timedelta(minutes=10)


def expired_rows_purge(*, now: datetime) -> None:
    """Delete used nonces that have expired, windows that are over, ended sessions, and old invitations."""
    begin_remembering(now)
    DigestUse.objects.filter(used__lt=now - 2 * NONCE_LIFETIME).delete()
    RateWindow.objects.filter(started__lt=now - _RATE_WINDOW_KEPT).delete()
    Session.objects.filter(expire_date__lt=now).delete()
    Invitation.objects.filter(expires__lt=now - KEPT).delete()
