"""The form that changes many alert configurations: it shows what changes in each rule before it saves."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from django import forms
from django.utils.functional import cached_property

from alerting.configs.bulk import BulkChange, BulkEdit, destination_key, without_identity
from alerting.configs.choices import PeopleType
from alerting.configs.models import AlertConfig
from alerting.configs.notification_types import NOTIFICATION_TYPES, receiver_sentence
from alerting.configs.resource import AlertConfigChange, GlobalAlertConfigDocument, config_document
from events.choices import DiffType
from events.diffs import ChangedResource, changed_resources, diff
from integrations.channels.email import EMAIL
from integrations.models import Integration
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.forms import ConsoleForm
from opsapi.wire_json import JsonObject

NOT_SEEN: Final = "Read what changes in each rule, below. Then save."
_MEANWHILE: Final = "was changed meanwhile. Nothing was changed; read the changes again."
_LONGEST_DELAY: Final = 100_000
_OWN_ADDRESS: Final = "address"
_WORDS: Mapping[BulkChange, str] = {
    BulkChange.ENABLE: "Enable",
    BulkChange.DISABLE: "Disable",
    BulkChange.ADD: "Add a destination",
    BulkChange.REMOVE: "Remove a destination",
    BulkChange.DELAY: "Set the delay of messages",
    BulkChange.INTERVAL: "Set the interval of reminders",
}
_FIELDS: Mapping[BulkChange, Sequence[str]] = {
    BulkChange.ADD: ["added"],
    BulkChange.REMOVE: ["destination"],
    BulkChange.DELAY: ["minutes"],
    BulkChange.INTERVAL: ["minutes"],
}
"""The fields that a change needs."""


@dataclass(frozen=True, slots=True)
class RuleChange:
    """What changes in a rule. `refusal`: why it cannot be saved; empty if it can."""

    config: AlertConfig
    resource: ChangedResource | None
    refusal: str = ""


class BulkRulesForm(ConsoleForm):
    """One change of all selected rules. It is saved only if the page has shown what changes.

    `seen`: the change that the page shows, and when each rule was changed last.
    """

    fields_template = "console/bulk_rules.html"
    fieldsets = (
        ("", ("change",)),
        ("Add a destination", ("added", "address")),
        ("Remove a destination, or choose whose delay or interval changes", ("destination",)),
        ("Delay or interval", ("minutes",)),
    )
    preview_name: ClassVar[str] = "preview"
    """The button that shows what changes, without saving."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    change = forms.ChoiceField(
        label="Change", choices=[("", "Choose"), *((change.value, words) for change, words in _WORDS.items())]
    )
    added = forms.ChoiceField(
        label="Added destination",
        required=False,
        help_text="A rule that has it already stays as it is. It gets messages without delay.",
    )
    address = forms.CharField(
        label="E-mail address", required=False, max_length=254, help_text="Only for “An e-mail address”."
    )
    destination = forms.ChoiceField(
        label="Destination",
        required=False,
        help_text="The destinations of the selected rules. All: only for the delay and the interval.",
    )
    minutes = forms.IntegerField(
        label="Minutes",
        required=False,
        min_value=0,
        max_value=_LONGEST_DELAY,
        help_text="Of the delay of the first message, or between reminders.",
    )

    def add_inputs(self) -> None:
        """The destinations of the rules, and the destinations that can be added."""
        counted = Counter(key for keys in map(set, map(_keys, self.documents.values())) for key in keys)
        known = [
            (key, f"{receiver_sentence(notification)} ({counted[key]} of {len(self.rows)})")
            for key, notification in self.destinations.items()
        ]
        fields: Mapping[str, Any] = self.fields
        fields["destination"].choices = [("", "All"), *known]
        offered = [(key, receiver_sentence(notification)) for key, notification in self.offered.items()]
        fields["added"].choices = [("", "Choose"), *offered, (_OWN_ADDRESS, "An e-mail address")]

    # --- rules -----------------------------------------------------------------------------------------

    @cached_property
    def documents(self) -> Mapping[str, JsonObject]:
        """The documents of the rules as the API shows them, by their IDs."""
        by_kind: dict[Any, list[str]] = {}
        for row in self.rows:
            by_kind.setdefault(config_document(row.group_id), []).append(row.id)
        return {
            facts["id"]: facts
            for kind, ids in by_kind.items()
            for facts in map(kind.facts, kind.rows(AlertConfig.objects.filter(id__in=ids)))
        }

    @cached_property
    def destinations(self) -> Mapping[str, Mapping[str, Any]]:
        """The notifications of the rules by the key of their destination."""
        return {
            destination_key(notification): notification
            for row in self.rows
            for notification in self.documents.get(row.id, {}).get("notifications", ())
        }

    @cached_property
    def offered(self) -> Mapping[str, Mapping[str, Any]]:
        """The notifications that can be added.

        They are the destinations of the rules that need no secret, the members of the project, and the
        services of the projects.
        """
        groups = {row.group_id for row in self.rows if row.group_id}
        stored = Integration.objects.filter(group_id__in=groups).values_list("type", flat=True)
        types = [name for name in dict.fromkeys(stored.order_by("type")) if name in NOTIFICATION_TYPES]
        of_rules = filter(_needs_no_secret, self.destinations.values())
        members = {"typeName": PeopleType.GROUP.value, "emailEnabled": True, "smsEnabled": False}
        added: list[Mapping[str, Any]] = [
            members,
            *({"typeName": name} for name in types),
            *map(without_identity, of_rules),
        ]
        return {destination_key(notification): notification for notification in added}

    # --- input -----------------------------------------------------------------------------------------

    def clean(self) -> dict[str, Any]:
        """A change needs its fields."""
        super().clean()
        values = self.cleaned_data
        change = BulkChange(values["change"]) if "change" in values else None
        for name in _FIELDS.get(change, ()) if change else ():
            if values.get(name) in (None, "") and name not in self.errors:
                self.add_error(name, f"“{_WORDS[BulkChange(values['change'])]}” needs this.")
        if values.get("added") == _OWN_ADDRESS and not values.get("address"):
            self.add_error("address", "Enter the address.")
        return values

    @cached_property
    def edit(self) -> BulkEdit | None:
        """The change; None as long as the input is wrong."""
        if not self.is_bound or self.errors:
            return None
        typed = self.cleaned_data
        change = BulkChange(typed["change"])
        return BulkEdit(
            change,
            destination=typed["destination"],
            added=self._added() if change is BulkChange.ADD else None,
            minutes=typed["minutes"],
        )

    def _added(self) -> Mapping[str, Any]:
        chosen = self.cleaned_data["added"]
        address = {"typeName": EMAIL.type, "emailAddress": self.cleaned_data["address"]}
        receiver = address if chosen == _OWN_ADDRESS else self.offered[chosen]
        interval = NOTIFICATION_TYPES[receiver["typeName"]].default_interval_min
        rhythm = {"delayMin": 0, **({"intervalMin": interval} if interval else {})}
        rest = {name: value for name, value in receiver.items() if name not in {"delayMin", "intervalMin"}}
        return {**rest, **rhythm}

    # --- preview ---------------------------------------------------------------------------------------

    @cached_property
    def preview(self) -> Sequence[RuleChange]:
        """What changes in each rule; empty before a valid change was sent."""
        return [self._previewed(row) for row in self.rows] if self.edit else []

    def _previewed(self, row: AlertConfig) -> RuleChange:
        facts = self.documents.get(row.id)
        if facts is None or self.edit is None:
            return RuleChange(row, None, "The rule does not exist any more.")
        changes = self.edit.changes(facts)
        if not changes:
            return RuleChange(row, None)
        [resource] = changed_resources(
            diff(DiffType.ALERT_CONFIG, row.id, old=facts, new={**facts, **changes}), _plain_quantity
        )
        return RuleChange(row, resource, self._refusal(row, facts, changes))

    def _refusal(self, row: AlertConfig, facts: JsonObject, changes: JsonObject) -> str:
        try:
            bulk_values(row, facts, changes)
        except ApiError as refusal:
            return str(refusal.document()["detail"])
        return ""

    @property
    def changed(self) -> Sequence[RuleChange]:
        """The rules that change."""
        return [rule for rule in self.preview if rule.resource or rule.refusal]

    @property
    def unchanged(self) -> int:
        """The number of rules that stay as they are."""
        return len(self.preview) - len(self.changed)

    @property
    def shown_seen(self) -> str:
        """What the page shows, which its next submission must name."""
        return json.dumps({"edit": self._digest, "updated": self._updated}) if self.preview else ""

    @property
    def _digest(self) -> str:
        return hashlib.sha256(repr(self.edit).encode()).hexdigest()

    @property
    def _updated(self) -> Mapping[str, str]:
        return {row.id: row.updated.isoformat() for row in self.rows}

    @cached_property
    def _seen(self) -> Mapping[str, Any]:
        """What the submitted page had shown; empty for none."""
        try:
            seen = json.loads(self.cleaned_data.get("seen") or "{}")
        except ValueError:
            return {}
        return seen if isinstance(seen, dict) else {}

    # --- result ----------------------------------------------------------------------------------------

    def is_valid(self) -> bool:
        """Not valid before the page has shown what changes, and if a rule is refused or was changed since."""
        if not super().is_valid() or not self.preview or self.preview_name in self.data:
            return False
        for fault in self._faults():
            self.add_error(None, fault)
        return not self.errors

    def _faults(self) -> Iterable[str]:
        if self._seen.get("edit") != self._digest:
            yield NOT_SEEN
            return
        seen = self._seen.get("updated") or {}
        for row in self.rows:
            if seen.get(row.id) != self._updated[row.id]:
                yield f"{row} {_MEANWHILE}"
        for rule in self.preview:
            if rule.refusal:
                yield f"{rule.config}: {rule.refusal} Nothing was changed."
        if not self.changed:
            yield "No rule changes."

    @property
    def values(self) -> Mapping[str, Any]:
        """The change, and when each rule was changed last."""
        return {"edit": self.edit, "updated": self._updated}


def bulk_values(config: AlertConfig, facts: JsonObject, changes: JsonObject) -> Mapping[str, Any]:
    """The columns that change, checked as the API checks them.

    Raises:
        ApiError: with every wrong field.
    """
    context = {
        "stored": facts,
        "group_id": config.group_id,
        "settings": list(config.settings.all()),
    }
    if config_document(config.group_id) is not GlobalAlertConfigDocument:
        return AlertConfigChange(context=context).read(changes)
    if "enabled" in changes:
        return changes
    # Global configurations are only written as a whole.
    whole = {name: value for name, value in {**facts, **changes}.items() if value not in (None, "", [])}
    return {"notifications": GlobalAlertConfigDocument(context=context).read(whole)["notifications"]}


def bulk_read(edit: BulkEdit, updated: str, config: AlertConfig) -> Mapping[str, Any]:
    """The columns that change in a locked rule, which was changed last at `updated` when it was shown.

    Raises:
        ApiError: INVALID_ATTRIBUTE, if it was changed since; with every wrong field.
    """
    if config.updated.isoformat() != updated:
        raise ApiError.of_field("updated", ErrorCode.INVALID_ATTRIBUTE, _MEANWHILE)
    facts = config_document(config.group_id).stored(config)
    changes = edit.changes(facts)
    return bulk_values(config, facts, changes) if changes else {}


def _keys(document: Mapping[str, Any]) -> Iterable[str]:
    return map(destination_key, document["notifications"])


def _needs_no_secret(notification: Mapping[str, Any]) -> bool:
    kind = NOTIFICATION_TYPES[notification["typeName"]]
    return not any(name in notification for name in kind.secret_fields)


def _plain_quantity(number: float, units: str) -> str:
    return f"{number:g} {units}"
