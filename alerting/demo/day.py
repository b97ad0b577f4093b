"""The day in the order in which it happened: reports, deeds, and after each what follows from it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from accesslist.services.organizations import organization_rename
from alerting.demo.outcomes import deliver_until
from alerting.demo.reports import Reporter, edges
from alerting.demo.tables.automation import AUTOMATED, REVISIONS, Revision, document
from alerting.demo.tables.deeds import ACKNOWLEDGED, SWITCHED
from alerting.demo.tables.fleet import AGENTS, HOSTS, AgentSpec
from alerting.demo.tables.people import agents_key
from alerting.demo.tables.places import RENAMED
from alerting.demo.tables.windows import WINDOWS
from alerting.demo.watching import acknowledge, switch, window_make
from alerting.demo.world import World
from alerting.evaluation import evaluate_signals, open_tracked
from automation.choices import AgentType
from automation.reports import ProcessReport
from automation.rules.silence import SILENCE
from automation.services.automation_config import automation_config_publish
from automation.services.ingest import report_ingest
from automation.services.silence import group_silence_mark

FIRST_REPORT = 20 * 24 * 60
"""So many minutes ago the agents reported for the first time; then again in the day that is told."""
_DAY = 24 * 60
_ROUND = 120
"""How often an agent says what it measured, besides when something happens: often enough for a plot."""
_ROUND_OF_OTHERS = 4 * 60
"""How often agents report that measure nothing."""
_RENAMED_AGO = 890
_FINDING = 5
"""So many minutes after its last report an agent is found silent."""
_LAGGARD = "cat-s0-b"
"""The process that has not come to the newest version yet."""


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """Something that happens so many minutes before the end; reports, of `rank` 0, come first."""

    before: int
    rank: int
    do: Callable[[], None] = field(compare=False)


def day_tell(world: World) -> None:
    """Let it all happen, each at its time, and what follows from it before the next."""
    steps = sorted(_steps(world), key=lambda step: (-step.before, step.rank))
    for step in steps:
        moment = world.ago(step.before)
        deliver_until(moment)
        step.do()
        follow(moment)
    deliver_until(world.now)


def follow(moment: datetime) -> None:
    """What a worker would find out at that moment."""
    while evaluate_signals(now=moment):
        pass
    open_tracked(now=moment)


def _steps(world: World) -> Iterator[Step]:
    for agent in AGENTS:
        yield from _agent_steps(world, agent)
    for number, revision in enumerate(REVISIONS, start=1):
        yield Step(revision.ago, 1, partial(_publish, world, number, revision))
    yield Step(_RENAMED_AGO, 1, partial(_rename, world))
    for window in WINDOWS:
        yield Step(window.made, 1, partial(window_make, world, window))
    for deed in ACKNOWLEDGED:
        yield Step(deed.ago, 1, partial(acknowledge, world, deed))
    for switched in SWITCHED:
        yield Step(switched.ago, 1, partial(switch, world, switched))


def _agent_steps(world: World, agent: AgentSpec) -> Iterator[Step]:
    reporter, last = Reporter(agent, world.now), FIRST_REPORT
    for ago in (FIRST_REPORT, *_rounds(agent)):
        # What was measured before the day is not told.
        since = world.ago(min(last, ago + _ROUND))
        yield Step(ago, 0, partial(_report, world, agent, reporter, ago, since))
        last = ago
    if agent.silent_for:
        yield Step(agent.silent_for - _FINDING, 1, partial(_find_silent, world, agent))


def _rounds(agent: AgentSpec) -> list[int]:
    """When it reported in the course of the day: regularly, and when something happened."""
    monitoring = agent.agent_type is AgentType.MONITORING
    regular = set(range(0, _DAY + 1, _ROUND if monitoring else _ROUND_OF_OTHERS))
    seen = edges(agent.group) if monitoring else set()
    # Who is not silent has to be heard when somebody else of the project is found to be.
    findings = {one.silent_for - _FINDING for one in AGENTS if one.silent_for and one.group == agent.group}
    all_rounds = regular | seen | findings | {agent.silent_for}
    return sorted((ago for ago in all_rounds if agent.silent_for <= ago <= _DAY), reverse=True)


def _report(world: World, agent: AgentSpec, reporter: Reporter, ago: int, since: datetime) -> None:
    now = world.ago(ago)
    processes = _processes(ago) if agent.agent_type is AgentType.AUTOMATION else ()
    report_ingest(
        group_id=world.groups[agent.group].id,
        report=reporter.report(now, since=since, processes=processes),
        actor=world.actors[agents_key(agent.group)],
        now=now,
    )


def _processes(ago: int) -> list[ProcessReport]:
    """How far each process has been brought: to what was published, but for the laggard."""
    reached = sum(one.ago > ago for one in REVISIONS)
    names = [(host.hostname.partition(".")[0], host.hostname) for host in HOSTS if host.group == AUTOMATED]
    return [
        ProcessReport(name=name, hostname=hostname, goal_version=max(0, reached - (name == _LAGGARD)))
        for name, hostname in names
    ]


def _find_silent(world: World, agent: AgentSpec) -> None:
    now = world.ago(agent.silent_for - _FINDING)
    group_silence_mark(group_id=world.groups[agent.group].id, limit=now - SILENCE, now=now)


def _publish(world: World, number: int, one: Revision) -> None:
    automation_config_publish(
        group_id=world.groups[AUTOMATED].id,
        sent=document(number, one),
        if_match=None,
        dry_run=False,
        actor=world.actors[one.by],
        now=world.ago(one.ago),
    )


def _rename(world: World) -> None:
    old, new = RENAMED
    organization_rename(org_id=world.orgs[old], name=new, actor=world.owner, now=world.ago(_RENAMED_AGO))
