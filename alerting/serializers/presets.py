"""Presets of alert configurations as the API shows and takes them."""

from collections.abc import Iterable, Mapping

from rest_framework import serializers

from alerting.models import AlertConfig
from alerting.rules.presets import Preset, presets_of
from alerting.serializers.config_parts import MetricThresholdDocument, ThresholdDocument
from alerting.serializers.configs import AlertConfigDocument
from automation.metrics import Engine
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, ANOTHER_ID, Document, LinkDocument, Values, self_link
from opsapi.api.errors import BadField
from opsapi.api.fields import ListOf, OneOf
from opsapi.wire_json import JsonObject, without_nulls

_NAMES = [preset.value for preset in Preset]


class PresetDocument(Document):
    """A preset, and whether the project has it."""

    example = {
        "preset": Preset.CONNECTIONS.value,
        "engines": [engine.value for engine in Preset.CONNECTIONS.spec.engines],
        "meaning": Preset.CONNECTIONS.spec.meaning,
        "eventTypeName": Preset.CONNECTIONS.spec.event_type.value,
        "metricThreshold": Preset.CONNECTIONS.spec.wire_threshold,
        "delayMin": Preset.CONNECTIONS.spec.delay_min,
        "runbook": Preset.CONNECTIONS.spec.runbook_path,
        "exists": True,
        "alertConfigId": AN_ID,
    }

    preset = serializers.ChoiceField(_NAMES)
    engines = serializers.ListField(child=serializers.ChoiceField([known.value for known in Engine]))
    meaning = serializers.CharField(help_text="Condition of the preset, in a sentence.")
    eventTypeName = serializers.CharField()
    metricThreshold = MetricThresholdDocument(required=False)
    threshold = ThresholdDocument(required=False)
    delayMin = serializers.IntegerField(
        help_text="Minutes that the condition must last before anybody is notified."
    )
    runbook = serializers.CharField(
        help_text="Path, on the platform, of the page that says what to do when the alert opens."
    )
    exists = serializers.BooleanField(
        help_text="Whether the project has a configuration of the same event and threshold without matchers."
    )
    alertConfigId = serializers.CharField(required=False, help_text="ID of that configuration.")


class ExistingPresetDocument(Document):
    """A preset that was asked for, and the configuration that the project has of it."""

    example = {"preset": Preset.HOST_DOWN.value, "alertConfigId": AN_ID}

    preset = serializers.ChoiceField(_NAMES)
    alertConfigId = serializers.CharField()


class PresetsMadeDocument(Document):
    """The configurations that were created from presets, and the presets that existed."""

    example = {
        "results": [AlertConfigDocument.sample()],
        "totalCount": 1,
        "existing": [ExistingPresetDocument.example],
        "links": self_link(f"/groups/{ANOTHER_ID}/alertConfigs/presets"),
    }

    results = AlertConfigDocument(many=True)
    totalCount = serializers.IntegerField(help_text="Number of configurations created.")
    existing = ExistingPresetDocument(many=True)
    links = LinkDocument(many=True)


class PresetsRequest(Document):
    """The presets to add."""

    example = {
        "engine": Engine.MONGODB.value,
        "presets": [Preset.NO_PRIMARY.value, Preset.DISK_SPACE.value],
    }

    engine = OneOf([known.value for known in Engine])
    presets = ListOf(
        OneOf(_NAMES),
        unique=True,
        clearable=True,
        required=False,
        help_text="Presets of this engine. Default: all presets.",
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


def present_preset(preset: Preset, config: AlertConfig | None) -> JsonObject:
    """A preset; `config` is what the project has of it."""
    spec = preset.spec
    return without_nulls(
        {
            "preset": preset.value,
            "engines": [engine.value for engine in spec.engines],
            "meaning": spec.meaning,
            "eventTypeName": spec.event_type.value,
            "metricThreshold": spec.wire_threshold,
            "threshold": spec.wire_count_threshold,
            "delayMin": spec.delay_min,
            "runbook": spec.runbook_path,
            "exists": config is not None,
            "alertConfigId": config.id if config else None,
        }
    )


def present_existing(existing: Mapping[Preset, AlertConfig]) -> list[JsonObject]:
    """Presets that were asked for and exist."""
    return [{"preset": preset.value, "alertConfigId": config.id} for preset, config in existing.items()]
