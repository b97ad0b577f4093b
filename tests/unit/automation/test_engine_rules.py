"""How the engine of a host is known, and the fleet in words."""

from datetime import UTC, datetime

from automation.choices import AgentType, HostType
from automation.hosts.rules import engine_of
from automation.metrics import Engine, Metric
from automation.reports.rules import HostReport
from automation.wording import AGENT_WORDS, ENGINE_WORDS, TYPE_WORDS, database_words, type_words
from tests.each import each
from tests.factories.automation import host_report

BOTH, MONGO, POSTGRES = Metric.CONNECTIONS, Metric.CURSORS_TOTAL_OPEN, Metric.PG_XID_AGE


def reported(
    *metrics: Metric, of_database: tuple[Metric, ...] = (), engine: Engine | None = None
) -> HostReport:
    """A report with a sample of each metric."""
    now = datetime(2026, 11, 21, tzinfo=UTC)
    samples = {metric: [(now, 1.0)] for metric in metrics}
    databases = {"shop": {metric: [(now, 1.0)] for metric in of_database}} if of_database else None
    whole = host_report()
    return HostReport(
        address=whole.address,
        type_name=whole.type_name,
        reachable=True,
        samples=samples,
        databases=databases,
        engine=engine,
    )


@each(
    ("report", "engine"),
    [
        (reported(BOTH, engine=Engine.POSTGRESQL), Engine.POSTGRESQL),
        (reported(MONGO, engine=Engine.POSTGRESQL), Engine.POSTGRESQL),
        (reported(BOTH, MONGO), Engine.MONGODB),
        (reported(BOTH, POSTGRES), Engine.POSTGRESQL),
        (reported(BOTH, of_database=(Metric.DATABASE_INDEX_SIZE,)), Engine.MONGODB),
        (reported(BOTH), None),
        (reported(), None),
        # An agent that mixes them says nothing.
        (reported(MONGO, POSTGRES), None),
    ],
)
def test_the_engine_is_named_or_follows_from_metrics_of_a_single_engine(
    report: HostReport, engine: Engine | None
) -> None:
    assert engine_of(report) is engine


def test_every_member_of_the_closed_sets_has_words() -> None:
    assert set(TYPE_WORDS) == set(HostType)
    assert set(ENGINE_WORDS) == set(Engine)
    assert set(AGENT_WORDS) == set(AgentType)
    assert not any("_" in words for words in (*TYPE_WORDS.values(), *AGENT_WORDS.values()))


@each(
    ("engine", "version", "type_name", "replica_set", "words"),
    [
        ("POSTGRESQL", "18.4", "REPLICA_PRIMARY", None, "PostgreSQL 18.4 · primary"),
        ("POSTGRESQL", "18.4", "REPLICA_SECONDARY", "billing", "PostgreSQL 18.4 · standby of billing"),
        ("MONGODB", "6.0.5", "REPLICA_SECONDARY", "rs0", "MongoDB 6.0.5 · secondary of rs0"),
        ("MONGODB", None, "SHARD_MONGOS", "rs0", "MongoDB · mongos"),
        (None, "18.4", "STANDALONE", None, "Unknown engine 18.4 · standalone"),
        (None, None, "NO_DATA", None, "Unknown engine · no data"),
    ],
)
def test_a_server_in_words(
    engine: str | None, version: str | None, type_name: str, replica_set: str | None, words: str
) -> None:
    shown = database_words(engine=engine, version=version, type_name=type_name, replica_set=replica_set)
    assert shown == words


def test_a_secondary_of_an_unknown_engine_may_be_a_standby() -> None:
    assert type_words("REPLICA_SECONDARY", None) == "Secondary or standby"
