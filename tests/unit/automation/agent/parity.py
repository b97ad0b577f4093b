"""docs/reference/agent-metrics.md, of recorded servers.

`python -m tests.unit.automation.agent.parity` writes it.
"""

from pathlib import Path

from automation.agent.mongodb.metrics import DATABASE, NEVER, OF_DATABASES, SERVER
from automation.agent.rates import Why
from tests.unit.automation.agent.recorded import Recording, recordings

PAGE = Path(__file__).parents[4] / "docs" / "reference" / "agent-metrics.md"
_INTRODUCTION = """<!-- Made by `python -m tests.unit.automation.agent.parity` of recorded servers. -->

# What the agent measures

What the agent reports of a MongoDB server to a user who holds `clusterMonitor` and nothing else, by the
version and the kind of the server. "yes": reported; "–": the server does not have it. A rate needs two
rounds, and a time for each operation is left out of rounds without operations.

The tests hold this page against recorded servers, and with `OPSAPI_TEST_REQUIRE=mongod` the recorded
servers against real ones of the same versions. The room on the disk of a server before 6.0 is reported
with the sizes of its databases, every ten minutes. No router is recorded, as the server of the tests comes
without: a router has the metrics of `serverStatus` and of the machine.
"""


def page() -> str:
    """The page."""
    columns = [one for one in recordings() if one.kind != "arbiter"]
    head = ["metric", *(f"{one.version} {one.kind}" for one in columns)]
    cells = [_column(one) for one in columns]
    rows = [[f"`{row.metric}`", *(cell[row.metric] for cell in cells)] for row in SERVER]
    of_databases = "\n".join(f"- `{row.metric}`" for row in DATABASE)
    never = "\n".join(f"- `{metric}`: {why}" for metric, why in NEVER.items())
    return "\n".join(
        [
            _INTRODUCTION,
            _line(head),
            _line(["---"] * len(head)),
            *map(_line, rows),
            "",
            "An arbiter has no users and no data: the agent reports whether it answers, and no measurement.",
            "",
            "## Of each database",
            "",
            "Every ten minutes, of each server that holds data:",
            "",
            of_databases,
            "",
            "## Never",
            "",
            never,
            "",
        ]
    )


def _column(server: Recording) -> dict[str, str]:
    _, reasons = server.values()
    there = {metric for metric, why in reasons.items() if why in {Why.REPORTED, Why.IDLE}} | OF_DATABASES
    return {row.metric: "yes" if row.metric in there else "–" for row in SERVER}


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page())
