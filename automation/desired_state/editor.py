"""The form that changes an automation configuration: it shows the plan before it publishes."""

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Final

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property
from django.utils.text import capfirst

from automation.access import WRITE_CONFIG
from automation.desired_state.changes import automation_config_publish, masked_text
from automation.desired_state.document.publish import Publication
from automation.desired_state.document.text import for_people, read_sent
from automation.desired_state.previews import preview_of
from automation.turns.console import is_current, plan_url
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.console.actions import Action, ActionCall, ActionOutcome
from opsapi.console.forms import VERBATIM, ConsoleForm, DocumentInput

LONGEST_EDITED: Final = 200_000
"""Characters of a document that a page can edit."""
NOT_SEEN = "Read what the agents would do, below. Then publish."
TOO_LONG = "This configuration is too long to edit here. Publish it with the API."

_LINE: Final = re.compile(r"at line (\d+)")
_MOST_SHOWN: Final = 100
"""Characters of a line that a fault shows."""


class DraftForm(ConsoleForm):
    """A draft of the configuration of a project. It is published only if its plan was shown.

    `seen`: the digest of the draft whose plan the page shows.
    """

    fields_template = "console/draft_fields.html"
    preview_name: ClassVar[str] = "preview"
    """The button that shows the plan, without publishing."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def group_id(self) -> str:
        """The project of the draft."""
        raise NotImplementedError

    def draft_text(self) -> str:
        """The text of the draft, from valid input."""
        raise NotImplementedError

    def publish(self, *, dry_run: bool, **conditions: Any) -> Publication:
        """Publish the draft, or check it.

        Raises: ApiError: as `automation_config_publish`, or because the text is no JSON object.
        """
        sent, unstorable = read_sent(self.draft_text())
        return automation_config_publish(
            group_id=self.group_id,
            sent=sent,
            unstorable=unstorable,
            if_match=None,
            dry_run=dry_run,
            **conditions,
        )

    @cached_property
    def digest(self) -> str:
        """The digest of the draft."""
        return hashlib.sha256(self.draft_text().encode()).hexdigest()

    @cached_property
    def plan(self) -> Mapping[str, Any] | None:
        """The preview; None before a valid draft was sent."""
        if not self.is_bound or not super().is_valid():
            return None
        now = clock.now()
        actor = self.operator.actor()
        return preview_of(lambda: self.publish(dry_run=True, actor=actor, now=now), self.group_id, now)

    @property
    def asks_for_preview(self) -> bool:
        """Whether only the plan is requested."""
        return self.preview_name in self.data

    @property
    def not_seen(self) -> str:
        """Why a draft is not published whose plan the page did not show."""
        return NOT_SEEN

    def is_valid(self) -> bool:
        """Not valid while only a preview is requested, and before the plan of this draft was shown."""
        if not super().is_valid() or self.plan is None or self.asks_for_preview:
            return False
        if self.cleaned_data["seen"] != self.digest and "refusal" not in self.plan:
            self.add_error(None, self.not_seen)
            return False
        return True

    @property
    def shown_digest(self) -> str:
        """The digest that the page sends back: of the draft whose plan it shows."""
        return self.digest if self.plan and "refusal" not in self.plan else ""

    @property
    def values(self) -> Mapping[str, Any]:
        return {"form": self}

    def field_of(self, path: str) -> str | None:
        """None: the names of faults are places in the document."""
        return None


class EditForm(DraftForm):
    """The document of the current revision, with its secrets redacted."""

    document = DocumentInput(
        label="Configuration",
        max_length=LONGEST_EDITED,
        help_text="JSON. Secrets are shown as ******, which keeps them. The version must stay as it is.",
        strip=False,  # the lines of a fault are counted from the first that was typed
        widget=forms.Textarea({**VERBATIM, "class": "draft-document"}),
    )

    class Media:
        css = {"all": ["console/plan.css"]}

    def stored(self) -> Mapping[str, Any]:
        """The document; if it is too long or cannot be decrypted, the reason, which nobody can publish."""
        try:
            text = for_people(masked_text(self.row))
        except ApiError as refusal:
            return {"document": str(refusal.document()["detail"])}
        return {"document": text if len(text) <= LONGEST_EDITED else TOO_LONG}

    def clean_document(self) -> str:
        """The text, if it is a JSON object; a fault has the text of its line."""
        text = str(self.cleaned_data["document"])
        try:
            read_sent(text)
        except ApiError as refusal:
            reason = str(refusal.parameters[0])
            place = _LINE.search(reason)
            line = text.split("\n")[int(place[1]) - 1].strip()[:_MOST_SHOWN] if place else ""
            raise ValidationError(f"{capfirst(reason)}{f': {line}' if line else '.'}") from None
        return text

    @property
    def group_id(self) -> str:
        return str(self.row.group_id)

    def draft_text(self) -> str:
        return str(self.cleaned_data["document"])

    def fault_places(self) -> Collection[str]:
        return ()


def published(call: ActionCall) -> ActionOutcome:
    """Publish the draft of the form, and lead to its plan."""
    form: DraftForm = call.values["form"]
    draft = form.publish(dry_run=False, actor=call.actor, now=call.now)
    if not draft.changes_something:
        return ActionOutcome(message="The configuration is identical; nothing was published.")
    number = draft.new["version"]
    return ActionOutcome(message=f"Version {number} was published.", url=plan_url(form.group_id))


EDIT = Action(
    label="Change the configuration",
    button="Publish",
    text="Shows what the agents would do, and publishes the changed configuration as the next version.",
    icon="edit",
    run=published,
    access=WRITE_CONFIG,
    form=EditForm,
    offered=lambda revision, _now: is_current(revision),
)
"""The action on the page of the current revision."""
