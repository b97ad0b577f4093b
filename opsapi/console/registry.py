"""What the apps contribute to the console: attributes of their AppConfig (architecture, inversion 3)."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from opsapi.api.principal import Reach
from opsapi.api.registry import contributions
from opsapi.console.parts import Panel, Part

ContributeParts = Callable[[Reach, datetime], Iterable[Part]]
"""The parts for somebody who may read that much: asked every ten seconds, so cheap and within bounds."""
ContributeRowPanel = Callable[[Reach, Any, datetime], Panel]
"""A panel for the page of a row, for somebody who may read that much."""


def overview() -> list[ContributeParts]:
    """Every app's `overview`, parts of the start page: what alerts people comes first."""
    contributed = [contribute for each in contributions("overview") for contribute in each]
    return contributed[::-1]


def host_panels() -> list[ContributeRowPanel]:
    """Every app's `host_panels`: what it knows of a host, for the host's page."""
    return [contribute for each in contributions("host_panels") for contribute in each]
