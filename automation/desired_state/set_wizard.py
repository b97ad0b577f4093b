"""The wizard that adds a new replica set to the automation configuration of a project.

It asks for the project, then for the replica set, and shows the plan before it publishes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.functional import cached_property

from accesslist.forms import InProjectForm, ScopeField
from accesslist.models import Project
from automation.access import WRITE_CONFIG
from automation.desired_state.changes import NEW_PROJECT_TEXT, masked_text
from automation.desired_state.document.publish import NEW_PROJECT
from automation.desired_state.document.replica_sets import (
    MOST_MACHINES,
    NewVersion,
    WantedFault,
    WantedReplicaSet,
    data_bases,
    feature_version,
    replica_set_faults,
    version_names,
    with_replica_set,
)
from automation.desired_state.document.text import read, write
from automation.desired_state.editor import DraftForm, published
from automation.desired_state.set_wizard_inputs import (
    NEW_VERSION,
    OTHER_VERSION,
    machine_input,
    wizard_inputs,
)
from automation.desired_state.set_wizard_page import (
    SHOWN_MACHINES,
    NewMember,
    SetWizardPage,
    automation_agents,
)
from automation.desired_state.store import newest_revision
from automation.sections import items, machine_key, machine_keys
from automation.turns.console import plan_url
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Operator
from opsapi.console.actions import Action
from opsapi.roles import Scope

CHANGED: Final = (
    "The configuration is at version {current} now, not {base}. Read the new plan, below. Then publish."
)


class NewReplicaSetForm(DraftForm, InProjectForm):
    """The project; for a chosen project, the replica set.

    `version`: the name of a version of the document, or the fields of a new version count.
    """

    fields_template = "console/new_replica_set_fields.html"

    class Media:
        css = {"all": ["console/plan.css", "console/form-rows.css", "console/set-wizard.css"]}

    base = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: Any = None, **options: Any) -> None:
        operator, given = options["operator"], options.get("initial") or {}
        choice = ScopeField("project")
        choice.narrow(operator)
        asked = data.get("group") if data is not None else given.get("group") or choice.only_choice()
        self.project = _writable_project(choice, operator, asked)
        self._is_question = data is not None and self.project is not None and "seen" not in data
        if self._is_question:  # The project was chosen. The page did not show the other fields yet.
            data = None
        elif data is not None and "version" not in data:  # The configuration had no versions then.
            data = data.copy()
            data["version"] = OTHER_VERSION
        if self.project is not None:
            options["initial"] = {**given, "group": self.project.pk}
        super().__init__(data, **options)

    @property
    def is_question(self) -> bool:
        return self._is_question

    # --- inputs ------------------------------------------------------------------------------------

    def add_inputs(self) -> None:
        """The inputs of the replica set, if the project is known."""
        if self.project is None:
            del self.fields["seen"], self.fields["base"]
        else:
            self.fields["group"].widget = forms.HiddenInput()
            bases = data_bases(self._document)
            inputs = wizard_inputs(
                versions=self._known_versions, machines=self._offered, bases=bases, is_first=self._is_first
            )
            self.fields.update(inputs)

    # --- what is known -----------------------------------------------------------------------------

    @cached_property
    def _read(self) -> tuple[Mapping[str, Any], ApiError | None]:
        """The current document with its secrets redacted, or why it cannot be read."""
        try:
            revision = newest_revision(self.group_id)
            return read(masked_text(revision) if revision else NEW_PROJECT_TEXT), None
        except ApiError as refusal:
            return NEW_PROJECT, refusal

    @property
    def _document(self) -> Mapping[str, Any]:
        return self._read[0]

    @property
    def _is_first(self) -> bool:
        return bool(self._document["version"] == NEW_PROJECT["version"])

    @cached_property
    def _known_versions(self) -> Sequence[str]:
        """The versions of the document that a new replica set can have."""
        return [name for name in version_names(self._document) if feature_version(name) is not None]

    @cached_property
    def page(self) -> SetWizardPage:
        """The groups of the inputs, and the agents of the machines."""
        return SetWizardPage(self, automation_agents(self.group_id))

    @cached_property
    def _offered(self) -> Sequence[str]:
        """The machines to begin with: their agents report, and the document has no process on them."""
        used = {key for _, process in items(self._document, "processes") for key in machine_keys(process)}
        free = [
            name
            for name, agent in self.page.agents.items()
            if agent.is_alive and machine_key(name) not in used
        ]
        return free[:SHOWN_MACHINES]

    @property
    def group_id(self) -> str:
        return str(self.project.pk) if self.project is not None else ""

    # --- the draft ---------------------------------------------------------------------------------

    @property
    def asks_for_preview(self) -> bool:
        """Also before the first plan was shown."""
        return super().asks_for_preview or not self.cleaned_data["seen"]

    def clean_group(self) -> Project:
        """The project, if the operator may publish its configuration."""
        group = cast(Project, self.cleaned_data["group"])
        try:
            self.operator.authorise_at(WRITE_CONFIG.roles, Scope(group_id=group.pk))
        except ApiError as refusal:
            raise ValidationError(str(refusal.document()["detail"])) from None
        return group

    def clean(self) -> dict[str, Any]:
        """Check the replica set against the current document."""
        super().clean()
        if self.project is None:
            return self.cleaned_data
        if refusal := self._read[1]:
            self.add_refusal(refusal)
            return self.cleaned_data
        if self._has_new_version:
            self._check_new_version()
        else:
            for name in NEW_VERSION:
                self.errors.pop(name, None)
        if not self._machines:
            self.add_error(machine_input(0), "Enter at least one machine.")
        if not self.errors:
            for fault in replica_set_faults(self._document, self.wanted):
                self.add_error(self._field_of_fault(fault), fault.message)
        return self.cleaned_data

    @property
    def _has_new_version(self) -> bool:
        return str(self.cleaned_data.get("version", OTHER_VERSION)) == OTHER_VERSION

    def _check_new_version(self) -> None:
        for name in NEW_VERSION:
            if not self.cleaned_data.get(name) and name not in self.errors:
                self.add_error(name, "This field is required for another version.")

    @property
    def _machines(self) -> Mapping[str, str]:
        """The machines by the names of their inputs."""
        names = (machine_input(place) for place in range(MOST_MACHINES))
        return {name: machine for name in names if (machine := self.cleaned_data.get(name))}

    def _field_of_fault(self, fault: WantedFault) -> str:
        if fault.field == "machines":
            return list(self._machines)[fault.machine]
        return "new_version" if fault.field == "version" and self._has_new_version else fault.field

    @property
    def wanted(self) -> WantedReplicaSet:
        """The replica set, from valid input."""
        typed = self.cleaned_data
        new = (
            NewVersion(
                name=typed["new_version"],
                url=typed["url"],
                commit=typed["commit"].lower(),
                platform=typed["platform"],
                architecture=typed["architecture"],
            )
            if self._has_new_version
            else typed["version"]
        )
        return WantedReplicaSet(
            name=typed["name"],
            machines=list(self._machines.values()),
            port=typed["port"],
            version=new,
            data_base=typed["data_base"],
            download_base=typed.get("download_base", ""),
            rotates_logs=typed["rotates_logs"],
            has_arbiter=typed["has_arbiter"],
        )

    def draft_text(self) -> str:
        """The current document with the replica set."""
        return write(with_replica_set(self._document, self.wanted))

    @property
    def not_seen(self) -> str:
        """Whether the input or the configuration changed since the page showed a plan."""
        base, current = self.cleaned_data.get("base"), self._document["version"]
        return super().not_seen if base == current else CHANGED.format(current=current, base=base)

    def add_refusal(self, refusal: ApiError) -> None:
        """If another version was published meanwhile, the form shows the plan for that version."""
        if refusal.code is not ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION:
            super().add_refusal(refusal)
            return
        for name in ("_read", "_known_versions", "digest", "plan"):
            self.__dict__.pop(name, None)
        self.full_clean()
        if self.plan is not None:
            super().add_refusal(refusal)

    # --- the page ----------------------------------------------------------------------------------

    @property
    def step(self) -> int:
        """The number of the step that the page shows."""
        return 2 if self.plan is not None else 1

    @property
    def button(self) -> str:
        if self.project is None:
            return "Continue"
        return "Publish" if self.shown_digest else "Show the plan"

    @property
    def second_button(self) -> tuple[str, str] | None:
        """Shows the plan of changed input."""
        return (self.preview_name, "Show the plan again") if self.shown_digest else None

    @property
    def skip(self) -> tuple[str, str] | None:
        """Back to the plan of the project."""
        return ("Cancel", plan_url(self.group_id)) if self.project is not None else None

    @property
    def shown_base(self) -> int:
        """The version of the configuration to which the shown plan adds the replica set."""
        return int(self._document["version"])

    @property
    def members(self) -> Sequence[NewMember]:
        """The processes of the replica set, from valid input."""
        return self.page.members(self._document, self.wanted)


def _writable_project(choice: ScopeField, operator: Operator, pk: Any) -> Project | None:
    """The project, if the operator may publish its configuration."""
    try:
        project = cast(Project, choice.clean(pk))
        operator.authorise_at(WRITE_CONFIG.roles, Scope(group_id=project.pk))
    except (ValidationError, ApiError):
        return None
    return project


NEW_REPLICA_SET = Action(
    label="New replica set",
    text="Adds a replica set to the automation configuration of a project. The agents of its machines "
    "download MongoDB, start the members and initiate the set. You read the plan before it is published.",
    icon="add",
    run=published,
    access=WRITE_CONFIG,
    form=NewReplicaSetForm,
)
"""The wizard, on the list of revisions, the page of the plan, and the list of replica sets."""
