"""Redacts the secrets that earlier versions left readable in the changes of a publish.

Events and revisions keep these changes. Each batch commits by itself, and what is redacted stays as it is: an
interrupted run is simply repeated.
"""

from typing import Any

from django.db import migrations, transaction

from automation.document.secrets import Surroundings
from automation.document.secrets import redacted_value
from automation.document.text import read, write
from opsapi.api.errors import ApiError
from opsapi.batches import batches
from opsapi.redaction import MASK, redact_urls

_ROWS_AT_ONCE = 10  # the changes of one publish can be 5 MB
_SIDES = ("old", "new")


def redact_changes(apps: Any, schema_editor: Any) -> None:
    """Redact the changes that events and revisions keep."""
    published = "AUTOMATION_CONFIG_PUBLISHED_AUDIT"
    _redact_rows(apps.get_model("events", "Event").objects.filter(event_type=published))
    _redact_rows(apps.get_model("automation", "AutomationRevision").objects.all())


def _redact_rows(rows: Any) -> None:
    for ids in batches(list(rows.order_by("pk").values_list("pk", flat=True)), _ROWS_AT_ONCE):
        with transaction.atomic():
            changed = []
            for row in rows.filter(pk__in=ids).only("pk", "diffs"):
                shown = [_redacted_diff(diff) for diff in row.diffs]
                if shown != row.diffs:
                    row.diffs = shown
                    changed.append(row)
            rows.model.objects.bulk_update(changed, ["diffs"])


def _redacted_diff(diff: dict[str, Any]) -> dict[str, Any]:
    params = [_redacted_param(param) for param in diff["params"]]
    return {**diff, "id": redact_urls(diff["id"]), "params": params}


def _redacted_param(param: dict[str, Any]) -> dict[str, Any]:
    around = Surroundings()
    for name in param["param"].split("."):
        around = around.below(name)
    return {
        name: _redacted_side(value, around) if name in _SIDES else value for name, value in param.items()
    }


def _redacted_side(text: str, around: Surroundings) -> str:
    """A side is a text as it is, or anything else as JSON. JSON that was cut cannot be read."""
    if around.secret:
        return MASK
    if not text.startswith(("{", "[")):
        return redact_urls(text)
    try:
        found = read(f'{{"value":{text}}}')
    except ApiError:
        return MASK if text.endswith("…") else redact_urls(text)
    return write(redacted_value(found["value"], around))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("automation", "0013_words_for_people"),
        ("events", "0005_signals_without_project"),
    ]

    operations = [migrations.RunPython(redact_changes, migrations.RunPython.noop, elidable=True)]
