"""Taking away what authentication leaves behind."""

from datetime import datetime, timedelta

from accesslist.models import DigestUse, RateWindow
from accesslist.nonces import LIFETIME

_RATE_WINDOW_KEPT = timedelta(hours=1)


def traces_trim(*, now: datetime) -> None:
    """Forget used nonces that have expired anyway, and windows long over."""
    DigestUse.objects.filter(used__lt=now - 2 * LIFETIME).delete()
    RateWindow.objects.filter(started__lt=now - _RATE_WINDOW_KEPT).delete()
