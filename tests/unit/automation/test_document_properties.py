"""Whatever a valid automation document holds, it comes through reading, completing, showing and writing."""

import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from automation.desired_state.document.changes import effects, process_changes
from automation.desired_state.document.publish import completed, document_faults
from automation.desired_state.document.schema import in_documented_order
from automation.desired_state.document.secrets import redacted, restored
from automation.desired_state.document.text import canonical, read, write
from automation.desired_state.resource import EffectDocument
from opsapi.clock import parse_time
from tests.factories.documents import agent, build, document, process, version

NOW = parse_time("2099-11-21T12:00:00Z")
NAMES = st.sampled_from(["a", "b", "c"])
TIMES = st.sampled_from(["2099-11-21T07:26:14Z", "2099-11-21T07:26:14+02:00", "2099-11-21T07:26"])
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)

CANARY, CANARY_NUMBER = "c4n4ry", 902384772
SECRETS = st.dictionaries(
    st.sampled_from(["pwd", "DB_PASS", "passphrase", "tokens", "credentials", "private-key", "api_keys"]),
    st.recursive(
        st.sampled_from([CANARY, CANARY_NUMBER, CANARY_NUMBER + 0.5, True, None]),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["x", "name"]), below),
        max_leaves=4,
    ),
    max_size=2,
)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "mongodb+srv", "jdbc:postgresql"]),
    st.sampled_from(["", f"{CANARY}@", f"ada:{CANARY}@", f"ada:/{CANARY}@", f"{CANARY}:?x#/@@"]),
    st.sampled_from(["a", "a:80", "[::1]:80/x", "a/@x", "a:1,b:2/x"]),
    st.sampled_from(["", "?", f"?{CANARY}", f"?a=b&token={CANARY}#x", f"?to=http://x:{CANARY}@y"]),
)
EXTRA = st.recursive(
    st.none()
    | st.booleans()
    | NUMBERS
    | st.text(st.characters(exclude_characters="\0", codec="utf-8"))
    | st.lists(URLS, max_size=2).map(" ".join)
    | st.fixed_dictionaries({"auth": st.fixed_dictionaries({"key": st.just(CANARY)})})
    | SECRETS,
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["x", "auth", "list"]), below)
    ),
    max_leaves=8,
)
ROTATION = st.fixed_dictionaries(
    {"sizeThresholdMB": NUMBERS, "timeThresholdHrs": st.integers()},
    optional={
        "numUncompressed": st.just(4) | st.none(),
        "maxUncompressed": st.just(4),
        "percentOfDiskspace": NUMBERS,
        "numTotal": st.integers(),
    },
)
CONCERN = st.fixed_dictionaries(
    {}, optional={"w": st.sampled_from(["majority", "2", 3]), "wtimeout": NUMBERS}
)
PROCESS = st.fixed_dictionaries(
    {},
    optional={
        "alias": st.text("abc") | st.none(),
        "backupRestoreUrl": st.sampled_from(["CANCEL", f"https://ada:{CANARY}@example.com/1?t={CANARY}"]),
        "cluster": NAMES,
        "defaultRWConcern": st.fixed_dictionaries({"defaultWriteConcern": CONCERN}),
        "disabled": st.booleans() | st.none(),
        "hostname": st.sampled_from([None, "db1", "198.51.100.7"]),
        "lastCompact": TIMES,
        "lastRestart": TIMES,
        "lastResync": TIMES,
        "logRotate": ROTATION,
        "numCores": st.integers(),
        "extra": EXTRA,
    },
)
AGENT = st.fixed_dictionaries(
    {"name": NAMES}, optional={"logRotate": ROTATION, "logPath": st.none(), "auth": EXTRA}
)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document, as a client might have written it."""
    names = draw(st.lists(NAMES, unique=True))
    agents = draw(st.lists(AGENT, max_size=2))
    made = document(
        databaseVersions=[version(name="7.0.2", builds=[build(bits=draw(st.sampled_from([None, 64])))])],
        processes=[process(**{**draw(PROCESS), "name": name}) for name in names],
        monitoringVersions=[
            agent(**{**hostname, "hostname": str(place)}) for place, hostname in enumerate(agents)
        ],
        agentVersion={"directoryUrl": draw(URLS)},
        auth=draw(EXTRA),
        other=draw(EXTRA),
    )
    return read(json.dumps(made))


def stored(sent: dict[str, Any]) -> dict[str, Any]:
    """What is kept of it."""
    return completed(sent, {})


@given(documents())
def test_a_valid_document_has_no_fault_and_survives(sent: dict[str, Any]) -> None:
    assert document_faults(sent, {}) == []
    kept = stored(sent)
    assert document_faults(kept, kept) == []
    assert write(read(write(kept))) == write(kept)
    assert canonical(completed(kept, kept)) == canonical(kept)


@given(documents())
def test_what_is_not_listed_stays_as_it_came(sent: dict[str, Any]) -> None:
    kept = stored(sent)
    for name in ("auth", "other"):
        assert write(kept[name]) == write(sent[name])
    for before, after in zip(sent["processes"], kept["processes"], strict=True):
        assert canonical(before.get("extra")) == canonical(after.get("extra"))


@given(documents())
def test_what_is_shown_can_be_written_back_and_changes_nothing(sent: dict[str, Any]) -> None:
    kept = stored(sent)
    found, faults = restored(read(write(redacted(kept))), kept)
    assert faults == []
    assert write(found) == write(kept)
    assert process_changes(kept, completed(found, kept)) == []
    assert effects(kept, completed(found, kept), NOW) == []


@given(documents(), documents())
def test_no_secret_is_shown(first: dict[str, Any], other: dict[str, Any]) -> None:
    old, new = stored(first), stored(other)
    assert redacted(redacted(old)) == redacted(old)
    ways_out = [
        redacted(old),
        redacted(new),
        *(change.document() for change in process_changes(old, new)),
        *(EffectDocument.of(effect) for effect in effects(old, new, NOW)),
    ]
    shown = json.dumps(ways_out, default=str)
    assert CANARY not in shown
    assert str(CANARY_NUMBER) not in shown


@given(documents(), st.randoms(use_true_random=False))
def test_processes_that_moved_keep_their_secrets(sent: dict[str, Any], random: Random) -> None:
    kept = stored(sent)
    shown = redacted(kept)
    order = random.sample(range(len(kept["processes"])), len(kept["processes"]))
    found, faults = restored({**shown, "processes": [shown["processes"][at] for at in order]}, kept)
    assert faults == []
    assert write(found["processes"]) == write([kept["processes"][at] for at in order])


@given(documents(), documents())
def test_changes_and_effects_are_of_the_processes_that_differ(
    first: dict[str, Any], other: dict[str, Any]
) -> None:
    old, new = stored(first), stored(other)
    before, after = (
        {process["name"]: canonical(process) for process in side["processes"]} for side in (old, new)
    )
    differing = {name for name in before | after if before.get(name) != after.get(name)}
    assert {change.name for change in process_changes(old, new)} <= differing
    assert {effect.process for effect in effects(old, new, NOW)} <= differing


@given(EXTRA)
def test_the_rules_take_any_value_for_a_document_part(value: Any) -> None:
    for name in ("databaseVersions", "processes", "monitoringVersions", "backupVersions"):
        for wrong in (
            value,
            [value],
            [{"builds": value, "logRotate": value, "name": value, "cluster": value}],
        ):
            spoiled = read(json.dumps(document(**{name: wrong})))
            found = document_faults(spoiled, spoiled)
            assert in_documented_order(found) == found
            assert len({fault.field for fault in found}) == len(found)
