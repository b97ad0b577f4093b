"""Pages, lists and the deletion of old rows after a year: 110,000 alerts, 330,000 messages, 477,000 events.

    python -m tests.benchmarks.year

The times are of the platform alone, without the network.
"""

import sys

from tests.benchmarks.own_process import run_in_own_process
from tests.benchmarks.scene import ENVIRONMENT, forget_foreign_settings
from tests.processes.platform import installation


def main() -> None:
    """Fill an installation, and print a row for each figure, the slowest first."""
    forget_foreign_settings()
    with installation(**ENVIRONMENT) as platform:
        platform.start()
        measured = run_in_own_process(platform, "past_year")
        platform.stop()
    for kind, figures in measured.items():
        sys.stdout.write(f"\n| {kind} | ms |\n|---|---|\n")
        for name, milliseconds in sorted(figures.items(), key=lambda figure: -figure[1]):
            sys.stdout.write(f"| {name} | {milliseconds:,.0f} |\n")


if __name__ == "__main__":
    main()
