"""Answers to reports in the console, and notices about projects that reached a limit."""

from collections.abc import Iterator

from django.contrib import admin

from automation.reports import growth
from automation.reports.limits import SETTINGS
from automation.reports.models import ReportAnswer
from automation.reports.store import reached_limits
from opsapi import clock
from opsapi.api.principal import Operator
from opsapi.clock import ago_words
from opsapi.console.admin_urls import page_url_of
from opsapi.console.display import short_field
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.widgets import Cell, Notice


@admin.register(ReportAnswer)
class ReportAnswerAdmin(ConsoleAdmin):
    """Stored answers for repeated reports."""

    help = "how-to/use-the-console#system-health"
    list_display = ["created", short_field("answer")]
    ordering = ["-created"]
    fields = ["created", "answer", "id", "body"]
    empty_text = "No reports with an Idempotency-Key in the last 24 hours."


_REFUSED = {growth.WORDS: "All its reports are refused until midnight UTC."}


def limit_notices(operator: Operator, group_id: str | None) -> Iterator[Notice]:
    """A notice for each limit that refused a report of a readable project in the last day.

    `group_id`: only of this project.
    """
    now = clock.now()
    for reached in reached_limits(operator.visible_scope(), group_id, now):
        text = (
            f"{reached.group.name} has reached its limit of {reached.most:,} {reached.words}."
            f" {_REFUSED.get(reached.words, 'Reports that add more are refused.')}"
            f" The last refusal was {ago_words(reached.refused, now)}."
        )
        if setting := SETTINGS.get(reached.words):
            text += f" The setting is {setting}."
        yield Notice(text, [Cell("Project", page_url_of("accesslist.project", reached.group_id))])
