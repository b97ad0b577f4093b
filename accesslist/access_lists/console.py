"""Access lists in the console: forms, actions and pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.functional import cached_property
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from accesslist.access import KEY_WRITERS
from accesslist.access_lists.changes import (
    access_list_entries_create,
    access_list_entry_delete,
    access_list_entry_update,
)
from accesslist.access_lists.models import AccessListEntry
from accesslist.access_lists.rules import (
    ListWriter,
    SeenCaller,
    is_within,
    keeps_out,
    newly_refused,
    read_address,
    read_range,
    verdict,
)
from accesslist.access_lists.store import RECENT, blocks_of, list_of, recent_callers
from accesslist.forms import ScopedForm, ScopeField, lines
from accesslist.keys.models import ApiKey
from accesslist.roles.console import holders
from opsapi import clock
from opsapi.api.addresses import is_exempt
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Operator, VisibleScope
from opsapi.clock import time_words
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import page_url
from opsapi.console.display import cut, link
from opsapi.console.forms import line_field
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.first_rows import more_words
from opsapi.roles import Scope

_MOST_RANGES = 100
_MOST_WARNINGS = 20


class GuardedForm(ScopedForm):
    """A change of a list. If it would block current callers, it asks for confirmation."""

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {
        ErrorCode.ADDRESS_ALREADY_IN_ACCESS_LIST: "ranges",
        ErrorCode.CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST: "ranges",
    }

    anyway = forms.BooleanField(required=False, label="Save anyway")

    fields_template = "console/guarded_fields.html"
    listed: Sequence[str] = ()

    def key_id(self) -> str | None:
        """The key of the list; None for the global list."""
        raise NotImplementedError

    def blocks_after(self, before: Sequence[str]) -> Sequence[str]:
        """The ranges of the list after the change."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        """Warn about the callers that would be blocked."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        self.listed = [] if self.errors else list(self.warnings())
        if self.listed and not values.get("anyway"):
            raise ValidationError("This would block the callers below. Select “Save anyway” to go ahead.")
        return values

    def groups(self) -> Iterator[tuple[str, list[forms.BoundField]]]:
        """Hides the confirmation until there is a warning."""
        for title, fields in super().groups():
            yield title, [field for field in fields if field.name != "anyway" or self.listed]

    def warnings(self) -> Iterator[str]:
        """The callers that the change would block."""
        before = blocks_of(self.key_id())
        after = self.blocks_after(before)
        refused = newly_refused(self._callers, before=before, after=after)
        if refused:
            callers = ngettext("%d caller", "%d callers", len(refused)) % len(refused)
            yield f"{callers} of the last {RECENT.days} days would be blocked:"
            listed, left_out = cut(refused, _MOST_WARNINGS)
            for caller in listed:
                yield f"{caller.public_key} from {caller.address}, last seen {time_words(caller.seen)}"
            if left_out:
                yield more_words(left_out)
        own = self.operator.actor().remote_address
        if own and not is_exempt(own) and keeps_out(after, own) and not keeps_out(before, own):
            yield f"Your own address, {own}, would be blocked: your keys would not work from here."

    @cached_property
    def _callers(self) -> list[SeenCaller]:
        seen = recent_callers(self.key_id(), now=clock.now())
        return [caller for caller in seen if not is_exempt(caller.address)]


class EntriesForm(GuardedForm):
    """Add ranges to the list of a key (the row), or to the selected list if there is no row."""

    field_order = ("api_key", "ranges", "description", "anyway")

    ranges = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3}),
        label="Addresses and ranges",
        help_text="One per line, such as 192.0.2.7 or 192.0.2.0/24.",
    )
    description = line_field(250, required=False)

    def clean_ranges(self) -> list[str]:
        """The ranges in canonical form, without duplicates."""
        typed = lines(self.cleaned_data["ranges"])
        if len(typed) > _MOST_RANGES:
            raise ValidationError(f"Enter at most {_MOST_RANGES} addresses and ranges.")
        return list(dict.fromkeys(_range(text) for text in typed))

    def key_id(self) -> str | None:
        """The key of the row."""
        return str(self.row.id)

    def blocks_after(self, before: Sequence[str]) -> Sequence[str]:
        """The list with the new ranges."""
        return [*before, *self.cleaned_data["ranges"]]

    @property
    def values(self) -> Mapping[str, Any]:
        """`new`: the entries."""
        description = self.cleaned_data["description"] or None
        ranges = self.cleaned_data["ranges"]
        return {"new": [{"cidr_block": block, "description": description} for block in ranges]}


class NewEntriesForm(EntriesForm):
    """Add ranges to the global list or to the list of a key."""

    api_key = ScopeField(
        "api_key",
        required=False,
        label="API key",
        help_text="Leave blank for the global list, which applies to every key with a global role.",
    )

    def clean_api_key(self) -> ApiKey | None:
        """Operators learn about blocked callers only for lists that they may write."""
        key: ApiKey | None = self.cleaned_data["api_key"]
        try:
            list_of(key, self.operator)
        except ApiError as refusal:
            raise ValidationError(refusal.document()["detail"]) from None
        return key

    def clean_description(self) -> str:
        """As in the API, the global list needs a description."""
        description: str = self.cleaned_data["description"]
        if not description and not self.cleaned_data.get("api_key"):
            raise ValidationError("Enter a description: entries of the global list need it.")
        return description

    def key_id(self) -> str | None:
        """The key of the selected list."""
        key = self.cleaned_data.get("api_key")
        return key.id if key else None

    @property
    def values(self) -> Mapping[str, Any]:
        """Also the selected key, if any."""
        return {**super().values, "api_key": self.cleaned_data.get("api_key")}


class RemovalForm(GuardedForm):
    """Remove an entry (the row)."""

    row: AccessListEntry

    def key_id(self) -> str | None:
        """The key of the entry's list."""
        return self.row.api_key_id

    def blocks_after(self, before: Sequence[str]) -> Sequence[str]:
        """The list without the entry."""
        return [block for block in before if block != self.row.cidr_block]

    def warnings(self) -> Iterator[str]:
        """Also warns if the entry was used recently: requests that only read leave no event."""
        yield from super().warnings()
        used, block = self.row.last_used, self.row.cidr_block
        after = self.blocks_after(blocks_of(self.key_id()))
        is_covered = any(is_within(block, other) for other in after)
        if after and used and used > clock.now() - RECENT and not is_covered:
            yield f"{block} was last used {time_words(used)}. Keys that only read are not listed above."


class EntryForm(RemovalForm):
    """Change the range or the description of an entry (the row)."""

    field_order = ("ranges", "description", "anyway")

    ranges = forms.CharField(max_length=50, label="Address or range")
    description = line_field(250, required=False)

    def stored(self) -> Mapping[str, Any]:
        """The stored values."""
        return {"ranges": self.row.cidr_block, "description": self.row.description} if self.row else {}

    def clean_ranges(self) -> str:
        """The range in canonical form."""
        return _range(self.cleaned_data["ranges"].strip())

    def blocks_after(self, before: Sequence[str]) -> Sequence[str]:
        """The list with the changed range."""
        return [*super().blocks_after(before), self.cleaned_data["ranges"]]

    @property
    def values(self) -> Mapping[str, Any]:
        """The changed columns; an empty description keeps the stored one."""
        described = {"description": text} if (text := self.cleaned_data["description"]) else {}
        return {"cidr_block": self.cleaned_data["ranges"], **described}


def _range(text: str) -> str:
    try:
        return read_range(text)
    except ValueError as fault:
        raise ValidationError(f"{text[:50]} {fault}.") from None


class AddressForm(ScopedForm):
    """Look up an address in the lists of a key."""

    address = forms.CharField(max_length=50, help_text="Such as 192.0.2.7.")

    def clean_address(self) -> str:
        """The address in canonical form."""
        try:
            return read_address(self.cleaned_data["address"].strip())
        except ValueError as fault:
            raise ValidationError(f"This {fault}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyListAction(Action):
    """An action on the access list of a key (the row)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row, operator)


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAction(Action):
    """An action on an entry of an access list."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`."""
        list_of(row.api_key, operator)


_CHECKED = "console/address_checked.html"


def add_to_key(call: ActionCall) -> None:
    """Add entries to the list of the key (the row)."""
    _add(call, call.row)


def check_address(call: ActionCall) -> ActionOutcome:
    """Check whether the key (the row) can call from an address."""
    address = call.values["address"]
    result = verdict(
        is_exempt=is_exempt(address),
        is_global=call.row.grants.filter(org=None, project=None).exists(),
        global_refuses=keeps_out(blocks_of(None), address),
        own_refuses=keeps_out(blocks_of(call.row.id), address),
    )
    return ActionOutcome(
        row=call.row, template=_CHECKED, context={"key": call.row, "address": address, "result": result}
    )


def _add_new(call: ActionCall) -> ActionOutcome:
    entry, *more = _add(call, call.values["api_key"])
    return ActionOutcome(message=f"{len(more) + 1} entries added." if more else "", row=entry)


def _add(call: ActionCall, key: ApiKey | None) -> list[AccessListEntry]:
    of, by = list_of(key, call.operator), ListWriter(call.actor)
    return access_list_entries_create(of=of, new=call.values["new"], by=by, now=call.now)


def _change(call: ActionCall) -> None:
    access_list_entry_update(
        of=list_of(call.row.api_key, call.operator),
        entry_id=call.row.id,
        changes=call.values,
        by=ListWriter(call.actor),
        now=call.now,
    )


def _remove(call: ActionCall) -> ActionOutcome:
    of, by = list_of(call.row.api_key, call.operator), ListWriter(call.actor)
    access_list_entry_delete(of=of, entry_id=call.row.id, by=by, now=call.now)
    return ActionOutcome(
        warnings=[] if blocks_of(of.key_id) else ["The list has no entries, so it allows every address."]
    )


class AccessListInline(ConsoleInline):
    """The addresses a key can call from."""

    model = AccessListEntry
    fields = ["entry", "description", "created", "last_used"]
    ordering = ["created", "id"]
    hide_title = True

    @admin.display(description="range")
    def entry(self, entry: AccessListEntry) -> SafeString:
        """The range, linked to the page that changes or deletes it."""
        return link(page_url(entry), entry)


@admin.register(AccessListEntry)
class AccessListEntryAdmin(ConsoleAdmin):
    """Entries of access lists. Entries without a key are on the global list."""

    help = "how-to/use-the-console#people--access"
    in_any_scope = True
    add_action = Action(
        label="Add entries",
        done="Created",
        text="As soon as a list has an entry, its keys can call only from the addresses on the list.",
        icon="playlist_add",
        run=_add_new,
        access=KEY_WRITERS,
        form=NewEntriesForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "change": EntryAction(
            label="Change", done="Changed", icon="edit", run=_change, access=KEY_WRITERS, form=EntryForm
        ),
        "remove": EntryAction(
            label="Delete",
            done="Deleted",
            text="Without entries, a list allows every address.",
            icon="delete",
            danger=True,
            run=_remove,
            access=KEY_WRITERS,
            form=RemovalForm,
        ),
    }
    list_display = ["range", "held_to_it", "description", "created", "updated", "last_used"]
    list_select_related = ["api_key"]
    search_fields = ["description", "api_key__public_key"]
    ordering = ["created", "id"]
    fields = ["id", "range", "held_to_it", "api_key", "description", "created", "updated", "last_used"]
    empty_text = "No access list entries yet. Keys can call from every address."

    @admin.display(description="range", ordering="cidr_block")
    def range(self, entry: AccessListEntry) -> str:
        """The addresses that the entry allows."""
        return entry.cidr_block

    @admin.display(description="applies to", ordering="api_key")
    def held_to_it(self, entry: AccessListEntry) -> str | SafeString:
        """The keys that the list applies to. Operators who can see the entry can see the key."""
        return link(page_url(entry.api_key), entry.api_key) if entry.api_key else "keys with a global role"

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Entries of keys with a role in a scope that the operator can read."""
        return rows.filter(api_key_id__in=holders(visible_scope, "api_key_id"))
