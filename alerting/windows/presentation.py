"""The states of maintenance windows in the console: words and tones."""

from collections.abc import Mapping
from typing import NamedTuple

from alerting.windows.rules import WindowState
from opsapi.console.widgets import Tone


class StateLook(NamedTuple):
    """How the console shows a state: the word and the tone of its badge, and the effect of the window.

    `effect` begins the sentence about what the window mutes, which has the tone `effect_tone`.
    """

    word: str
    tone: Tone
    effect: str
    effect_tone: Tone


STATE_LOOKS: Mapping[WindowState, StateLook] = {
    WindowState.PENDING: StateLook("scheduled", Tone.INFO, "This window will mute", Tone.WARNING),
    WindowState.ACTIVE: StateLook("active", Tone.WARNING, "This window mutes", Tone.BAD),
    WindowState.EXPIRED: StateLook("ended", Tone.PLAIN, "This window has ended. It muted", Tone.PLAIN),
}
STATE_LABELS = {look.word: look.tone for look in STATE_LOOKS.values()}
"""By word, as the columns of the theme need it."""
