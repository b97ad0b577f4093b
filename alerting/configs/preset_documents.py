"""Presets of alert configurations as the API shows and takes them."""

from collections.abc import Iterable

from rest_framework import serializers

from alerting.configs.condition_documents import MetricThresholdDocument, ThresholdDocument
from alerting.configs.presets import Preset, presets_of
from alerting.configs.resource import AlertConfigDocument
from alerting.severities import SEVERITIES
from automation.metrics import Engine
from opsapi.api.answers import Answer
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, ANOTHER_ID, Document, Values, links_of
from opsapi.api.errors import BadField
from opsapi.api.fields import ListOf, OneOf, ShownChoice, ShownId, ShownNumber
from opsapi.wire_json import JsonObject

_NAMES = [preset.value for preset in Preset]


class PresetDocument(Answer):
    """A preset, and whether the project has it."""

    preset = serializers.ChoiceField(_NAMES, source="value")
    engines = serializers.ListField(
        child=serializers.ChoiceField([known.value for known in Engine]), source="spec.engines"
    )
    name = serializers.CharField(source="spec.title", help_text="Name of its configuration.")
    severity = serializers.ChoiceField(
        SEVERITIES, source="spec.severity", help_text="Severity of its configuration."
    )
    meaning = serializers.CharField(
        source="spec.meaning", help_text="Condition of the preset, in a sentence."
    )
    eventTypeName = serializers.CharField(source="spec.event_type")
    metricThreshold = MetricThresholdDocument(source="spec.wire_threshold", required=False)
    threshold = ThresholdDocument(source="spec.wire_count_threshold", required=False)
    delayMin = serializers.IntegerField(
        source="spec.delay_min", help_text="Minutes that the condition must last before anybody is notified."
    )
    runbook = serializers.CharField(
        source="spec.runbook_path",
        help_text="Path, on the platform, of the page that says what to do when the alert opens.",
    )
    exists = serializers.BooleanField(
        help_text="Whether the project has a configuration of the same event and threshold without matchers."
    )
    alertConfigId = serializers.CharField(required=False, help_text="ID of that configuration.")

    @classmethod
    def sample(cls) -> JsonObject:
        return cls.of_project(Preset.CONNECTIONS, AN_ID)

    @classmethod
    def of_project(cls, preset: Preset, config_id: str | None) -> JsonObject:
        """Return a preset with the configuration that the project has of it."""
        return cls.of(preset, exists=config_id is not None, alertConfigId=config_id)


class ExistingPresetDocument(Answer):
    """A preset that was asked for, and the configuration that the project has of it."""

    preset = ShownChoice(_NAMES, example=Preset.HOST_DOWN.value)
    alertConfigId = ShownId(source="id")


class PresetsMadeDocument(Document):
    """The configurations that were created from presets, and the presets that existed."""

    results = AlertConfigDocument(many=True)
    totalCount = ShownNumber(help_text="Number of configurations created.", example=1)
    existing = ExistingPresetDocument(many=True)
    links = links_of(f"/groups/{ANOTHER_ID}/alertConfigs/presets")


class PresetsRequest(Document):
    """The presets to add."""

    engine = OneOf([known.value for known in Engine], example=Engine.MONGODB.value)
    presets = ListOf(
        OneOf(_NAMES),
        unique=True,
        clearable=True,
        required=False,
        help_text="Presets of this engine. Default: all presets.",
        example=[Preset.NO_PRIMARY.value, Preset.DISK_SPACE.value],
    )

    def check(self, values: Values, bad: frozenset[str]) -> Iterable[BadField]:
        """Presets are of the engine. An empty array asks for none: it must not mean all of them."""
        if "engine" not in values or "presets" not in values:
            return
        of_engine = [preset.value for preset in presets_of(Engine(values["engine"]))]
        if not values["presets"]:
            message = "must have a preset; leave out the field to add all presets"
            yield BadField("presets", ErrorCode.INVALID_ATTRIBUTE, message, of_engine)
        for place, name in enumerate(values["presets"]):
            if name not in of_engine:
                message = f"is not a preset of {values['engine']}"
                yield BadField(f"presets[{place}]", ErrorCode.INVALID_ENUM_VALUE, message, of_engine)
