"""Access lists in the console: the global list and the lists of keys."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accesslist.admin.key_actions import WRITERS, EntryAction
from accesslist.admin.roles import holders
from accesslist.forms.access_lists import EntryForm, NewEntriesForm, RemovalForm
from accesslist.models import AccessListEntry, ApiKey
from accesslist.network_access import list_of
from accesslist.rules.access_lists import ListWriter, keeps_out, verdict
from accesslist.selectors.access_lists import blocks_of
from accesslist.services.access_lists import (
    access_list_entries_create,
    access_list_entry_delete,
    access_list_entry_update,
)
from opsapi.api.addresses import is_exempt
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import page_url
from opsapi.console.display import link
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline, Section

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
        cidr_block=call.values["ranges"],
        description=call.values["description"] or None,
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

    section = Section.ACCESS
    icon = "playlist_add_check"
    rank = 60
    add_action = Action(
        label="Add entries",
        done="Created",
        text="As soon as a list has an entry, its keys can call only from the addresses on the list.",
        icon="playlist_add",
        run=_add_new,
        access=WRITERS,
        form=NewEntriesForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "change": EntryAction(
            label="Change", done="Changed", icon="edit", run=_change, access=WRITERS, form=EntryForm
        ),
        "remove": EntryAction(
            label="Delete",
            done="Deleted",
            text="Without entries, a list allows every address.",
            icon="delete",
            danger=True,
            run=_remove,
            access=WRITERS,
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

    def visible(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Entries of keys with a role in a scope that the operator can read."""
        return (
            rows
            if visible_scope.everything
            else rows.filter(api_key_id__in=holders(visible_scope, "api_key_id"))
        )

    def is_shown_to(self, visible_scope: VisibleScope) -> bool:
        """Any key can have a list."""
        return bool(visible_scope)
