"""The PostgreSQL metrics: statements with their columns, and a row per metric. Pure.

Views and columns are described at https://www.postgresql.org/docs/current/monitoring-stats.html and on the
same page of earlier versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

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
# A receiver that the primary turns away again and again, because it no longer has the write-ahead log, calls
# itself streaming as well. Until it has received a message, both times are the time of its start.
_STREAMS = "status = 'streaming' AND last_msg_send_time <> last_msg_receipt_time"
# Without pg_monitor, all columns except pid are NULL.
_RECEIVES = f"EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status IS NULL OR {_STREAMS})"
_RECEIVED, _REPLAYED = "pg_last_wal_receive_lsn()", "pg_last_wal_replay_lsn()"
# Until a server has replayed a commit, it is as late as the checkpoint that it started from.
_SINCE_REPLAYED = _seconds(
    "clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(),"
    " (SELECT checkpoint_time FROM pg_control_checkpoint()))"
)
_CAUGHT_UP = f"{_RECEIVES} AND {_REPLAYED} >= {_RECEIVED}"

# In `FIRST 2 (a, b)`, `ANY 2 (a, b)` and `2 (a, b)` it is 2, in `a, b` it is 1.
_SYNC_NEEDED = """coalesce(substring(current_setting('synchronous_standby_names')
    FROM '^ *(?:[A-Za-z]+ +)?([0-9]+) *[(]')::int, 1)"""
_SYNC = "(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum'))"

# A lost slot holds nothing back.
_OF_SLOTS = """(SELECT max(greatest(age(xmin), age(catalog_xmin)))
    FROM pg_replication_slots WHERE wal_status IS DISTINCT FROM 'lost')"""
_OF_PREPARED = "(SELECT max(age(transaction)) FROM pg_prepared_xacts)"
_OF_SESSIONS = """max(greatest(age(backend_xid), age(backend_xmin)))
    FILTER (WHERE pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker')"""

_ARCHIVES = """(current_setting('archive_mode') = 'always'
    OR current_setting('archive_mode') = 'on' AND NOT pg_is_in_recovery())"""
_OWN_POSITION = f"""CASE WHEN pg_is_in_recovery()
    THEN coalesce({_RECEIVED}, {_REPLAYED}) ELSE pg_current_wal_lsn() END"""

_KEPT = "current_setting('max_slot_wal_keep_size')"

SOURCES = (
    MetricQuery(
        "pg_stat_activity",
        {
            "connections": "count(*) FILTER (WHERE backend_type = 'client backend')",
            # Ordinary clients cannot have the reserved connections; Amazon RDS reserves more.
            "allowed": """current_setting('max_connections')::int
                - current_setting('superuser_reserved_connections')::int
                - coalesce(current_setting('reserved_connections', true)::int, 0)
                - coalesce(nullif(current_setting('rds.rds_superuser_reserved_connections', true), '')::int,
                           0)""",
            "idle": "count(*) FILTER (WHERE starts_with(state, 'idle in transaction'))",
            "oldest": _seconds(f"greatest({_OLDEST}, {_OLDEST_PREPARED}, interval '0')"),
            "xmin_age": f"greatest({_OF_SESSIONS}, {_OF_PREPARED}, {_OF_SLOTS}, 0)",
            # After a crash the postmaster stays and starts its other processes again.
            "crashes": """count(*) FILTER (WHERE backend_type = 'checkpointer'
                AND backend_start > pg_postmaster_start_time() + interval '10 seconds'
                AND backend_start > clock_timestamp() - interval '1 hour')""",
        },
        "FROM pg_stat_activity",
        of_others=True,
    ),
    MetricQuery(
        "pg_locks",
        {
            "waiting": "count(*)",
            "longest": _seconds("greatest(max(clock_timestamp() - waitstart), interval '0')"),
        },
        "FROM pg_locks WHERE NOT granted",
    ),
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
            "connected": "count(*)",
            "missing": f"""CASE WHEN current_setting('synchronous_standby_names') <> ''
                THEN greatest({_SYNC_NEEDED} - {_SYNC}, 0) ELSE 0 END""",
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
            "seconds": f"CASE WHEN {_CAUGHT_UP} THEN 0 ELSE greatest({_SINCE_REPLAYED}, 0) END",
            "caught_up": f"CASE WHEN {_CAUGHT_UP} THEN 1 ELSE 0 END",
            "bytes": f"""CASE WHEN {_RECEIVES} AND {_RECEIVED} IS NOT NULL
                THEN greatest(pg_wal_lsn_diff({_RECEIVED}, {_REPLAYED}), 0) END""",
        },
        in_recovery=True,
    ),
    MetricQuery(
        "pg_stat_wal_receiver",
        # A standby that only restores archived files has no connection to lose.
        {
            "connected": f"""CASE WHEN current_setting('primary_conninfo') <> ''
                THEN count(*) FILTER (WHERE {_STREAMS}) END"""
        },
        "FROM pg_stat_wal_receiver",
        in_recovery=True,
        of_others=True,
    ),
    MetricQuery(
        "pg_replication_slots",
        {
            # Without slots nothing is retained: a value, so that alerts close after the slot was dropped.
            "retained": f"coalesce(max(greatest(pg_wal_lsn_diff({_OWN_POSITION}, restart_lsn), 0)), 0)",
            "lost": "count(*) FILTER (WHERE wal_status = 'lost')",
            # On a standby, the copies of the primary's slots are always inactive. A slot without a position
            # keeps nothing.
            "inactive": """CASE WHEN NOT pg_is_in_recovery()
                THEN count(*) FILTER (WHERE NOT active AND restart_lsn IS NOT NULL
                                        AND wal_status IS DISTINCT FROM 'lost') END""",
            "safe": f"""CASE WHEN {_KEPT} <> '-1'
                THEN greatest(coalesce(min(safe_wal_size), pg_size_bytes({_KEPT})), 0) END""",
            "age": f"coalesce({_OF_SLOTS}, 0)",
        },
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
    MetricQuery(
        "pg_ls_archive_statusdir",
        {
            "waiting": f"CASE WHEN {_ARCHIVES} THEN count(*) END",
            "age": f"""CASE WHEN {_ARCHIVES} THEN
                {_seconds("greatest(clock_timestamp() - min(modification), interval '0')")} END""",
        },
        "FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'",
    ),
    MetricQuery("pg_ls_waldir", {"size": "sum(size)"}, "FROM pg_ls_waldir()"),
)
"""The statements of a round."""


LAG_TIME = "PG_REPLICATION_LAG_TIME"
LAG, CAUGHT_UP = "recovery/seconds", "recovery/caught_up"
"""The lag of a standby in seconds, and 1 if it has replayed everything that it received."""

CERTIFICATE, SUPPORT = "certificate/days", "version/support_days"
"""Values that no statement reads: days until the server's certificate and the support of its version end."""

SUPPORT_ENDS = {
    10: date(2022, 11, 10),
    11: date(2023, 11, 9),
    12: date(2024, 11, 21),
    13: date(2025, 11, 13),
    14: date(2026, 11, 12),
    15: date(2027, 11, 11),
    16: date(2028, 11, 9),
    17: date(2029, 11, 8),
    18: date(2030, 11, 14),
}
"""By major version, when the community ends support (https://www.postgresql.org/support/versioning/)."""


def days_of_support(number: int, today: date) -> int | None:
    """Days until the community no longer supports a `server_version_num`; None for an unknown version."""
    ends = SUPPORT_ENDS.get(number // 10_000)
    return (ends - today).days if ends else None


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
    gauge(LAG_TIME, LAG, "pg_stat_replication/seconds"),
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
    gauge("PG_REPLICATION_CONNECTED", "pg_stat_wal_receiver/connected"),
    gauge("PG_STANDBYS_CONNECTED", "pg_stat_replication/connected"),
    gauge("PG_SYNC_STANDBYS_MISSING", "pg_stat_replication/missing"),
    gauge("PG_SLOTS_LOST", "pg_replication_slots/lost"),
    gauge("PG_SLOTS_INACTIVE", "pg_replication_slots/inactive"),
    gauge("PG_SLOT_SAFE_WAL_BYTES", "pg_replication_slots/safe"),
    gauge("PG_SLOT_XMIN_AGE", "pg_replication_slots/age"),
    gauge("PG_ARCHIVE_WAITING", "pg_ls_archive_statusdir/waiting"),
    gauge("PG_ARCHIVE_AGE", "pg_ls_archive_statusdir/age"),
    gauge("PG_LONGEST_LOCK_WAIT", "pg_locks/longest"),
    gauge("PG_XMIN_AGE", "pg_stat_activity/xmin_age"),
    gauge("PG_WAL_SIZE", "pg_ls_waldir/size"),
    gauge("PG_CRASHED_IN_LAST_HOUR", "pg_stat_activity/crashes"),
    gauge("SERVER_CERTIFICATE_DAYS", CERTIFICATE),
    gauge("SERVER_SUPPORT_DAYS", SUPPORT),
)
"""The metrics of a server."""

SIZE, DEAD_ROWS, NEED_VACUUM = "DATABASE_STORAGE_SIZE", "PG_DEAD_ROWS", "PG_TABLES_NEED_VACUUM"
OF_DATABASES = (SIZE, DEAD_ROWS, NEED_VACUUM)
"""The metrics of a database, every ten minutes. Only a primary counts dead rows."""

_OPTION = """coalesce((SELECT option_value::float8 FROM pg_options_to_table(c.reloptions)
    WHERE option_name = 'autovacuum_vacuum_{0}'), current_setting('autovacuum_vacuum_{0}')::float8)"""
_THRESHOLD = f"{_OPTION.format('threshold')} + {_OPTION.format('scale_factor')} * greatest(c.reltuples, 0)"
# From version 18, the threshold has a maximum; -1 is none.
_MOST = "nullif(current_setting('autovacuum_vacuum_max_threshold', true)::float8, -1)"
DEAD_ROWS_QUERY = f"""
SELECT coalesce(sum(n_dead_tup), 0)::float8 AS "{DEAD_ROWS}",
       (count(*) FILTER (WHERE n_dead_tup > least({_THRESHOLD}, {_MOST})))::float8 AS "{NEED_VACUUM}"
  FROM pg_stat_all_tables JOIN pg_class c ON c.oid = relid
 WHERE NOT c.relisshared"""  # noqa: S608 - contains only our own names
"""The dead rows of a database. Its tables do not include the shared catalogues of all databases."""

METRICS = (*(row.metric for row in SERVER), *OF_DATABASES)
"""The names of all metrics."""
