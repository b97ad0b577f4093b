"""API keys in the console."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet

from accesslist.admin.access_lists import AccessListInline, add_to_key, check_address
from accesslist.admin.key_actions import WRITERS, KeyAction, KeyListAction
from accesslist.admin.roles import RoleGrantInline, WithRoles, holders
from accesslist.forms.access_lists import EntriesForm
from accesslist.forms.keys import AddressForm, ApiKeyForm, DescriptionForm, KeyRolesForm
from accesslist.forms.roles import as_asked
from accesslist.models import ApiKey
from accesslist.rules.administration import writers_of
from accesslist.rules.manageable_scopes import is_within_scope, require_manageable_scopes
from accesslist.rules.role_requests import RoleRequest, scope_of
from accesslist.selectors.access_lists import held_by
from accesslist.selectors.users import orgs_of_groups
from accesslist.services.keys import api_key_delete, api_key_issue, api_key_lock, api_key_update
from accesslist.services.locks import actor_lock_in_turn
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.model_admin import Section
from opsapi.redaction import MASK
from opsapi.roles import INSTALLATION, Grant, Scope

_SHOWN_ONCE = "console/new_key.html"


def _make(call: ActionCall) -> ActionOutcome:
    grants = call.values["grants"]
    for grant in grants:
        call.operator.authorise_at(writers_of(grant.role), grant.scope)
    roles = RoleRequest(as_asked(grants), INSTALLATION, call.operator.grants)
    new_key = api_key_issue(desc=call.values["desc"], roles=roles, actor=call.actor, now=call.now)
    # Only the response to this request contains the private key: no message, cookie or session keeps it.
    context = {"key": new_key.key, "private_key": new_key.private_key}
    return ActionOutcome(row=new_key.key, template=_SHOWN_ONCE, context=context)


def _describe(call: ActionCall) -> None:
    here, *_ = require_manageable_scopes(held_by(call.row), by=call.operator.grants)
    desc = call.values["desc"]
    api_key_update(key_id=call.row.id, here=here, desc=desc, actor=call.actor, now=call.now)


def _change_roles(call: ActionCall) -> None:
    """Change the roles in each scope that the operator manages. No role is in two of these scopes."""
    actor_lock_in_turn(call.actor)
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

    section = Section.ACCESS
    icon = "key"
    rank = 50
    add_action = Action(
        label="New API key",
        done="Created",
        text="The next page shows the private key. It is shown only once.",
        icon="key",
        run=_make,
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
    fields = ["id", "public_key", "private_key", "description", "created"]
    inlines = [RoleGrantInline, AccessListInline]
    empty_text = "No API keys yet."

    @admin.display(description="private key")
    def private_key(self, key: ApiKey) -> str:
        """The last four characters of the private key, the only part stored in plain text."""
        return MASK + key.private_last4

    @admin.display(description="description", ordering="desc")
    def description(self, key: ApiKey) -> str:
        """The description of the key."""
        return key.desc

    def visible(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Keys with a role in a scope that the operator can read."""
        return rows if visible_scope.everything else rows.filter(id__in=holders(visible_scope, "api_key_id"))

    def is_shown_to(self, visible_scope: VisibleScope) -> bool:
        """Any project or organization can have keys."""
        return bool(visible_scope)
