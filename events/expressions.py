"""What is indexed of an event's details."""

from django.db.models import Q
from django.db.models.functions import Coalesce
from django.db.models.lookups import IsNull

from opsapi.fields import JsonText

WHO = Coalesce(JsonText("details", "username"), JsonText("details", "publicKey"))
"""Who acted: a user's name or a key's public part, of which an event has one at most."""
REMOTE_ADDRESS = JsonText("details", "remoteAddress")
HOSTNAME = JsonText("details", "hostname")


def present(expression: Coalesce | JsonText) -> Q:
    """That there is such a value: an index leaves out the events without."""
    return Q(IsNull(expression, False))
