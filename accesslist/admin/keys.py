"""API keys and access lists in the console."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accesslist.access import list_of
from accesslist.admin.roles import RoleGrantInline, WithRoles, holders
from accesslist.forms.access_lists import EntriesForm, EntryForm, NewEntriesForm, RemovalForm
from accesslist.forms.roles import AddressForm, ApiKeyForm, DescriptionForm, KeyRolesForm, as_asked
from accesslist.models import AccessListEntry, ApiKey
from accesslist.rules.access_lists import ListWriter, keeps_out, verdict
from accesslist.rules.administration import (
    GLOBAL_WRITERS,
    GROUP_WRITERS,
    ORG_WRITERS,
    is_within_scope,
    require_manageable_scopes,
    writers_of,
)
from accesslist.rules.role_requests import RoleRequest, scope_of
from accesslist.selectors.keys import blocks_of, held_by, key_creator, last_recorded_use
from accesslist.selectors.users import orgs_of_groups
from accesslist.services.access_lists import (
    access_list_entries_create,
    access_list_entry_delete,
    access_list_entry_update,
)
from accesslist.services.changes import acting
from accesslist.services.keys import api_key_delete, api_key_issue, api_key_lock, api_key_update
from opsapi.api.addresses import is_exempt
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import Operator, VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.admin_urls import page_url
from opsapi.console.display import ago, link
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline, Section
from opsapi.redaction import MASK
from opsapi.roles import INSTALLATION, Grant, Scope

WRITERS = Access(Where.SOMEWHERE, (*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
"""Roles that can write keys in some scope; the roles of the key decide which scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAction(Action):
    """An action on a key in a scope that the operator manages (`accesslist.rules.administration`)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`. The roles of the key decide the scope."""
        require_manageable_scopes(held_by(row), by=operator.grants)


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

    help = "how-to/use-the-console#access"
    section = Section.ACCESS
    icon = "playlist_add_check"
    rank = 60
    in_any_scope = True
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

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Entries of keys with a role in a scope that the operator can read."""
        return rows.filter(api_key_id__in=holders(visible_scope, "api_key_id"))


_SHOWN_ONCE = "console/new_key.html"


def _create(call: ActionCall) -> ActionOutcome:
    values = dict(call.values)
    grants = values.pop("grants")
    for grant in grants:
        call.operator.authorise_at(writers_of(grant.role), grant.scope)
    roles = RoleRequest(as_asked(grants), INSTALLATION, call.operator.grants)
    new_key = api_key_issue(values=values, roles=roles, actor=call.actor, now=call.now)
    # Only the response to this request contains the private key: no message, cookie or session keeps it.
    context = {"key": new_key.key, "private_key": new_key.private_key}
    return ActionOutcome(row=new_key.key, template=_SHOWN_ONCE, context=context)


def _describe(call: ActionCall) -> None:
    here, *_ = require_manageable_scopes(held_by(call.row), by=call.operator.grants)
    api_key_update(key_id=call.row.id, here=here, changes=call.values, actor=call.actor, now=call.now)


def _change_roles(call: ActionCall) -> None:
    """Change the roles in each scope that the operator manages. No role is in two of these scopes."""
    with acting(call.actor, call.now, ends=[call.row.id]):
        held = held_by(api_key_lock(call.row.id))
        revoked, given = call.values["revoked"], call.values["given"]
        orgs = orgs_of_groups(given)
        coming = [(grant, scope_of(grant, orgs)) for grant in given]
        for managed in require_manageable_scopes(held, by=call.operator.grants):
            before = [grant for grant, scope in held if is_within_scope(scope, managed)]
            new = [grant for grant, scope in coming if is_within_scope(scope, managed)]
            wanted = list(dict.fromkeys([*(grant for grant in before if grant not in revoked), *new]))
            if set(wanted) != set(before):
                _replace(call, managed, wanted)


def _replace(call: ActionCall, scope: Scope, wanted: Sequence[Grant]) -> None:
    """Replace the roles in the scope. As in the API, deleting the key there revokes all of them."""
    key_id, actor, now = call.row.id, call.actor, call.now
    if wanted:
        by = call.operator.grants
        api_key_update(key_id=key_id, here=scope, asked=as_asked(wanted), by=by, actor=actor, now=now)
    else:
        api_key_delete(key_id=key_id, here=scope, actor=actor, now=now)


def _delete(call: ActionCall) -> ActionOutcome | None:
    for scope in require_manageable_scopes(held_by(call.row), by=call.operator.grants):
        api_key_delete(key_id=call.row.id, here=scope, actor=call.actor, now=call.now)
    if ApiKey.objects.filter(id=call.row.id).exists():
        return ActionOutcome(
            message=f"Key {call.row.public_key} keeps roles that you do not administer, and was not deleted."
        )
    return None


@admin.register(ApiKey)
class ApiKeyAdmin(WithRoles):
    """API keys. The page after creation shows the private key once."""

    help = "how-to/api-cookbook#before-you-start"
    section = Section.ACCESS
    icon = "key"
    rank = 50
    in_any_scope = True
    add_action = Action(
        label="New API key",
        done="Created",
        text="The next page shows the private key. It is shown only once.",
        icon="key",
        run=_create,
        access=WRITERS,
        form=ApiKeyForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "describe": KeyAction(
            label="Change description",
            done="Changed",
            icon="edit",
            run=_describe,
            access=WRITERS,
            form=DescriptionForm,
        ),
        "roles": KeyAction(
            label="Change roles",
            done="Changed",
            text="Roles that you do not administer are not shown and do not change.",
            icon="badge",
            run=_change_roles,
            access=WRITERS,
            form=KeyRolesForm,
        ),
        "allow": KeyListAction(
            label="Add to access list",
            done="Changed",
            text="As soon as its list has an entry, the key can call only from the addresses on the list.",
            icon="playlist_add",
            run=add_to_key,
            access=WRITERS,
            form=EntriesForm,
        ),
        "check-address": KeyListAction(
            label="Check an address",
            text="Check whether this key can call from an address, with the current access lists.",
            icon="travel_explore",
            run=check_address,
            access=WRITERS,
            form=AddressForm,
        ),
        "delete": KeyAction(
            label="Delete",
            done="Deleted",
            text="Revokes the roles that you administer. A key with no roles left is deleted.",
            icon="delete",
            danger=True,
            run=_delete,
            access=WRITERS,
        ),
    }
    list_display = ["public_key", "private_key", "description", "roles", "created"]
    list_filter = ["created"]
    search_fields = ["public_key", "desc", "id__exact"]
    ordering = ["created", "id"]
    fields = ["id", "public_key", "private_key", "description", "created", "created_by", "last_use"]
    inlines = [RoleGrantInline, AccessListInline]
    empty_text = "No API keys yet."

    @admin.display(description="private key")
    def private_key(self, key: ApiKey) -> str:
        """The last four characters of the private key, the only part stored in plain text."""
        return MASK + key.private_last4

    @admin.display(description="created by")
    def created_by(self, key: ApiKey) -> str:
        """The author of the event that records the creation."""
        return key_creator(key) or "not recorded"

    @admin.display(description="last recorded use")
    def last_use(self, key: ApiKey) -> SafeString | str:
        """The newest event by the key, or call from an address on its list; other calls leave no record."""
        used = last_recorded_use(key)
        return (
            ago(used) if used else "none: only changes, and calls of keys with an access list, are recorded"
        )

    @admin.display(description="description", ordering="desc")
    def description(self, key: ApiKey) -> str:
        """The description of the key."""
        return key.desc

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Keys with a role in a scope that the operator can read."""
        return rows.filter(id__in=holders(visible_scope, "api_key_id"))
