"""Contributions of the apps to the console: attributes of their AppConfig."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from opsapi.api.principal import VisibleScope
from opsapi.api.registry import contributions
from opsapi.console.widgets import Panel, Widget

ContributeWidgets = Callable[[VisibleScope, datetime], Iterable[Widget]]
"""The widgets for an operator. Called every ten seconds, so it must be cheap and limited."""
ContributeRowPanel = Callable[[VisibleScope, Any, datetime], Panel]
"""A panel on the page of a row, for an operator with this visible scope."""


def overview() -> list[ContributeWidgets]:
    """The `overview` of every app: parts of the start page, alerts first."""
    contributed = [contribute for each in contributions("overview") for contribute in each]
    return contributed[::-1]


def host_panels() -> list[ContributeRowPanel]:
    """The `host_panels` of every app, for the page of a host."""
    return [contribute for each in contributions("host_panels") for contribute in each]
