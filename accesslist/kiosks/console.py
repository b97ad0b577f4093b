"""Kiosks in the console: created with an address that is shown once, listed, and revoked."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.safestring import SafeString
from unfold.decorators import display

from accesslist.access import READ_ORG, READ_PROJECT
from accesslist.forms import ScopedForm, ScopeField
from accesslist.kiosks.changes import kiosk_create, kiosk_revoke
from accesslist.kiosks.models import Kiosk
from accesslist.kiosks.store import visible_kiosks
from opsapi import clock
from opsapi.api.permissions import Access, Where
from opsapi.api.principal import VisibleScope
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.display import moment
from opsapi.console.forms import line_field
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Tone
from opsapi.page_paths import KIOSK_PATH
from opsapi.roles import Scope

_LONGEST_DESC = 250
_DAYS = (7, 30, 90, 365)
_USUAL = 90
_LABELS = {"valid": Tone.GOOD, "ended": Tone.PLAIN}
_SOMEWHERE = Access(Where.SOMEWHERE, (*READ_PROJECT.roles, *READ_ORG.roles))


def _access_of(kiosk: Kiosk | None) -> Access:
    """As for reading its project or organization."""
    if kiosk is None:
        return _SOMEWHERE
    return READ_PROJECT if kiosk.project_id else READ_ORG


class KioskForm(ScopedForm):
    """A new kiosk."""

    from_address = frozenset({"project", "org"})

    desc = line_field(_LONGEST_DESC, label="Description", help_text="Where the screen is, for example.")
    project = ScopeField("project", label="Project", required=False)
    org = ScopeField(
        "org", label="Organization", required=False, help_text="Instead of a project: all projects of it."
    )
    days = forms.TypedChoiceField(
        label="Valid for",
        coerce=int,
        choices=[(days, f"{days} days") for days in _DAYS],
        initial=_USUAL,
        help_text="You can revoke it before. It also ends when you lose the role to read what it shows.",
    )

    def clean(self) -> dict[str, Any]:
        """Exactly one of project and organization."""
        typed = super().clean() or {}
        if not self.errors and bool(typed["project"]) is bool(typed["org"]):
            raise ValidationError("Choose a project or an organization.")
        return typed

    def scope(self) -> Scope:
        """The project or the organization."""
        project, org = self.cleaned_data["project"], self.cleaned_data["org"]
        return Scope(group_id=project.id) if project else Scope(org_id=org.id)

    @property
    def values(self) -> Mapping[str, Any]:
        """See `accesslist.kiosks.changes.kiosk_create`."""
        typed = self.cleaned_data
        return {"here": self.scope(), "desc": typed["desc"], "lasts": timedelta(days=typed["days"])}


def _create(call: ActionCall) -> ActionOutcome:
    here: Scope = call.values["here"]
    call.operator.authorise_at((READ_PROJECT if here.group_id else READ_ORG).roles, here)
    new = kiosk_create(**call.values, actor=call.actor, now=call.now)
    # Only the response to this request contains the token: no message, cookie or session keeps it.
    context = {"kiosk": new.kiosk, "address": f"{call.address}{KIOSK_PATH}#{new.token}"}
    return ActionOutcome(row=new.kiosk, template="console/new_kiosk.html", context=context)


@admin.register(Kiosk)
class KioskAdmin(ConsoleAdmin):
    """Kiosks. The page after creation shows the address once."""

    help = "how-to/use-the-console#kiosks"
    in_any_scope = True
    add_action = Action(
        label="New kiosk",
        done="Created",
        text="Anybody with its address sees the fleet map and the alerts that need somebody, with the names "
        "of hosts, without a log-in. The address opens nothing else. The next page shows it, only once.",
        run=_create,
        access=_access_of,
        form=KioskForm,
    )
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "revoke": Action(
            label="Revoke",
            done="Revoked",
            text="Its address shows nothing from now on.",
            run=lambda call: kiosk_revoke(kiosk=call.row, actor=call.actor, now=call.now),
            access=_access_of,
            icon="delete",
            danger=True,
        ),
    }
    list_display = ["desc", "place", "state", "expires", "creator", "created"]
    list_select_related = ["org", "project", "creator"]
    search_fields = ["desc", "project__name", "org__name", "id__exact"]
    ordering = ["-created", "id"]
    fields = ["desc", "place", "state", "valid_until", "creator", "created", "id"]
    empty_text = (
        "No kiosks yet. A kiosk is an address for a screen on a wall: it shows the fleet and the alerts that "
        "need somebody, without a log-in."
    )

    def visible_in_scope(self, rows: QuerySet[Any], visible_scope: VisibleScope) -> QuerySet[Any]:
        return visible_kiosks(rows, visible_scope)

    def scope_of(self, row: Any) -> Scope:
        kiosk: Kiosk = row
        return Scope(org_id=kiosk.org_id, group_id=kiosk.project_id)

    @admin.display(description="shows")
    def place(self, kiosk: Kiosk) -> str:
        return kiosk.place

    @display(description="state", label=_LABELS)  # type: ignore[untyped-decorator]  # the theme is not typed
    def state(self, kiosk: Kiosk) -> str:
        return "valid" if clock.now() < kiosk.expires else "ended"

    @admin.display(description="valid until")
    def valid_until(self, kiosk: Kiosk) -> SafeString | str:
        return moment(kiosk.expires)
