"""Counts the lines that treat an alert without grouping and an incident differently.

    python -m tools.special_case [--lines]

The fewer lines name the difference, the less code is written twice. `NAMES` are the names of functions,
fields and values that exist only because of the difference; names that went stay in the list, so that the
figures of two commits can be compared.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = (
    # An alert in the place of its incident, and the questions whether it is.
    "whole_incident",
    "alerts_with_incident_state",
    "representing_alert",
    "represented",
    "with_its_incident",
    "deciding_alerts",
    "deciding_alerts_filter",
    "DecidingAlert",
    "incidents_of",
    "leads_of",
    "open_in",
    "targets_of_messages",
    "about_incidents",
    "has_incident",
    "is_grouped",
    "groups_alerts",
    "GROUPED",
    # The role of a notification in its incident.
    "IncidentPart",
    "FOLDED",
    "UNGROUPED",
    "folded",
    "ungrouped",
    r"part(?==|__)",
    r"(?<!largest\.)(?<=\.)part",
    r"part(?=: models| = models|: str \| None)",
    # Functions written for an alert and again for an incident.
    "schedule_separate_openings",
    "schedule_end_for_notified",
    "_schedule_first_messages",
    "_of_each",
    "_of_incidents",
    "_of_incident",
    "messages_of_alert",
)
_PATTERN = re.compile(rf"\b(?:{'|'.join(NAMES)})\b")
# Other subjects with one of the names.
_OTHERS = (
    "signal_observations.py",
    "preset_forms.py",
    "pattern_prices.py",
    "configs/matchers.py",
    "dry_run_reading.py",
)


def lines() -> Iterator[tuple[str, int, str]]:
    """The file, number and text of each line of product code in `alerting` that has one of the names."""
    for path in sorted((ROOT / "alerting").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if "/migrations/" in name or any(other in name for other in _OTHERS):
            continue
        for number, text in enumerate(path.read_text().splitlines(), start=1):
            if _PATTERN.search(text):
                yield name, number, text.strip()


def main() -> None:
    """Print the number of lines and files, and with `--lines` each line."""
    found = list(lines())
    if "--lines" in sys.argv[1:]:
        for name, number, text in found:
            sys.stdout.write(f"{name}:{number}: {text}\n")
    sys.stdout.write(f"{len(found)} lines in {len({name for name, *_ in found})} files\n")


if __name__ == "__main__":
    main()
