"""`python -m tests.processes.postgresql_parity`: writes which metrics PostgreSQL servers have, and why not.

It asks real servers that are as complete as they can be: with a standby, a slot and something to do.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from automation.agent.postgresql.engine import PostgreSQL
from automation.agent.postgresql.metrics import DEAD_ROWS, SERVER, SIZE
from automation.agent.rates import Why
from tests.eventually import eventually
from tests.processes.platform import ROOT
from tests.processes.postgresql import VERSIONS, Server, servers

PAGE = Path(ROOT) / "docs" / "reference" / "agent-metrics-postgresql.md"

_HEAD = """
<!-- Made by `python -m tests.processes.postgresql_parity` of what real servers answer. -->

# What the agent measures of PostgreSQL

What the agent reports of a server to a login role that has `pg_monitor` and nothing else
([watch PostgreSQL](../how-to/watch-postgresql.md)), by version and role of the server. "yes": reported; "–":
the server does not have it. What the metrics mean, and their units, stand in [metrics](metrics.md).

The servers are initialized with the defaults of their version, and the primary has a replication slot.

- `PG_CHECKSUM_FAILURES` needs data checksums, which version 18 has by default and older versions on request.
- `PG_IO_READS`, `PG_IO_WRITES` and `PG_IO_FSYNCS` need version 16.
- `PG_REPLICATION_SLOT_RETAINED_BYTES` needs a slot. `PG_REPLICATION_LAG_TIME` and
  `PG_REPLICATION_LAG_BYTES` of a primary need a connected standby.
- `PG_DEAD_ROWS` is counted on primaries.
- What happens to the machine (processor, memory, disk) is not in PostgreSQL's statistics, and not reported.

"""


def main() -> None:
    """Write the page."""
    columns: dict[str, Mapping[str, str]] = {}
    for version in VERSIONS:
        with servers(version) as (primary, standby):
            columns.update(columns_of(primary, standby))
    PAGE.write_text(page(columns))


def columns_of(primary: Server, standby: Server) -> dict[str, Mapping[str, str]]:
    """By heading, whether each metric is reported of the two servers."""
    with closing(PostgreSQL([primary.uri(), standby.uri()])) as engine:
        return _columns(engine, primary, standby)


def _columns(engine: PostgreSQL, primary: Server, standby: Server) -> dict[str, Mapping[str, str]]:
    eventually(lambda: primary.ask("SELECT count(replay_lsn) FROM pg_stat_replication"))
    primary.ask("SELECT pg_create_physical_replication_slot('parity', true)")

    def settled() -> bool:
        for host in engine.targets():
            engine.learn(host, host.poll())
        for server in (primary, standby):
            server.ask("SELECT count(*) FROM pg_class")
        reasons = [why for missing in engine.why_missing().values() for why in missing.values()]
        return set(reasons) <= {Why.REPORTED, Why.ABSENT}

    eventually(settled, message="every metric is reported or absent")
    primary.ask("SELECT pg_drop_replication_slot('parity')")
    return {
        f"{server.version} {role}": {
            metric: "yes" if why is Why.REPORTED else "–" for metric, why in missing.items()
        }
        for role, server, missing in zip(
            ("primary", "standby"), (primary, standby), engine.why_missing().values(), strict=True
        )
    }


def page(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The page, with a row for each metric."""
    rows = [["metric", *columns], ["---"] * (len(columns) + 1)]
    for metric in [*(row.metric for row in SERVER), SIZE, DEAD_ROWS]:
        rows.append([f"`{metric}`", *(reasons[metric] for reasons in columns.values())])
    return _HEAD.lstrip() + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def columns_written() -> dict[str, dict[str, str]]:
    """What stands on the page."""
    lines = [
        line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("|")
    ]
    (_, *headings), _, *rows = lines
    return {
        heading: {row[0].strip("`"): row[place] for row in rows} for place, heading in enumerate(headings, 1)
    }


if __name__ == "__main__":
    main()
