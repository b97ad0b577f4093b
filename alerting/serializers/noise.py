"""The noise of an alert configuration, as the API shows it."""

from collections.abc import Sequence

from rest_framework import serializers

from alerting.rules.noise import FLAP_WITHIN, PERIOD, Noise
from alerting.rules.suggestions import (
    FEWEST_ALERTS,
    LONGEST_DELAY_MIN,
    MOST_CANDIDATES,
    DelaySuggestion,
    Suggestion,
)
from opsapi.api.documents import A_TIME, AN_ID, Document
from opsapi.clock import wire_time
from opsapi.wire_json import JsonObject, without_nulls

_FLAP_MINUTES = int(FLAP_WITHIN.total_seconds() // 60)


class SuggestionDocument(Document):
    """A delay or a threshold that would have dropped at least half of the alerts, and no long alert."""

    example = {"threshold": 960, "units": "RAW", "alerts": 5, "comparedAlerts": 12}

    delayMin = serializers.IntegerField(
        required=False, help_text="The smallest delayMin for all notifications that drops half of the alerts."
    )
    threshold = serializers.FloatField(
        required=False,
        help_text="A threshold that drops half of the alerts, the closest of at most "
        f"{MOST_CANDIDATES} that were tried.",
    )
    units = serializers.CharField(required=False, help_text="The units of `threshold`.")
    alerts = serializers.IntegerField(help_text="How many alerts would have opened.")
    comparedAlerts = serializers.IntegerField(
        help_text="How many alerts were compared: for a threshold, alerts whose values are recorded."
    )


SUGGESTIONS_HELP = (
    "Changes that would have halved the alerts without losing an alert that lasted longer than "
    f"{LONGEST_DELAY_MIN} minutes. Only with at least {FEWEST_ALERTS} alerts; left out if there is none."
)


def present_suggestions(suggestions: Sequence[Suggestion]) -> list[JsonObject] | None:
    """The suggestions; None without any."""
    return [_suggestion(each) for each in suggestions] or None


def _suggestion(suggestion: Suggestion) -> JsonObject:
    if isinstance(suggestion, DelaySuggestion):
        change: JsonObject = {"delayMin": suggestion.delay_min}
    else:
        change = {"threshold": suggestion.threshold, "units": suggestion.units.value}
    return {**change, "alerts": suggestion.alerts, "comparedAlerts": suggestion.compared}


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
        "suggestions": [SuggestionDocument.example],
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
    suggestions = SuggestionDocument(many=True, required=False, help_text=SUGGESTIONS_HELP)


def present_noise(noise: Noise, *, config_id: str) -> JsonObject:
    """The noise of a configuration."""
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
            "suggestions": present_suggestions(noise.suggestions),
        }
    )
