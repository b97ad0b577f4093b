"""The noise of an alert configuration, as the API shows it."""

from rest_framework import serializers

from alerting.rules.noise import FLAP_WITHIN, LONGEST_DELAY_MIN, PERIOD, Noise
from opsapi.api.documents import A_TIME, AN_ID, Document
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject, without_nulls

_FLAP_MINUTES = int(FLAP_WITHIN.total_seconds() // 60)


class DelaySuggestionDocument(Document):
    """A delay that would have dropped at least half of the alerts."""

    example = {"delayMin": 5, "alerts": 9}

    delayMin = serializers.IntegerField(
        help_text="The smallest delayMin for all notifications that drops at least half of the alerts, at "
        f"most {LONGEST_DELAY_MIN}: no alert that lasted longer would have been lost."
    )
    alerts = serializers.IntegerField(help_text="How many of the alerts would have opened.")


class NoiseDocument(Document):
    """How many alerts a configuration opened, how long they lasted, and how many messages were sent."""

    example = {
        "alertConfigId": AN_ID,
        "start": A_TIME,
        "end": A_TIME,
        "alerts": 24,
        "alertsPerWeek": 6.0,
        "medianDurationSec": 190,
        "flaps": 11,
        "acknowledged": 3,
        "messagesSent": 52,
        "suggestion": DelaySuggestionDocument.example,
    }

    alertConfigId = serializers.CharField()
    start = serializers.DateTimeField(
        help_text=f"Start of the period: {PERIOD.days} days, or less if ended alerts are kept for less."
    )
    end = serializers.DateTimeField()
    alerts = serializers.IntegerField(help_text="Alerts that started in the period, and opened.")
    alertsPerWeek = serializers.FloatField(
        help_text="Alerts for each week in which the configuration existed, at least one week."
    )
    medianDurationSec = serializers.IntegerField(
        required=False, help_text="Of the alerts that ended; absent without any."
    )
    flaps = serializers.IntegerField(
        help_text=f"Alerts that started less than {_FLAP_MINUTES} minutes after the end of the last alert on "
        "the same target."
    )
    acknowledged = serializers.IntegerField(help_text="Alerts with an acknowledgement that was not removed.")
    messagesSent = serializers.IntegerField(help_text="Delivered messages about these alerts.")
    suggestion = DelaySuggestionDocument(required=False)


def present_noise(noise: Noise, *, config_id: str) -> JsonObject:
    """The noise of a configuration."""
    suggestion = noise.suggestion
    return without_nulls(
        {
            "alertConfigId": config_id,
            "start": wire_time(noise.since),
            "end": wire_time(noise.until),
            "alerts": noise.alerts,
            "alertsPerWeek": round(noise.per_week, 2),
            "medianDurationSec": None if noise.median is None else round(noise.median.total_seconds()),
            "flaps": noise.flaps,
            "acknowledged": noise.acknowledged,
            "messagesSent": noise.messages,
            "suggestion": suggestion and {"delayMin": suggestion.delay_min, "alerts": suggestion.alerts},
        }
    )
