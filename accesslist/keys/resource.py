"""API keys as the API shows and accepts them."""

from collections.abc import Iterable

from django.db.models import Value
from django.db.models.functions import Concat
from rest_framework import serializers

from accesslist.roles.resource import MOST_STORED_ROLES, RoleDocument, RoleField
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import LinkDocument, Values
from opsapi.api.errors import BadField
from opsapi.api.fields import Hostname, ListOf, ShownId, ShownText, VisibleText
from opsapi.api.resources import Resource
from opsapi.redaction import MASK

MOST_HOSTNAMES = 20
"""The maximum number of names of the machine of a key."""
MOST_ROLES = 1000
"""The maximum number of roles of a new key."""


class ApiKeyDocument(Resource):
    """An API key; only the response that creates it contains the complete private key."""

    path = "{base}/apiKeys/{id}"
    relations = {"accessList": f"{path}/accessList"}
    columns = {"privateKey": Concat(Value(MASK), "private_last4")}

    id = ShownId(read_only=True, example="6560d2f0a7b3f94e5d8c1b31")
    desc = VisibleText(max_length=250, example="deployment scripts")
    publicKey = ShownText(source="public_key", read_only=True, example="k3w9xz")
    privateKey = ShownText(read_only=True, example=f"{MASK}1f0c")
    roles = serializers.ListField(child=RoleDocument())
    hostnames = ListOf(
        Hostname(),
        max_length=MOST_HOSTNAMES,
        clearable=True,
        required=False,
        help_text="Restricts the key to one machine: the name of the agent, and each `hostname` and `alias` "
        "of the machine in the automation configuration. Agents get only the processes and connection "
        "strings of this machine, and take turns and report progress only for it. They can still report any "
        "host. Requires GROUP_AGENT as the only role. Omitted or empty: no restriction.",
        example=["db1.example.com"],
    )
    links = LinkDocument(many=True, read_only=True)


class ApiKeyInput(ApiKeyDocument):
    """A new API key."""

    roles = ListOf(RoleField(), max_length=MOST_ROLES, example=[RoleDocument.sample()])


class ApiKeyChange(ApiKeyDocument):
    """Changes to an API key; fields that are left out stay unchanged."""

    is_change = True

    roles = ListOf(RoleField(), max_length=MOST_STORED_ROLES, clearable=True, example=[RoleDocument.sample()])

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require at least one role."""
        if values.get("roles") == []:
            message = "must contain a role; use DELETE to revoke all roles"
            yield BadField("roles", ErrorCode.MISSING_ATTRIBUTE, message)
