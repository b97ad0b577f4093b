"""`make screenshots` can create the pictures of the documents."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from accesslist.models import Project, User
from tests.api.bodies import metric_config
from tests.browser.screenshots import SHOTS, ScreenshotOperator, take
from tests.browser.site import Site
from tests.factories.accesslist import PASSWORD
from tests.factories.alerting import WEBHOOK, make_alert, make_config
from tests.hostile.budget import LONG

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(not LONG, reason="takes a minute: make faults"),
]

PNG = b"\x89PNG"


def test_every_picture_is_taken(
    browser: Browser, site: Site, operator: User, project: Project, tmp_path: Path
) -> None:
    config = make_config(
        project, **{**metric_config(units="RAW", mode="AVERAGE"), "notifications": [WEBHOOK]}
    )
    of_metric = {"event_type": config.event_type, "metric_name": "CONNECTIONS", "current_value": 120.0}
    make_alert(project, config_id=config.id, **of_metric)
    person = ScreenshotOperator(site.url, operator.username, PASSWORD)
    taken = list(take(SHOTS, browser, person, tmp_path))
    assert [path.name for path in taken] == [f"{shot.name}.png" for shot in SHOTS]
    assert all(path.read_bytes().startswith(PNG) for path in taken)
