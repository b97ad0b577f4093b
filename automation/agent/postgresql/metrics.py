"""The PostgreSQL metrics: statements with their columns, and a row per metric. Pure.

Views and columns are described at https://www.postgresql.org/docs/current/monitoring-stats.html and on the
same page of earlier versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from automation.agent.rates import gauge, per, rate, share

RESET = "stats_reset"
"""The column with the time of the last counter reset, in seconds."""

FIRST = 140_000
"""The oldest supported `server_version_num`; the community supports 14 and newer."""


@dataclass(frozen=True)
class MetricQuery:
    """A statement with one row: expressions by column, and their source.

    It runs on servers with a `server_version_num` from `since` to below `before`. `in_recovery`: True runs it
    on standbys only, False on primaries only. `of_others`: it reads the activity of other users' sessions,
    which is NULL without `pg_read_all_stats`, a part of `pg_monitor`.
    """

    section: str
    columns: Mapping[str, str]
    origin: str = ""
    since: int = FIRST
    before: int | None = None
    in_recovery: bool | None = None
    of_others: bool = False

    def applies(self, version: int, *, in_recovery: bool) -> bool:
        """Whether a server with this `server_version_num` supports it."""
        return (
            version >= self.since
            and (self.before is None or version < self.before)
            and self.in_recovery in {None, in_recovery}
        )

    def statement(self, columns: Mapping[str, str]) -> str:
        selected = ", ".join(f"({expression})::float8 AS {name}" for name, expression in columns.items())
        return f"SELECT {selected} {self.origin}"


def _seconds(interval: str) -> str:
    return f"extract(epoch FROM {interval})"


def _sums(*columns: str) -> Mapping[str, str]:
    """Sums over all rows of a view of counters, and the time of the last reset."""
    return {**{name: f"sum({name})" for name in columns}, RESET: _seconds("max(stats_reset)")}


_OLDEST = """max(clock_timestamp() - xact_start)
    FILTER (WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())"""
# A prepared transaction belongs to no session and retains as much.
_OLDEST_PREPARED = "(SELECT max(clock_timestamp() - prepared) FROM pg_prepared_xacts)"

_STANDBYS = """
FROM pg_stat_replication
WHERE replay_lsn IS NOT NULL
  AND pid NOT IN (SELECT active_pid FROM pg_replication_slots
                  WHERE slot_type = 'logical' AND active_pid IS NOT NULL)"""
_RECEIVES = "EXISTS (SELECT FROM pg_stat_wal_receiver)"
_RECEIVED, _REPLAYED = "pg_last_wal_receive_lsn()", "pg_last_wal_replay_lsn()"
_SINCE_REPLAYED = _seconds("clock_timestamp() - pg_last_xact_replay_timestamp()")
_OWN_POSITION = f"""CASE WHEN pg_is_in_recovery()
    THEN coalesce({_RECEIVED}, {_REPLAYED}) ELSE pg_current_wal_lsn() END"""

SOURCES = (
    MetricQuery(
        "pg_stat_activity",
        {
            "connections": "count(*) FILTER (WHERE backend_type = 'client backend')",
            "allowed": "current_setting('max_connections')",
            "idle": "count(*) FILTER (WHERE starts_with(state, 'idle in transaction'))",
            "oldest": _seconds(f"greatest({_OLDEST}, {_OLDEST_PREPARED}, interval '0')"),
        },
        "FROM pg_stat_activity",
        of_others=True,
    ),
    MetricQuery("pg_locks", {"waiting": "count(*)"}, "FROM pg_locks WHERE NOT granted"),
    MetricQuery(
        "pg_stat_database",
        {
            **_sums(
                "xact_commit",
                "xact_rollback",
                "deadlocks",
                "conflicts",
                "checksum_failures",
                "temp_bytes",
                "blks_hit",
                "tup_returned",
                "tup_fetched",
                "tup_inserted",
                "tup_updated",
                "tup_deleted",
            ),
            "blocks": "sum(blks_hit + blks_read)",
        },
        "FROM pg_stat_database",
    ),
    MetricQuery(
        "pg_stat_replication",
        {
            # A standby that has replayed everything has no lag after a while, rather than a lag of 0.
            "seconds": f"CASE WHEN count(*) > 0 THEN greatest({_seconds('max(replay_lag)')}, 0) END",
            "bytes": "max(greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0))",
        },
        _STANDBYS,
        in_recovery=False,
        of_others=True,
    ),
    MetricQuery(
        "recovery",
        {
            # An idle primary sends nothing, so a standby that replayed everything it received is not late.
            # The gap of a disconnected standby is unknown; it has everything that was committed until then.
            "seconds": f"""CASE WHEN {_RECEIVES} AND {_REPLAYED} >= {_RECEIVED} THEN 0
                WHEN {_SINCE_REPLAYED} < 0 THEN 0 ELSE {_SINCE_REPLAYED} END""",
            "bytes": f"""CASE WHEN {_RECEIVES} AND {_RECEIVED} IS NOT NULL
                THEN greatest(pg_wal_lsn_diff({_RECEIVED}, {_REPLAYED}), 0) END""",
        },
        in_recovery=True,
    ),
    MetricQuery(
        "pg_replication_slots",
        {"retained": f"max(greatest(pg_wal_lsn_diff({_OWN_POSITION}, restart_lsn), 0))"},
        "FROM pg_replication_slots",
    ),
    MetricQuery(
        "pg_database",
        {"xid_age": "max(age(datfrozenxid))", "mxid_age": "max(mxid_age(datminmxid))"},
        "FROM pg_database",
    ),
    MetricQuery("pg_stat_wal", _sums("wal_bytes"), "FROM pg_stat_wal"),
    MetricQuery(
        "pg_stat_checkpointer",
        _sums("num_timed", "num_requested", "write_time"),
        "FROM pg_stat_checkpointer",
        since=170_000,
    ),
    MetricQuery(
        "pg_stat_bgwriter",
        _sums("checkpoints_timed", "checkpoints_req", "checkpoint_write_time"),
        "FROM pg_stat_bgwriter",
        before=170_000,
    ),
    MetricQuery("pg_stat_io", _sums("reads", "writes", "fsyncs"), "FROM pg_stat_io", since=160_000),
    MetricQuery("pg_stat_archiver", _sums("failed_count"), "FROM pg_stat_archiver"),
)
"""The statements of a round."""


SERVER = (
    gauge("CONNECTIONS", "pg_stat_activity/connections"),
    share("CONNECTIONS_PERCENT", "pg_stat_activity/connections", "pg_stat_activity/allowed"),
    gauge("PG_LONGEST_TRANSACTION", "pg_stat_activity/oldest"),
    gauge("PG_IDLE_IN_TRANSACTION", "pg_stat_activity/idle"),
    gauge("PG_LOCKS_WAITING", "pg_locks/waiting"),
    rate("PG_TRANSACTIONS_COMMITTED", "pg_stat_database/xact_commit"),
    rate("PG_TRANSACTIONS_ROLLED_BACK", "pg_stat_database/xact_rollback"),
    rate("PG_DEADLOCKS", "pg_stat_database/deadlocks"),
    rate("PG_CONFLICTS", "pg_stat_database/conflicts"),
    rate("PG_CHECKSUM_FAILURES", "pg_stat_database/checksum_failures"),
    rate("PG_TEMP_BYTES", "pg_stat_database/temp_bytes"),
    per("PG_CACHE_HIT_RATIO", "pg_stat_database/blks_hit", "pg_stat_database/blocks", scale=100.0),
    rate("PG_ROWS_RETURNED", "pg_stat_database/tup_returned"),
    rate("PG_ROWS_FETCHED", "pg_stat_database/tup_fetched"),
    rate("PG_ROWS_INSERTED", "pg_stat_database/tup_inserted"),
    rate("PG_ROWS_UPDATED", "pg_stat_database/tup_updated"),
    rate("PG_ROWS_DELETED", "pg_stat_database/tup_deleted"),
    gauge("PG_REPLICATION_LAG_TIME", "recovery/seconds", "pg_stat_replication/seconds"),
    gauge("PG_REPLICATION_LAG_BYTES", "recovery/bytes", "pg_stat_replication/bytes"),
    gauge("PG_REPLICATION_SLOT_RETAINED_BYTES", "pg_replication_slots/retained"),
    gauge("PG_XID_AGE", "pg_database/xid_age"),
    gauge("PG_MXID_AGE", "pg_database/mxid_age"),
    rate("PG_WAL_BYTES", "pg_stat_wal/wal_bytes"),
    rate("PG_CHECKPOINTS_TIMED", "pg_stat_checkpointer/num_timed", "pg_stat_bgwriter/checkpoints_timed"),
    rate(
        "PG_CHECKPOINTS_REQUESTED", "pg_stat_checkpointer/num_requested", "pg_stat_bgwriter/checkpoints_req"
    ),
    rate(
        "PG_CHECKPOINT_WRITE_TIME",
        "pg_stat_checkpointer/write_time",
        "pg_stat_bgwriter/checkpoint_write_time",
    ),
    rate("PG_IO_READS", "pg_stat_io/reads"),
    rate("PG_IO_WRITES", "pg_stat_io/writes"),
    rate("PG_IO_FSYNCS", "pg_stat_io/fsyncs"),
    rate("PG_ARCHIVE_FAILURES", "pg_stat_archiver/failed_count"),
)
"""The metrics of a server."""

SIZE, DEAD_ROWS = "DATABASE_STORAGE_SIZE", "PG_DEAD_ROWS"
"""The metrics of a database, every ten minutes. Only a primary counts dead rows."""

METRICS = (*(row.metric for row in SERVER), SIZE, DEAD_ROWS)
"""The names of all metrics."""
