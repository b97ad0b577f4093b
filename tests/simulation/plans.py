"""What one seed draws: projects, their receivers with their faults, and all that happens in a run.

Times are seconds since the beginning. All faults end when the plan ends; only a receiver that refuses for
good stays as it is. What happens in a run follows from the seed alone.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

ACCEPT_SECONDS = (0.01, 0.1)
TIME_OUT_SECONDS = 15.0
MINUTE, HOUR = 60.0, 3600.0


class Mode(StrEnum):
    """What a receiver does with a request."""

    ACCEPT = "accept"
    LATE = "late"
    HANG = "hang"
    LOSE = "lose the answer"
    FAIL = "fail"
    THROTTLE = "throttle"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class SimulatedPhase:
    """From `start` on the receiver does this; `retry_after` goes with THROTTLE."""

    start: float
    mode: Mode
    retry_after: int | None = None


@dataclass(slots=True)
class Receiver:
    """Where messages go: one destination."""

    name: str
    host: str
    phases: list[SimulatedPhase] = field(default_factory=lambda: [SimulatedPhase(0.0, Mode.ACCEPT)])

    @property
    def url(self) -> str:
        """Its address, as a configuration names it."""
        return f"http://{self.host}/{self.name}"

    def phase(self, moment: float) -> SimulatedPhase:
        """What it does then."""
        return next(phase for phase in reversed(self.phases) if phase.start <= moment)

    def accepts_from(self, moment: float) -> bool:
        """Whether it takes everything at once from then on."""
        later = (phase for phase in self.phases if phase.start > moment)
        return all(phase.mode is Mode.ACCEPT for phase in (self.phase(moment), *later))

    @property
    def is_sound(self) -> bool:
        """Whether it never does anything else than taking what comes."""
        return self.accepts_from(0.0)


@dataclass(slots=True)
class SimulatedSetting:
    """One notification of a project's configuration."""

    project: int
    receiver: Receiver
    interval_min: int | None
    delay_min: int


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens to the platform: `what` names the method of the world that does it."""

    at: float
    what: str
    args: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Outage:
    """A host accepts no connections; each attempt takes this many `seconds`."""

    host: str
    start: float
    end: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Interruption:
    """A time in which a part of the platform does not work as usual."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class SimulatedRestore:
    """A backup is created at `backup`, and restored at `restored`."""

    backup: float
    restored: float


@dataclass(slots=True)
class Plan:
    """One run. `sound` projects have nothing but sound receivers, and few messages."""

    seed: int
    slots: int
    workers: int
    ends: float = 0.0
    projects: int = 0
    sound: set[int] = field(default_factory=set)
    settings: list[SimulatedSetting] = field(default_factory=list)
    outages: list[Outage] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    failing_database: list[Interruption] = field(default_factory=list)
    restore: SimulatedRestore | None = None

    @property
    def receivers(self) -> list[Receiver]:
        """All of them, each once."""
        return list({setting.receiver.name: setting.receiver for setting in self.settings}.values())


def draw(seed: int, *, small: bool = False) -> Plan:
    """The plan of a seed; a `small` one is for the real database."""
    rng = Random(seed)
    timeline = rng.choices([_crowd, _long, _busy, _restored], [1, 2, 7, 1] if not small else [0, 0, 1, 0])[0]
    plan = Plan(seed, slots=rng.choice([4, 8, 16]), workers=rng.choice([1, 1, 2, 3]))
    timeline(plan, rng, small)
    _share(plan, Random(f"shared addresses of {seed}"))
    plan.acts.sort(key=lambda act: act.at)
    return plan


def _crowd(plan: Plan, rng: Random, small: bool) -> None:
    """Many receivers of other projects hang, fail or do not resolve, and a few projects are sound."""
    plan.ends = rng.uniform(1, 4) * MINUTE
    plan.slots = rng.choice([4, 8])
    kind = rng.choice([Mode.HANG, Mode.HANG, Mode.LATE, Mode.FAIL, Mode.LOSE])
    # Sound until then, so that they are known to answer; or broken from the beginning.
    breaks = rng.choice([0.0, 20.0])
    for _ in range(rng.choice([1, 2, 4, 8])):
        project = _project(plan)
        for _ in range(rng.randint(2, 6)):
            receiver = _receiver(plan, rng, f"p{project}.example.com" if rng.random() < 0.7 else "shared")
            if breaks:
                receiver.phases.append(SimulatedPhase(breaks, kind))
            else:
                receiver.phases = [SimulatedPhase(0.0, kind)]
            receiver.phases.append(SimulatedPhase(plan.ends, Mode.ACCEPT))
            plan.settings.append(SimulatedSetting(project, receiver, None, 0))
        for target in range(rng.choice([1, 2, 3, 4, 12])):
            plan.acts.append(Act(rng.uniform(0, 10), "down", (project, target)))
            plan.acts.append(Act(breaks + rng.uniform(10, 20), "up", (project, target)))
            plan.acts.append(Act(breaks + rng.uniform(20, 30), "down", (project, target)))
    if rng.random() < 0.3:
        plan.outages.append(Outage("shared", 5.0, plan.ends, rng.choice([0.01, 5.0])))
    _add_sound(plan, rng)


def _long(plan: Plan, rng: Random, small: bool) -> None:
    """Few receivers, and an hour or more in which they are away or refuse."""
    plan.ends = rng.uniform(0.3, 1.6) * HOUR
    for _ in range(rng.randint(1, 2)):
        project = _project(plan)
        for _ in range(rng.randint(1, 2)):
            receiver = _receiver(plan, rng, rng.choice(["shared", f"p{project}.example.com"]))
            start = rng.uniform(0, 5 * MINUTE)
            mode = rng.choice([Mode.HANG, Mode.FAIL, Mode.THROTTLE, Mode.LOSE, Mode.REFUSE])
            asked = rng.choice([None, 30, 600, 7200]) if mode is Mode.THROTTLE else None
            receiver.phases.append(SimulatedPhase(start, mode, asked))
            if rng.random() < 0.8 or mode is not Mode.REFUSE:
                receiver.phases.append(SimulatedPhase(rng.uniform(start, plan.ends), Mode.ACCEPT))
            plan.settings.append(SimulatedSetting(project, receiver, rng.choice([None, None, 15]), 0))
        for target in range(rng.randint(1, 3)):
            _flap(plan, rng, project, target, longest=10 * MINUTE, most=6)
        _maintenance(plan, rng, project)
    if rng.random() < 0.5:
        start = rng.uniform(0, plan.ends / 2)
        plan.outages.append(Outage("shared", start, plan.ends, rng.choice([0.01, 5.0])))
    _interruptions(plan, rng, rng.choice([0, 0, 2]))


def _busy(plan: Plan, rng: Random, small: bool) -> None:
    """Hosts flap within seconds, receivers change what they do, workers die and sleep."""
    plan.ends = rng.uniform(1, 2) * MINUTE if small else rng.uniform(2, 6) * MINUTE
    for _ in range(rng.randint(1, 2 if small else 3)):
        project = _project(plan)
        for _ in range(rng.randint(1, 2)):
            receiver = _receiver(plan, rng, rng.choice(["shared", "common", f"p{project}.example.com"]))
            _unsteady(receiver, plan, rng)
            interval = None if small else rng.choice([None, 5, 5])
            plan.settings.append(SimulatedSetting(project, receiver, interval, rng.choice([0, 0, 0, 1])))
        for target in range(rng.randint(1, 3)):
            _flap(plan, rng, project, target, longest=rng.choice([2.0, 20.0, 120.0]), most=8)
        if rng.random() < 0.5:
            _maintenance(plan, rng, project)
    if rng.random() < 0.2:
        _redirect(plan, rng)
    if rng.random() < 0.1:
        _asks_to_wait(plan, rng)
    for host in ("shared", "common"):
        if rng.random() < 0.3:
            start = rng.uniform(0, plan.ends)
            end = min(plan.ends, start + rng.uniform(1, 120))
            plan.outages.append(Outage(host, start, end, rng.choice([0.01, 5.0])))
    if rng.random() < 0.5:
        _interruptions(plan, rng, rng.randint(1, 6))
    _add_sound(plan, rng)


def _restored(plan: Plan, rng: Random, small: bool) -> None:
    """A backup is restored a little later, and the signals since are evaluated again."""
    _busy(plan, rng, small)
    backup = rng.uniform(10, plan.ends - 10)
    plan.restore = SimulatedRestore(backup, backup + rng.uniform(1, 10))


def _share(plan: Plan, rng: Random) -> None:
    """Some receivers are named by two or three notifications, with delays and intervals of their own."""
    if rng.random() < 0.6:
        return
    for setting in list(plan.settings):
        if rng.random() < 0.5:
            for _ in range(rng.choice([1, 1, 2])):
                interval = setting.interval_min and rng.choice([setting.interval_min, 10])
                delay = rng.choice([setting.delay_min, setting.delay_min, 1])
                plan.settings.append(SimulatedSetting(setting.project, setting.receiver, interval, delay))


def _asks_to_wait(plan: Plan, rng: Random) -> None:
    """A receiver with several requests in progress asks to wait, and answers the others after that."""
    project, at = _project(plan), rng.uniform(10, plan.ends / 2)
    receiver = _receiver(plan, rng, "busy.example.com")
    asked = rng.choice([60, rng.randint(3, 12)])
    receiver.phases += [
        SimulatedPhase(at, Mode.LATE),
        SimulatedPhase(at + 1, Mode.THROTTLE, asked),
        SimulatedPhase(at + 2, Mode.ACCEPT),
    ]
    plan.settings.append(SimulatedSetting(project, receiver, None, 0))
    for target, after in enumerate([-5.0, 0.5, 0.6, 1.5, rng.uniform(3, 30), rng.uniform(15, 60)]):
        plan.acts.append(Act(at + after, "down", (project, target)))


def _project(plan: Plan) -> int:
    plan.projects += 1
    return plan.projects


def _receiver(plan: Plan, rng: Random, host: str) -> Receiver:
    return Receiver(f"r{len(plan.settings)}", host)


def _add_sound(plan: Plan, rng: Random) -> None:
    """Projects that nothing ails: the faults of others must not reach them."""
    for _ in range(rng.randint(1, 2)):
        project = _project(plan)
        plan.sound.add(project)
        host = rng.choice(["shared", f"p{project}.example.com"])
        if any(outage.host == host for outage in plan.outages):
            host = f"p{project}.example.com"
        plan.settings.append(SimulatedSetting(project, _receiver(plan, rng, host), rng.choice([None, 5]), 0))
        for target in range(rng.randint(1, 2)):
            _flap(plan, rng, project, target, longest=60.0, most=6)


def _flap(plan: Plan, rng: Random, project: int, target: int, *, longest: float, most: int) -> None:
    """A host goes down and comes back several times."""
    at = rng.uniform(0, plan.ends / 2)
    for number in range(rng.randint(1, most)):
        if at > plan.ends:
            return
        plan.acts.append(Act(at, "up" if number % 2 else "down", (project, target)))
        at += rng.uniform(0.05, longest)


def _unsteady(receiver: Receiver, plan: Plan, rng: Random) -> None:
    at = 0.0
    for _ in range(rng.randint(0, 4)):
        at += rng.uniform(0.5, plan.ends / 3)
        if at >= plan.ends:
            break
        mode = rng.choice(list(Mode))
        asked = rng.choice([None, 5, 60]) if mode is Mode.THROTTLE else None
        receiver.phases.append(SimulatedPhase(at, mode, asked))
    if receiver.phases[-1].mode is not Mode.REFUSE or rng.random() < 0.7:
        receiver.phases.append(SimulatedPhase(plan.ends, Mode.ACCEPT))


def _maintenance(plan: Plan, rng: Random, project: int) -> None:
    """Windows and acknowledgements that begin and end."""
    for number in range(rng.randint(0, 2)):
        start = rng.uniform(0, plan.ends * 0.8)
        end = rng.uniform(start + 1, plan.ends)
        plan.acts.append(Act(start, "window", (project, number, end)))
        if rng.random() < 0.3:
            plan.acts.append(Act(rng.uniform(start, end), "window_gone", (project, number)))
    for _ in range(rng.randint(0, 2)):
        at = rng.uniform(0, plan.ends * 0.8)
        plan.acts.append(Act(at, "acknowledge", (project, rng.randint(0, 2), rng.uniform(at, plan.ends))))
        if rng.random() < 0.3:
            plan.acts.append(
                Act(rng.uniform(at, plan.ends), "acknowledge", (project, rng.randint(0, 2), 0.0))
            )


def _redirect(plan: Plan, rng: Random) -> None:
    """A configuration names another receiver from then on; perhaps the old one hangs, and a worker dies."""
    which, at = rng.randrange(len(plan.settings)), rng.uniform(20, plan.ends)
    other = Receiver(f"r{which}-other", rng.choice(["shared", "other.example.com"]))
    plan.acts.append(Act(at, "redirect", (which, other)))
    if rng.random() < 0.5:
        old = plan.settings[which].receiver
        before = [phase for phase in old.phases if phase.start < at - 20]
        old.phases = [*before, SimulatedPhase(at - 20, Mode.HANG), SimulatedPhase(plan.ends, Mode.ACCEPT)]
        plan.acts.append(Act(at - 1.5, "die", (rng.randrange(plan.workers), 0.1)))
        target = rng.randint(0, 2)
        plan.acts.append(Act(at - 15, "down", (plan.settings[which].project, target)))


def _interruptions(plan: Plan, rng: Random, count: int) -> None:
    """Workers that stop or sleep, and a database that fails."""
    for _ in range(count):
        at, worker = rng.uniform(0, plan.ends), rng.randrange(plan.workers)
        match rng.choice(["die", "sleep", "sleep", "database"]):
            case "die":
                plan.acts.append(Act(at, "die", (worker, rng.uniform(0, 10))))
            case "sleep":
                plan.acts.append(
                    Act(at, "sleep", (worker, rng.choice([rng.uniform(1, 60), rng.uniform(30, 46)])))
                )
            case _:
                plan.failing_database.append(Interruption(at, at + rng.uniform(0.1, 5)))
