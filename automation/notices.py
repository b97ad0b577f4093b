"""Notices of the console about projects whose reports are refused because of a limit."""

from collections.abc import Iterator

from automation.selectors.limits import reached_limits
from automation.services import growth
from automation.services.limits import SETTINGS
from opsapi import clock
from opsapi.api.principal import Operator
from opsapi.clock import ago_words
from opsapi.console.admin_urls import page_url_of
from opsapi.console.widgets import Cell, Notice

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
