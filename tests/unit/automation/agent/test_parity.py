"""The page that says what is measured is what recorded servers make of it."""

from tests.unit.automation.agent.parity import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m tests.unit.automation.agent.parity"
