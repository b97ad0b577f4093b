"""The Retention page: how long events and ended alerts are kept. Global owners can change this."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache

from accesslist.retention import retention_choose
from alerting.access import CHOOSE_RETENTION, READ_GLOBAL
from alerting.retention.store import DAYS, stored_rows
from automation.choices import Tier
from automation.measurements.disk import SETTINGS, measurement_disk
from events.retention import LONGEST_DAYS, SUGGESTED_DAYS, KeptFor, KeptRows, kept_rows
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.console.actions import operator_of
from opsapi.console.forms import OpenForm
from opsapi.console.widgets import number_of
from opsapi.roles import INSTALLATION, satisfies_any

_KINDS = ("events", "alerts")
_NOT_YET = "unknown: nothing new"
_NOT_PACKED = "unknown"
_TIERS = {Tier.RAW: "As reported", Tier.PT5M: "Five minutes", Tier.PT1H: "Hours"}
_LABELS = {"events": "Events", "alerts": "Ended alerts"}


class RetentionForm(OpenForm):
    """The days to keep events and ended alerts. A value that a setting decides has no field."""

    def __init__(self, *args: Any, kept: KeptRows, **options: Any) -> None:
        self.kept = kept
        super().__init__(*args, **options)

    def add_inputs(self) -> None:
        """Add a field for each kind that no setting decides."""
        for kind in _KINDS:
            kept: KeptFor = getattr(self.kept, kind)
            if not kept.setting:
                self.fields[kind] = forms.IntegerField(
                    min_value=0,
                    max_value=LONGEST_DAYS,
                    initial=kept.days,
                    label=f"Days to keep {_LABELS[kind].lower()}",
                    help_text=f"0 keeps them forever. {SUGGESTED_DAYS} days are a year and a month.",
                )

    def days(self, kind: str) -> int:
        """Return the input for a kind, or the value of its setting, in case the setting is removed later."""
        return int(self.cleaned_data.get(kind, getattr(self.kept, kind).days))


@never_cache
def retention_page(request: HttpRequest) -> HttpResponse:
    """Show the retention and growth of events and ended alerts. A Global owner can change the retention."""
    operator, kept = operator_of(request), kept_rows()
    operator.authorise(READ_GLOBAL.roles)
    if request.method != "POST":
        return _page(request, RetentionForm(kept=kept), kept)
    operator.authorise(CHOOSE_RETENTION.roles)
    form = RetentionForm(request.POST, kept=kept)
    if kept.is_fixed or not form.is_valid():
        return _page(request, form, kept)
    try:
        retention_choose(
            event_days=form.days("events"),
            alert_days=form.days("alerts"),
            actor=operator.actor(),
            now=clock.now(),
        )
    except ApiError as refusal:
        form.add_refusal(refusal)
        return _page(request, form, kept)
    messages.success(
        request, "Saved. The platform deletes older events and alerts within the next few minutes."
    )
    return redirect("retention")


def _page(request: HttpRequest, form: RetentionForm, kept: KeptRows) -> HttpResponse:
    operator, now = operator_of(request), clock.now()
    context = {
        **admin.site.each_context(request),
        "title": "Retention",
        "form": form,
        "rows": _rows(kept, now),
        "days": DAYS,
        "tiers": _tiers(),
        "kept": kept,
        "may_choose": not kept.is_fixed
        and satisfies_any(operator.grants, CHOOSE_RETENTION.roles, INSTALLATION),
    }
    return TemplateResponse(request, "console/retention.html", context)


def _rows(kept: KeptRows, now: datetime) -> Sequence[Sequence[str]]:
    """A row of the table for each kind."""
    stored = stored_rows(now)
    return [
        (
            _LABELS[kind],
            getattr(kept, kind).words,
            getattr(kept, kind).setting,
            _bytes(stored[kind].octets),
            number_of(round(stored[kind].a_day)),
            f"about {_bytes(stored[kind].a_year)}" if stored[kind].a_day else _NOT_YET,
        )
        for kind in _KINDS
    ]


def _tiers() -> Sequence[Sequence[str]]:
    """A row of the table of measurements for each tier."""
    return [
        (
            _TIERS[disk.tier],
            KeptFor(disk.days).words if disk.days or disk.tier is Tier.RAW else "off",
            SETTINGS[disk.tier],
            _bytes(disk.stored),
            _NOT_PACKED if disk.a_day is None else _bytes(disk.a_day),
            _NOT_PACKED if disk.needed is None else f"about {_bytes(disk.needed)}",
        )
        for disk in measurement_disk()
    ]


def _bytes(number: float) -> str:
    return filesizeformat(number).replace("\xa0", " ")


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(retention_page)

urlpatterns = [path("", _guarded, name="retention")]
