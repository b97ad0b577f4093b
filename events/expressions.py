"""Indexed expressions on the details of an event."""

from django.db.models import Q
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull

from opsapi.fields import JsonText

WHO = Coalesce(JsonText("details", "username"), JsonText("details", "publicKey"))
"""The actor: a username or the public part of a key; an event has at most one of them."""
REMOTE_ADDRESS = JsonText("details", "remoteAddress")
HOSTNAME = JsonText("details", "hostname")


def present(expression: Coalesce | JsonText) -> Q:
    """Whether there is such a value: the index leaves out other events."""
    return Q(IsNull(expression, False))
