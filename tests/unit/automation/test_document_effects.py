"""What a dry run says would happen to the processes."""

from datetime import UTC, datetime
from typing import Any

from automation.desired_state.document.changes import Effect, ProcessAction, effects
from automation.desired_state.resource import EffectDocument
from automation.plan.left_alone import LeftAlone
from automation.plan.reading import NOT_PLANNED, read_goal
from tests.each import each
from tests.factories.documents import ABSENT, document, full_document, process

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
BEFORE, AFTER = "2099-11-21T11:00:00Z", "2099-11-21T12:00:00Z"
LATER = "2099-11-21T12:00:01Z"
URL = "https://restore.example.com/1"
REFUSED = {"backupRestoreUrl": URL, "lastKmipMasterKeyRotation": AFTER, "numCores": 4}


def found(old: list[Any], new: list[Any]) -> list[Effect]:
    return effects(document(processes=old), document(processes=new), NOW)


def actions(old: list[Any], new: list[Any]) -> list[ProcessAction]:
    return [effect.action for effect in found(old, new)]


def test_nothing_changed_does_nothing() -> None:
    assert effects(full_document(), full_document(), NOW) == []


@each(
    ("old", "new", "expected"),
    [
        ({"disabled": True}, {"disabled": False}, [ProcessAction.START]),
        ({"disabled": True}, {}, [ProcessAction.START]),
        ({}, {"disabled": True}, [ProcessAction.SHUTDOWN]),
        ({}, {"disabled": False}, []),
        ({"disabled": True}, {"disabled": True, "alias": "a"}, [ProcessAction.RECONFIGURE]),
        ({}, {"version": "7.0.3"}, [ProcessAction.UPGRADE]),
        ({}, {"version": "6.0.9"}, [ProcessAction.DOWNGRADE]),
        ({}, {"version": "7.0.2-ent"}, [ProcessAction.CHANGE_VERSION]),
        ({}, {"version": "mine"}, [ProcessAction.CHANGE_VERSION]),
        ({}, {"alias": "a"}, [ProcessAction.RECONFIGURE]),
        ({"backupRestoreUrl": URL}, {"backupRestoreUrl": "CANCEL"}, [ProcessAction.NOTHING]),
        ({"backupRestoreUrl": "CANCEL"}, {}, []),
        ({"numCores": 4}, {"numCores": 4}, []),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER}, [ProcessAction.RESTART]),
        ({}, {"lastRestart": AFTER}, [ProcessAction.RESTART]),
        ({"lastRestart": BEFORE}, {}, []),
        ({"lastRestart": BEFORE}, {"lastRestart": AFTER, "disabled": True}, [ProcessAction.SHUTDOWN]),
        ({"disabled": True}, {"lastRestart": AFTER}, [ProcessAction.START]),
        ({"disabled": True}, {"lastRestart": LATER}, [ProcessAction.START, ProcessAction.RESTART]),
        ({"lastResync": BEFORE}, {"lastResync": AFTER}, [ProcessAction.RESYNC]),
        ({"lastResync": BEFORE}, {"lastResync": "2099-11-21T11:00:00+00:00"}, []),
        ({"lastCompact": BEFORE}, {"lastCompact": AFTER}, [ProcessAction.COMPACT]),
        ({"lastCompact": BEFORE}, {"lastCompact": "2099-11-21T12:00:00"}, [ProcessAction.NOTHING]),
        ({"lastCompact": "2099-11-21T12:00:00"}, {"lastCompact": "2099-11-21T12:00:00"}, []),
        ({"lastCompact": "2099-11-21T12:00:00"}, {"lastCompact": AFTER}, [ProcessAction.COMPACT]),
        ({"lastCompact": AFTER}, {"lastCompact": "2099-11-21T13:00:00+01:00"}, []),
        (
            {},
            {
                "version": "8.0",
                "alias": "a",
                "lastRestart": AFTER,
                "lastResync": AFTER,
                "lastCompact": AFTER,
            },
            [
                ProcessAction.UPGRADE,
                ProcessAction.RECONFIGURE,
                ProcessAction.RESTART,
                ProcessAction.RESYNC,
                ProcessAction.COMPACT,
            ],
        ),
    ],
)
def test_what_a_change_does_to_a_process(
    old: dict[str, Any], new: dict[str, Any], expected: list[ProcessAction]
) -> None:
    assert actions([process(**old)], [process(**new)]) == expected


@each("name", NOT_PLANNED)
def test_what_the_plan_refuses_has_no_effect(name: str) -> None:
    new = process(**{name: REFUSED[name]})
    (effect,) = found([process()], [new])
    (note,) = read_goal(document(processes=[new])).units[0].notes
    assert (effect.action, effect.warning) == (ProcessAction.NOTHING, note.sentence)
    assert note.sentence == f"the plan does not carry out {name}: {NOT_PLANNED[name]}"


def test_a_process_that_the_plan_leaves_alone_has_a_single_effect_that_says_why() -> None:
    old, new = (
        document(processes=[process(), process(name="db_2")]),
        document(
            processes=[process(version="8.0", lastRestart=AFTER, numCores=4), process(name="db_2", alias="a")]
        ),
    )
    alone, of_field, other = effects(old, new, NOW, {"db_1": LeftAlone("because")})
    assert (alone.process, alone.action, alone.warning) == ("db_1", ProcessAction.NOTHING, "because")
    assert (of_field.action, of_field.detail) == (ProcessAction.NOTHING, "does not carry out numCores")
    assert (other.process, other.action) == ("db_2", ProcessAction.RECONFIGURE)
    assert effects(new, new, NOW, {"db_1": LeftAlone("because")}) == []


@each(
    ("new", "expected"),
    [
        ({}, [ProcessAction.START]),
        ({"disabled": True}, []),
        ({"lastRestart": AFTER}, [ProcessAction.START]),
        ({"lastRestart": LATER}, [ProcessAction.START, ProcessAction.RESTART]),
        ({"lastRestart": LATER, "disabled": True}, []),
        ({"lastResync": AFTER}, [ProcessAction.START, ProcessAction.RESYNC]),
        ({"lastCompact": "2099-11-21T12:00:00"}, [ProcessAction.START, ProcessAction.NOTHING]),
    ],
)
def test_what_a_new_process_does(new: dict[str, Any], expected: list[ProcessAction]) -> None:
    assert actions([], [process(**new)]) == expected


def test_a_process_that_is_gone_is_no_longer_managed() -> None:
    assert actions([process()], []) == [ProcessAction.REMOVE]


@each(
    ("new", "field"),
    [
        ({"lastResync": AFTER}, "copies all data again"),
        ({"backupRestoreUrl": URL}, "restores are not carried out"),
        ({"lastCompact": "2099-11-21T12:00:00"}, "no effect"),
    ],
)
def test_what_may_surprise_is_warned_of(new: dict[str, Any], field: str) -> None:
    (effect,) = found([process()], [process(**new)])
    assert effect.warning is not None
    assert field in effect.warning


@each("new", [{"lastRestart": AFTER}, {"lastCompact": AFTER}, {"alias": "a"}, {"disabled": True}])
def test_the_rest_is_not_warned_of(new: dict[str, Any]) -> None:
    (effect,) = found([process()], [process(**new)])
    assert effect.warning is None


@each(("time", "at"), [(BEFORE, None), (AFTER, None), (LATER, datetime(2099, 11, 21, 12, 0, 1, tzinfo=UTC))])
def test_a_time_to_come_is_reported(time: str, at: datetime | None) -> None:
    (effect,) = found([process()], [process(lastCompact=time)])
    assert effect.at == at


def test_the_document_leaves_out_what_is_absent() -> None:
    (plain,) = found([process()], [process(version="7.0.3")])
    assert EffectDocument.of(plain) == {
        "process": "db_1",
        "action": "UPGRADE",
        "detail": "runs version 7.0.3 instead of 7.0.2",
    }
    (rich,) = found([process()], [process(lastResync=LATER)])
    shown = EffectDocument.of(rich)
    assert (shown["at"], shown["warning"]) == (LATER, rich.warning)


def test_settings_are_named_and_only_so_many() -> None:
    (few,) = found([process()], [process(args2_6={"net": {"port": 27018}}, alias="a")])
    assert few.detail == "changes args2_6.net.port, args2_6.storage, alias"
    (many,) = found([process()], [process(**{f"x{number}": 1 for number in range(13)})])
    assert many.detail.endswith("x9 and 3 more")


def test_processes_are_in_the_order_of_the_document_then_removed_processes() -> None:
    old = [process(name="gone"), process(name="b")]
    new = [process(name="n"), process(name="b", disabled=True)]
    assert [(change.process, change.action) for change in found(old, new)] == [
        ("n", ProcessAction.START),
        ("b", ProcessAction.SHUTDOWN),
        ("gone", ProcessAction.REMOVE),
    ]


def test_a_process_without_a_name_is_called_by_its_address() -> None:
    (effect,) = found([], [process(name=ABSENT)])
    assert effect.process == "db1.example.com:27017"
