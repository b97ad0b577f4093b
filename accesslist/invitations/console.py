"""Invitations in the console: invite, and the open invitations."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accesslist.access import INVITE_TO_ORG, INVITE_TO_PROJECT
from accesslist.invitations.changes import IssuedInvitation, invitation_change, invitation_revoke
from accesslist.invitations.forms import (
    GROUP_PREFIX,
    ORG_PREFIX,
    InvitationRolesForm,
    InviteForm,
    PlaceForm,
    scope_of_place,
)
from accesslist.invitations.inviting import Invited, hand_over, invite, invite_again
from accesslist.invitations.models import Invitation
from accesslist.invitations.store import Places, invitations_managed, places_to_invite
from accesslist.projects.models import Organization, Project
from accesslist.roles.rules import INVITERS
from opsapi import clock
from opsapi.api.permissions import Access
from opsapi.console.actions import Action, ActionCall, ActionOutcome, operator_of
from opsapi.console.admin_urls import action_url
from opsapi.console.display import Context, badge, moment, role_shown
from opsapi.console.error_pages import RoleNeededError
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Tone
from opsapi.roles import Scope, role_names

INVITE = "invite"
"""The name of the action on the page of a project or an organization."""
INVITE_PAGE = "admin:accesslist_invitation_invite"
"""The page that leads there."""


def _invite(call: ActionCall) -> ActionOutcome:
    values = call.values
    issued = invite(
        here=scope_of_place(call.row),
        roles=values["roles"],
        email_address=values["email_address"],
        by=call.operator.grants,
        actor=call.actor,
        now=call.now,
    )
    return _outcome_then_send(call, issued, by_email=values["by_email"])


def _send_again(call: ActionCall) -> ActionOutcome:
    issued = invite_again(
        invitation_id=call.row.id,
        here=call.row.scope,
        by=call.operator.grants,
        actor=call.actor,
        now=call.now,
    )
    return _outcome_then_send(call, issued, by_email=True)


def _outcome_then_send(call: ActionCall, issued: IssuedInvitation, *, by_email: bool) -> ActionOutcome:
    """Send or show the link once the invitation is committed."""

    def after() -> ActionOutcome:
        return _outcome_of_sending(hand_over(issued, by_email=by_email, base=call.address, now=call.now))

    return ActionOutcome(row=issued.invitation, message="The invitation is created.", after=after)


def _outcome_of_sending(invited: Invited) -> ActionOutcome:
    invitation = invited.invitation
    if not invited.link:
        return ActionOutcome(row=invitation, message=f"Invitation sent to {invitation.email_address}.")
    return ActionOutcome(row=invitation, template="console/new_invitation.html", context={"invited": invited})


def invite_action(access: Access) -> Action:
    """The action that invites to a project or an organization."""
    return Action(
        label="Invite",
        button="Invite",
        text="The person opens a link, which works once and for a week, and chooses a name and a password. "
        "A person who has an account already gets the roles.",
        icon="person_add",
        run=_invite,
        access=access,
        form=InviteForm,
        creates=True,
    )


def _access_of(invitation: Invitation | None) -> Access:
    """As the API's route."""
    return INVITE_TO_PROJECT if invitation is not None and invitation.project_id else INVITE_TO_ORG


def may_invite(request: HttpRequest) -> bool:
    """Whether the operator can invite in some scope."""
    return operator_of(request).holds_somewhere(INVITERS)


def invite_button() -> Context:
    """The button of a list that leads to the page of the invitation."""
    return {"action": invite_action(INVITE_TO_ORG), "url": reverse(INVITE_PAGE)}


def who_may_invite() -> str:
    """For operators who may not."""
    return f"You cannot invite people. Ask somebody with one of these roles: {role_names(INVITERS)}."


@admin.register(Invitation)
class InvitationAdmin(ConsoleAdmin):
    """Open invitations, for operators who may invite. The token is stored nowhere."""

    help = "how-to/use-the-console#invite-a-colleague"
    in_any_scope = True
    actions_of_row: ClassVar[Mapping[str, Action]] = {
        "send-again": Action(
            label="Send again",
            text="Creates a new link, valid for a week, and sends it; without an e-mail address, or if the "
            "message cannot be sent, the next page shows the link. The earlier link stops working.",
            icon="forward_to_inbox",
            run=_send_again,
            access=_access_of,
            creates=True,
        ),
        "roles": Action(
            label="Change roles",
            done="Changed",
            text="The link stays valid.",
            icon="badge",
            run=lambda call: invitation_change(
                invitation_id=call.row.id,
                here=call.row.scope,
                roles=call.values["roles"],
                by=call.operator.grants,
                actor=call.actor,
                now=call.now,
            ),
            access=_access_of,
            form=InvitationRolesForm,
        ),
        "revoke": Action(
            label="Revoke",
            done="Revoked",
            text="The link stops working.",
            icon="person_cancel",
            danger=True,
            run=lambda call: invitation_revoke(
                invitation_id=call.row.id, here=call.row.scope, actor=call.actor, now=call.now
            ),
            access=_access_of,
        ),
    }
    list_display = ["invited", "place", "roles_given", "state", "expires", "inviter_name"]
    list_select_related = ["org", "project"]
    search_fields = ["email_address", "inviter_name", "project__name", "org__name", "id__exact"]
    ordering = ["-created", "-id"]
    fields = [
        "id",
        "invited",
        "place",
        "roles_given",
        "state",
        "sent",
        "inviter_name",
        "created",
        "expires",
    ]
    empty_text = "No open invitations."

    def get_urls(self) -> list[URLPattern]:
        """Adds the page that leads to the form of a project or an organization."""
        page = path("invite/", self.admin_site.admin_view(self.invite_view), name=self._name("invite"))
        return [page, *super().get_urls()]

    def invite_view(self, request: HttpRequest) -> HttpResponse:
        """Lead to the form of the chosen place, of the only place, or ask for the place."""
        if not may_invite(request):
            raise RoleNeededError(INVITERS)
        if (chosen := _place_url(request.GET.get("place", ""))) is not None:
            return redirect(chosen)
        places = places_to_invite(operator_of(request).grants)
        if (only := _only(places)) is not None:
            return redirect(action_url(type(only), only.pk, INVITE))
        context = {**self.admin_site.each_context(request), "title": "Invite", "opts": self.opts}
        return TemplateResponse(request, "console/invite.html", {**context, "place_form": PlaceForm(places)})

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The open invitations of the scopes to which the operator may invite."""
        rows = super().get_queryset(request) if operator_of(request).visible_scope().everything else None
        managed = invitations_managed(operator_of(request).grants)
        return managed if rows is None else rows.filter(id__in=managed.values("id"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Others see no e-mail addresses."""
        return bool(super().has_module_permission(request) and may_invite(request))

    def _shown_list_actions(self, request: HttpRequest) -> list[Context]:
        return [invite_button(), *super()._shown_list_actions(request)]

    def scope_of(self, row: Invitation) -> Scope:
        """The project or the organization."""
        return row.scope

    @admin.display(description="for", ordering="email_key")
    def invited(self, invitation: Invitation) -> str:
        """The address, or that anybody with the link can accept."""
        return invitation.email_address or "Anybody with the link"

    @admin.display(description="invited to")
    def place(self, invitation: Invitation) -> str:
        """The project or the organization."""
        words = invitation.place.removeprefix("the ")
        return f"{words[0].upper()}{words[1:]}"

    @admin.display(description="roles")
    def roles_given(self, invitation: Invitation) -> SafeString:
        """The roles."""
        return format_html_join(", ", "{}", ((role_shown(name),) for name in invitation.roles))

    @admin.display(description="state")
    def state(self, invitation: Invitation) -> SafeString:
        """Whether the link still works."""
        if invitation.expires <= clock.now():
            return badge("Expired", Tone.WARNING)
        return badge("Pending", Tone.INFO)

    @admin.display(description="sent by e-mail")
    def sent(self, invitation: Invitation) -> str:
        """When the mail server accepted the message with the current link."""
        return moment(invitation.mailed) if invitation.mailed else "No"


def _place_url(value: str) -> str | None:
    """The form of a place in the list; the page of the form checks whether the operator may invite there."""
    for prefix, model in ((ORG_PREFIX, Organization), (GROUP_PREFIX, Project)):
        if value.startswith(prefix):
            return action_url(model, value.removeprefix(prefix), INVITE)
    return None


def _only(places: Places) -> Organization | Project | None:
    """The only organization, otherwise the only project; None if there are several or none."""
    if len(places.orgs) == 1:
        return places.orgs[0]
    return places.projects[0] if not places.orgs and len(places.projects) == 1 else None
