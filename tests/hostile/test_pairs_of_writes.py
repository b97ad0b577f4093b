"""Any two writes at once end as they do one after the other, in one of the two orders."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from accesslist.changes import Tracked
from accesslist.models import Project
from accesslist.projects import changes as projects
from alerting.models import MaintenanceWindow
from alerting.windows import changes as windows
from opsapi.roles import Role, Scope
from tests.api import bodies
from tests.api.conftest import one_of_everything
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import OrganizationFactory, ProjectFactory, make_key
from tests.hostile.budget import LONG
from tests.hostile.console_writes import CONSOLE_WRITES, known_to_the_console, nothing_drawn
from tests.hostile.interleaving import Statement
from tests.hostile.pairs import NOT_FOUND, Answer, Pair, PairOutcome, Pairs, expected
from tests.hostile.scene import HostileScene
from tests.hostile.writes import Write, writes

RecordProperty = Callable[[str, object], None]
SAMPLE = 2
"""So many pairs of the same resource are tried in an ordinary run; in `make faults` all pairs of writes."""

MOST_SHOWN = 30
WRITES = writes()
IDENTITIES = {"users", "invites", "teams", "groups", "orgs"}
"""Resources of the API with which the writes of the console have rows in common."""
PAIRS: list[tuple[Write, Write]] = list(combinations_with_replacement(WRITES, 2))
ALONE: dict[str, list[Statement]] = {}
"""What each write executes alone, once it was tried."""

pytestmark = pytest.mark.django_db(transaction=True)


def resource(write: Write) -> str:
    """What a write is about: the first word of its path below the project or organization it is in."""
    words: list[str] = re.findall(r"/([a-zA-Z]\w+)", write.route.template.partition("v1.0")[2])
    return next((word for word in words if word not in {"groups", "orgs", "admin"}), words[0])


MEETING = [each for each in WRITES if resource(each) in IDENTITIES or str(each).startswith("DELETE /groups/")]
WITH_THE_CONSOLE: list[Pair] = [
    *combinations_with_replacement(CONSOLE_WRITES, 2),
    *product(CONSOLE_WRITES, MEETING),
]
OF_THE_CONSOLE: dict[str, list[Pair]] = (
    {str(each): [pair for pair in WITH_THE_CONSOLE if pair[0] == each] for each in CONSOLE_WRITES}
    if LONG
    else {"a sample": random.Random(0).sample(WITH_THE_CONSOLE, SAMPLE)}
)
SAME = [pair for pair in PAIRS if resource(pair[0]) == resource(pair[1])]
TRIED: Mapping[str, Sequence[Pair]] = (
    {name: [pair for pair in PAIRS if resource(pair[0]) == name] for name in sorted({*map(resource, WRITES)})}
    if LONG
    else {"a sample": random.Random(0).sample(SAME, SAMPLE)}
)


@pytest.fixture
def pairs(record_property: RecordProperty) -> Iterator[Pairs]:
    """Two Global owners, and one of everything for them to write."""
    project: Project = ProjectFactory.create()
    keys = (make_key(Role.GLOBAL_OWNER), make_key(Role.GLOBAL_OWNER))
    known = one_of_everything(project, ApiClient(keys[0]))
    empty = OrganizationFactory.create()
    made = Pairs(HostileScene(), {**known, "empty_org_id": empty.id}, keys)
    with ExitStack() as drawn:
        for patched in nothing_drawn():
            drawn.enter_context(patched)
        yield made
    made.close()
    made.scene.remove()
    for name, number in asdict(made.tally).items():
        record_property(name, number)


@pytest.mark.parametrize("about", TRIED)
def test_two_writes_at_once_end_as_one_after_the_other(pairs: Pairs, about: str) -> None:
    pairs.alone = ALONE
    faults = [fault for pair in TRIED[about] for fault in pairs.faults(pair)]
    assert not faults, f"{len(faults)} faults\n\n" + "\n\n".join(faults[:MOST_SHOWN])


@pytest.mark.parametrize("about", OF_THE_CONSOLE)
def test_writes_of_the_console_end_as_one_after_the_other(pairs: Pairs, about: str) -> None:
    pairs.known = known_to_the_console(pairs.known)
    pairs.scene = HostileScene()
    faults = [fault for pair in OF_THE_CONSOLE[about] for fault in pairs.faults(pair)]
    assert not faults, f"{len(faults)} faults\n\n" + "\n\n".join(faults[:MOST_SHOWN])


def write_of(row: str, body: Any = None) -> Write:
    """The write of a route, as the tables name it, with this body; the first one without."""
    return next(each for each in WRITES if str(each).startswith(row) and body in (None, each.body))


def unlocked_window(_: Scope, window_id: str) -> MaintenanceWindow:
    """A window that anybody else may change meanwhile."""
    return MaintenanceWindow.objects.get(id=window_id)


WINDOW = "PATCH /groups/<group_id>/maintenanceWindows"
MISSING_LOCKS: list[tuple[str, Tracked[Any], Pair]] = [
    (
        "alerting.windows.changes.WINDOW",
        replace(windows.WINDOW, locks=(), find=unlocked_window),
        (
            write_of(WINDOW, {"startDate": "2099-11-28T23:00:00Z"}),
            write_of(WINDOW, {"endDate": "2099-11-28T22:30:00Z"}),
        ),
    ),
    (
        "accesslist.projects.changes.PROJECT",
        replace(projects.PROJECT, adding=()),
        (write_of("POST /groups", bodies.group(orgId="<empty_org_id>")), write_of("DELETE /orgs/<org_id>")),
    ),
]
"""A resource, the resource without a lock, and two writes that need the lock."""


def test_a_missing_lock_is_found(pairs: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
    for lock, instead, pair in MISSING_LOCKS:
        with monkeypatch.context() as patched:
            patched.setattr(lock, instead)
            pairs.alone = {}
            assert next(pairs.faults(pair), None), f"{lock} is missing, and nothing was found"


CHANGED: Answer = (200, "")
DELETED: Answer = (204, "")


@each(
    ("answers", "rows", "is_expected"),
    [
        pytest.param((CHANGED, DELETED), ["changed"], True, id="first, second"),
        pytest.param((NOT_FOUND, DELETED), ["deleted"], True, id="second, first"),
        pytest.param((NOT_FOUND, DELETED), ["changed"], True, id="deleted before the answer was made"),
        pytest.param((CHANGED, NOT_FOUND), ["changed"], False, id="the other one finds nothing"),
        pytest.param((CHANGED, DELETED), ["deleted"], False, id="the change is lost"),
    ],
)
def test_the_write_that_was_held_may_find_nothing_to_answer(
    answers: tuple[Answer, Answer], rows: list[str], is_expected: bool
) -> None:
    orders = [
        PairOutcome((CHANGED, DELETED), {"events": ["changed"]}),
        PairOutcome((NOT_FOUND, DELETED), {"events": ["deleted"]}),
    ]
    assert (PairOutcome(answers, {"events": rows}) in expected(orders, first=0)) is is_expected
    turned = [PairOutcome((order.answers[1], order.answers[0]), order.state) for order in orders[::-1]]
    outcome = PairOutcome((answers[1], answers[0]), {"events": rows})
    assert (outcome in expected(turned, first=1)) is is_expected
