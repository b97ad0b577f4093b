"""API keys in the console: forms, actions and pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.functional import cached_property
from django.utils.safestring import SafeString

from accesslist.access import KEY_WRITERS
from accesslist.access_lists.console import (
    AccessListInline,
    AddressForm,
    EntriesForm,
    KeyListAction,
    add_to_key,
    check_address,
)
from accesslist.changes import acting
from accesslist.keys.changes import api_key_delete, api_key_issue, api_key_lock, api_key_update
from accesslist.keys.models import ApiKey
from accesslist.keys.resource import MOST_HOSTNAMES
from accesslist.keys.store import key_creator, last_recorded_use
from accesslist.roles.console import HeldRolesForm, RoleGrantInline, RolesForm, WithRoles, as_asked, holders
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import (
    RoleRequest,
    is_within_scope,
    manageable_scopes,
    require_manageable_scopes,
    scope_of,
    writers_of,
)
from accesslist.roles.store import held_by, orgs_of_groups
from events.choices import DiffType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Operator, VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.display import ago
from opsapi.console.earlier import EVENT, RevertingForm
from opsapi.console.forms import HostnamesField, line_field
from opsapi.redaction import MASK
from opsapi.roles import INSTALLATION, Grant, Role, Scope

_LONGEST_DESC = 250
_NOT_MANAGEABLE = "You can only change keys that have a role in a project or organization you administer."


def machine_field() -> HostnamesField:
    """The names of the machine of an agent's key."""
    return HostnamesField(
        MOST_HOSTNAMES,
        required=False,
        label="Machine",
        help_text="Optional, for keys whose only role is Agent. Restricts the key to one machine: enter the "
        "name of the agent first, then each other host name and alias of the machine, separated by commas. "
        "The agent then gets only the processes and connection strings of this machine.",
    )


class ApiKeyForm(RolesForm):
    """A new API key with its roles."""

    fieldsets = (("", ("desc",)), *RolesForm.role_fieldsets, ("", ("hostnames",)))

    desc = line_field(_LONGEST_DESC, label="Description")
    hostnames = machine_field()

    def clean(self) -> dict[str, Any]:
        """A key needs a role."""
        values = super().clean()
        if not self.errors and not self.given():
            raise ValidationError("Choose at least one role.")
        return values

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.keys.changes.api_key_issue`."""
        return {
            "desc": self.cleaned_data["desc"],
            "hostnames": self.cleaned_data["hostnames"],
            "grants": self.given(),
        }


class DescriptionForm(RevertingForm):
    """Change the description."""

    from_address = frozenset({EVENT})
    kinds_in_events = frozenset({DiffType.AUTH})
    fields_in_events = frozenset({"desc"})

    desc = line_field(_LONGEST_DESC, label="Description")

    def stored(self) -> Mapping[str, Any]:
        """The stored description."""
        return {"desc": self.row.desc} if self.row else {}


class MachineForm(RevertingForm):
    """Change the machine of an agent's key."""

    from_address = frozenset({EVENT})
    kinds_in_events = frozenset({DiffType.AUTH})
    fields_in_events = frozenset({"hostnames"})

    hostnames = machine_field()

    def stored(self) -> Mapping[str, Any]:
        """The stored names."""
        return {"hostnames": self.row.hostnames} if self.row else {}


class KeyRolesForm(HeldRolesForm):
    """Change the roles of a key in scopes the operator manages (`accesslist.roles.rules`)."""

    @cached_property
    def _manageable_scopes(self) -> list[Scope]:
        return manageable_scopes(held_by(self.row), by=self.operator.grants)

    def may_revoke(self, grant: RoleGrant) -> bool:
        """As in the API route of the project or organization."""
        return any(is_within_scope(grant.scope, managed) for managed in self._manageable_scopes)

    def clean(self) -> dict[str, Any]:
        """The key keeps at least one role; new roles must be in reach of the operator."""
        values = super().clean()
        self._refuse_unmanageable()
        left = self.row.grants.count() - len(self.revoked()) + len(self.given())
        if not self.errors and left <= 0:
            raise ValidationError("A key needs at least one role. To revoke all roles, delete the key.")
        return values

    def _refuse_unmanageable(self) -> None:
        """As in the API, a key is not found in a scope where it has no role."""
        given = self.given()
        orgs = orgs_of_groups(given)
        for asked, grant in zip(as_asked(given), given, strict=True):
            if any(is_within_scope(scope_of(grant, orgs), managed) for managed in self._manageable_scopes):
                continue
            if grant.role.is_global:
                self.add_refusal(ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, grant.role.value))
            else:
                self.add_error(asked.path, _NOT_MANAGEABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAction(Action):
    """An action on a key in a scope that the operator manages (`accesslist.roles.rules`)."""

    def authorise(self, operator: Operator, row: Any, scope: Scope) -> None:
        """See `Action.authorise`. The roles of the key decide the scope."""
        require_manageable_scopes(held_by(row), by=operator.grants)


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


def _change(call: ActionCall) -> None:
    by = call.operator.grants
    here, *_ = require_manageable_scopes(held_by(call.row), by=by)
    api_key_update(key_id=call.row.id, here=here, changes=call.values, by=by, actor=call.actor, now=call.now)


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
    in_any_scope = True
    add_action = Action(
        label="New API key",
        done="Created",
        text="The next page shows the private key. It is shown only once.",
        icon="key",
        run=_create,
        access=KEY_WRITERS,
        form=ApiKeyForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "describe": KeyAction(
            label="Change description",
            done="Changed",
            icon="edit",
            run=_change,
            access=KEY_WRITERS,
            form=DescriptionForm,
        ),
        "machine": KeyAction(
            label="Change machine",
            done="Changed",
            icon="dns",
            run=_change,
            access=KEY_WRITERS,
            form=MachineForm,
            offered=lambda key, _now: all(grant.role == Role.GROUP_AGENT.value for grant in key.grants.all()),
        ),
        "roles": KeyAction(
            label="Change roles",
            done="Changed",
            text="Roles that you do not administer are not shown and do not change.",
            icon="badge",
            run=_change_roles,
            access=KEY_WRITERS,
            form=KeyRolesForm,
        ),
        "allow": KeyListAction(
            label="Add to access list",
            done="Changed",
            text="As soon as its list has an entry, the key can call only from the addresses on the list.",
            icon="playlist_add",
            run=add_to_key,
            access=KEY_WRITERS,
            form=EntriesForm,
        ),
        "check-address": KeyListAction(
            label="Check an address",
            text="Check whether this key can call from an address, with the current access lists.",
            icon="travel_explore",
            run=check_address,
            access=KEY_WRITERS,
            form=AddressForm,
        ),
        "delete": KeyAction(
            label="Delete",
            done="Deleted",
            text="Revokes the roles that you administer. A key with no roles left is deleted.",
            icon="delete",
            danger=True,
            run=_delete,
            access=KEY_WRITERS,
        ),
    }
    list_display = ["public_key", "private_key", "description", "roles", "created"]
    list_filter = ["created"]
    search_fields = ["public_key", "desc", "id__exact"]
    ordering = ["created", "id"]
    fields = [
        "id",
        "public_key",
        "private_key",
        "description",
        "machine",
        "created",
        "created_by",
        "last_use",
    ]
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

    @admin.display(description="machine")
    def machine(self, key: ApiKey) -> str:
        """The names of the machine that the key is for."""
        return ", ".join(key.hostnames or ())

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        """Keys with a role in a scope that the operator can read."""
        return rows.filter(id__in=holders(visible_scope, "api_key_id"))
