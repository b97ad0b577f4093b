"""How values look in the console."""

import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

EMPTY = "–"
"""What stands where there is nothing."""


def pretty_json(value: Any) -> SafeString:
    """A JSON value in lines, escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return format_html('<pre class="json">{}</pre>', text)


def json_field(name: str, label: str | None = None) -> Callable[[Any], str]:
    """A column of a view page: the row's field of that name as readable JSON."""

    @admin.display(description=label or name.replace("_", " "))
    def shown(row: Any) -> str:
        value = getattr(row, name)
        return EMPTY if value is None else pretty_json(value)

    shown.__name__ = f"{name}_json"
    return shown
