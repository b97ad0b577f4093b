"""Entries of access lists as the API shows and accepts them."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import DateTimeField, F, Value
from rest_framework import serializers

from accesslist.access_lists.rules import MAX_LENGTH, only_address, read_range
from accesslist.references import refuse_unknown_and_repeated
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import InvalidField, Values, invalid, links_of
from opsapi.api.errors import BadField
from opsapi.api.fields import DateTime, ShownId, ShownText, ShownTime, Text, VisibleText
from opsapi.api.resources import Facts, Resource

GLOBAL_TYPE = "GLOBAL_ROLE"
KEY_TYPE = "API_KEY"
_TIME = DateTime()


class RangeField(Text):
    """A range in CIDR notation, or an address; in its canonical form."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MAX_LENGTH, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The range."""
        text = super().run_validation(data)
        try:
            return read_range(text)
        except ValueError as error:
            raise invalid(str(error)) from None


class AddressField(RangeField):
    """An address, as the range of it alone."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The range."""
        block = super().run_validation(data)
        if "/" in data:
            raise invalid("must be an address, without a prefix length")
        return block


class AccessListEntryDocument(Resource):
    """An entry of the global access list."""

    path = "/admin/accessList/{id}"
    columns = {"type": Value(GLOBAL_TYPE), "expires": Value(None, output_field=DateTimeField())}
    nullable = frozenset({"expires", "lastUsed"})

    cidrBlock = RangeField(source="cidr_block", example="192.0.2.0/24")
    created = ShownTime(read_only=True)
    description = VisibleText(max_length=250, required=False, example="office")
    id = ShownId(read_only=True, example="6560d2f0a7b3f94e5d8c1b41")
    type = ShownText(read_only=True, example=GLOBAL_TYPE)
    updated = ShownTime(read_only=True, help_text="When the range was last changed.")
    expires = serializers.DateTimeField(read_only=True, allow_null=True, help_text="Always null.")
    lastUsed = serializers.DateTimeField(
        source="last_used",
        read_only=True,
        allow_null=True,
        help_text="When a key last called from the range, to the minute.",
    )
    links = links_of("/groups", read_only=True)

    def _read_only_faults(self, name: str, raw: Any) -> Iterable[BadField]:
        # A key may use the entry between read and write, so any time is accepted.
        if name != "lastUsed":
            return super()._read_only_faults(name, raw)
        try:
            _TIME.run_validation(raw)
        except InvalidField as error:
            return [fault.below(name) for fault in error.bad_fields]
        return ()


class AccessListEntryInput(AccessListEntryDocument):
    """A new entry of the global access list."""

    description = VisibleText(max_length=250, example="office")


class AccessListEntryChange(AccessListEntryDocument):
    """Changes to an entry of the global access list."""

    is_change = True


class KeyAccessListEntryDocument(AccessListEntryDocument):
    """An entry of a key's own access list."""

    path = "{base}/apiKeys/{key_id}/accessList/{id}"
    relations = {"apiKey": "{base}/apiKeys/{key_id}"}
    columns = {**AccessListEntryDocument.columns, "type": Value(KEY_TYPE), "ipAddress": F("cidr_block")}

    cidrBlock = RangeField(source="cidr_block", example="192.0.2.7/32")
    type = ShownText(read_only=True, example=KEY_TYPE)
    ipAddress: serializers.CharField = ShownText(
        required=False, help_text="If the range is a single address.", example="192.0.2.7"
    )

    @classmethod
    def facts(cls, row: Iterable[Any]) -> Facts:
        """The entry, with `ipAddress` where its range is one address."""
        facts = super().facts(row)
        address = only_address(facts.pop("ipAddress"))
        return facts if address is None else {**facts, "ipAddress": address}


class KeyAccessListEntryInput(KeyAccessListEntryDocument):
    """A new entry of a key's access list: an address or a range."""

    refusals = (ErrorCode.MISSING_ATTRIBUTE, ErrorCode.INVALID_ATTRIBUTE)
    request_example = {"ipAddress": "192.0.2.7", "description": "build server"}

    ipAddress = AddressField(
        required=False, help_text="Either ipAddress or cidrBlock is required.", example="192.0.2.7"
    )
    cidrBlock = RangeField(
        source="cidr_block",
        required=False,
        help_text="Either cidrBlock or ipAddress is required.",
        example="192.0.2.7/32",
    )
    description = VisibleText(max_length=250, required=False, example="office")

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Require exactly one of `ipAddress` and `cidrBlock`."""
        sources = {"ipAddress": "ipAddress", "cidrBlock": "cidr_block"}
        given = [name for name, source in sources.items() if source in values or name in bad]
        if not given:
            yield BadField("ipAddress", ErrorCode.MISSING_ATTRIBUTE, "or cidrBlock is required")
        if len(given) == 2:
            yield BadField(
                "cidrBlock", ErrorCode.INVALID_ATTRIBUTE, "must not be sent together with ipAddress"
            )


def new_entries(items: Sequence[Values]) -> list[Values]:
    """Return the columns of new entries, from the checked items of a body.

    Raises:
        ApiError: INVALID_ATTRIBUTE for repeated ranges.
    """
    names = ["ipAddress" if "ipAddress" in item else "cidrBlock" for item in items]
    blocks = [item.pop("ipAddress", None) or item["cidr_block"] for item in items]
    paths = [f"[{position}].{name}" for position, name in enumerate(names)]
    refuse_unknown_and_repeated(zip(paths, blocks, strict=True))
    return [{**item, "cidr_block": block} for item, block in zip(items, blocks, strict=True)]
