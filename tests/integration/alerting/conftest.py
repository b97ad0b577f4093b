"""The stand-in for the outside."""

import pytest

from tests.integration.alerting.pipeline import Outside


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Outside:
    """The seam replaced."""
    stand_in = Outside()
    monkeypatch.setattr("alerting.engine.delivery.deliver", stand_in.deliver)
    return stand_in
