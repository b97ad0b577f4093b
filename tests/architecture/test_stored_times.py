"""Every stored time is in docs/clocks.md, with what happens if it lies ahead or behind."""

import re
from pathlib import Path

from django.apps import apps
from django.db import models

from alerting.engine.stored_times import REPAIRS

_PAGE = Path(__file__).parents[2] / "docs" / "clocks.md"
_TIME = re.compile(r"`([a-z]+\.[A-Z]\w+\.\w+)`")
_DECIDES = re.compile(r"^\| `([a-z]+\.[A-Z]\w+\.\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_NOT_A_DATE = {"accesslist.SecondFactor.last_step"}


def stored_times() -> list[str]:
    """Every column with a time or a date."""
    return [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_fields
        if isinstance(field, models.DateField)
    ]


def test_every_stored_time_is_documented_once() -> None:
    assert sorted(_TIME.findall(_PAGE.read_text())) == sorted([*stored_times(), *_NOT_A_DATE])


def test_every_repaired_time_is_one_that_decides() -> None:
    names = {
        f"{model._meta.db_table}.{field.column}": f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.local_fields
    }
    repaired = {names[f"{repair.table}.{repair.column}"] for repair in REPAIRS}
    assert repaired <= {name for name, *_ in _DECIDES.findall(_PAGE.read_text())}


def test_every_time_that_is_said_to_be_replaced_is_repaired() -> None:
    columns = {(repair.table, repair.column) for repair in REPAIRS}
    said = [
        name for name, _, ahead, _ in _DECIDES.findall(_PAGE.read_text()) if ahead.startswith("replaced by")
    ]
    assert said
    for name in said:
        app, model, field = name.split(".")
        meta = apps.get_model(app, model)._meta
        assert (meta.db_table, meta.get_field(field).column) in columns | _ELSEWHERE, name


_ELSEWHERE = {("alerting_notification", "first_attempt")}
"""Replaced with the due time, by `notifications_bring_forward`."""
