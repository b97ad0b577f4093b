"""What the simulation tells at the end of a run: how many seeds, and which found what was broken."""

from typing import Any

from tests.simulation.reports import SIMULATED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Workers of pytest-xdist send their lines with each test's report."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    for report in reports:
        if getattr(report, "when", None) == "call":
            for name, line in report.user_properties:
                if name == SIMULATED:
                    terminalreporter.write_line(line)
