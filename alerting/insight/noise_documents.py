"""The noise of an alert configuration, as the API shows it."""

from rest_framework import serializers

from alerting.insight.noise import FLAP_WITHIN, PERIOD
from alerting.insight.suggestions import FEWEST_ALERTS, LONGEST_DELAY_MIN, MOST_CANDIDATES
from automation.units import Unit
from opsapi.api.answers import Answer
from opsapi.api.fields import ShownFloat, ShownId, ShownNumber, ShownText, ShownTime

_FLAP_MINUTES = int(FLAP_WITHIN.total_seconds() // 60)


class SuggestionDocument(Answer):
    """A delay or a threshold that would have dropped at least half of the alerts, and no long alert."""

    computed = {
        "delayMin": lambda suggestion: getattr(suggestion, "delay_min", None),
        "threshold": lambda suggestion: getattr(suggestion, "threshold", None),
        "units": lambda suggestion: getattr(suggestion, "units", None),
    }

    delayMin = serializers.IntegerField(
        required=False, help_text="The smallest delayMin for all notifications that drops half of the alerts."
    )
    threshold = ShownFloat(
        required=False,
        help_text="A threshold that drops half of the alerts, the closest of at most "
        f"{MOST_CANDIDATES} that were tried.",
        example=960,
    )
    units = ShownText(required=False, help_text="The units of `threshold`.", example=Unit.RAW.value)
    alerts = ShownNumber(help_text="How many alerts would have opened.", example=5)
    comparedAlerts = ShownNumber(
        source="compared",
        help_text="How many alerts were compared: for a threshold, alerts whose values are recorded.",
        example=12,
    )


SUGGESTIONS_HELP = (
    "Changes that would have halved the alerts without losing an alert that lasted longer than "
    f"{LONGEST_DELAY_MIN} minutes. Only with at least {FEWEST_ALERTS} alerts; left out if there is none."
)


class NoiseDocument(Answer):
    """How many alerts a configuration opened, how long they lasted, and how many messages were sent."""

    computed = {
        "alertsPerWeek": lambda noise: round(noise.per_week, 2),
        "medianDurationSec": lambda noise: (
            None if noise.median is None else round(noise.median.total_seconds())
        ),
    }

    alertConfigId = ShownId()
    start = ShownTime(
        source="since",
        help_text=f"Start of the period: {PERIOD.days} days, or less if ended alerts are kept for less.",
    )
    end = ShownTime(source="until")
    alerts = ShownNumber(help_text="Alerts that started in the period, and opened.", example=24)
    alertsPerWeek = ShownFloat(
        help_text="Alerts for each week in which the configuration existed, at least one week.", example=6.0
    )
    medianDurationSec = ShownNumber(
        required=False, help_text="Of the alerts that ended; absent without any.", example=190
    )
    flaps = ShownNumber(
        help_text=f"Alerts that started less than {_FLAP_MINUTES} minutes after the end of the last alert on "
        "the same target.",
        example=11,
    )
    acknowledged = ShownNumber(help_text="Alerts with an acknowledgement that was not removed.", example=3)
    messagesSent = ShownNumber(
        source="messages", help_text="Delivered messages about these alerts.", example=52
    )
    suggestions = SuggestionDocument(many=True, required=False, help_text=SUGGESTIONS_HELP)
