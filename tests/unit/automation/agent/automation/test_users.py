"""Users of a server, compared with the users of the document."""

import hashlib
import hmac
from base64 import b64encode
from typing import Any

from automation.agent.automation.users import UserCommand, user_commands, users_question, watch_string
from automation.agent.engine import ServerAddress
from automation.agent.mongodb.connection import read
from tests.each import each

PASSWORD, OTHER = "p: @ss/wörd%", "another"
ROLE = {"db": "shop", "role": "read"}
APP: dict[str, Any] = {"user": "app", "db": "shop", "roles": [ROLE], "pwd": PASSWORD}
AUTO: dict[str, Any] = {"autoUser": "mms", "autoPwd": PASSWORD, "autoAuthMechanism": "SCRAM-SHA-256"}
MONITOR = {"db": "admin", "role": "clusterMonitor"}


def stored(user: str, password: str, *mechanisms: str) -> dict[str, Any]:
    """The credentials of a user as a server says them (RFC 5802)."""
    found = {}
    for mechanism in mechanisms:
        name = "sha256" if mechanism == "SCRAM-SHA-256" else "sha1"
        digest = hashlib.md5(f"{user}:mongo:{password}".encode(), usedforsecurity=False).hexdigest()
        secret = (password if name == "sha256" else digest).encode()
        client_key = hmac.digest(hashlib.pbkdf2_hmac(name, secret, b"salt", 4096), b"Client Key", name)
        found[mechanism] = {
            "salt": b64encode(b"salt").decode(),
            "iterationCount": 4096,
            "storedKey": b64encode(hashlib.new(name, client_key).digest()).decode(),
        }
    return found


def has(user: str = "app", db: str = "shop", password: str = PASSWORD, **changes: Any) -> dict[str, Any]:
    """A user that the server has."""
    mechanisms = changes.pop("mechanisms", ["SCRAM-SHA-256"])
    credentials = stored(user, password, *mechanisms)
    return {
        "user": user,
        "db": db,
        "roles": [ROLE],
        "mechanisms": mechanisms,
        "credentials": credentials,
        **changes,
    }


def command(wanted: dict[str, Any], *known: dict[str, Any], **section: Any) -> dict[str, Any] | None:
    """The command for the only user of the section."""
    found = user_commands({"usersWanted": [wanted], **section}, known)
    return dict(next(iter(found.values())).command) if found else None


def test_a_missing_user_is_created_with_its_password() -> None:
    stated = {**APP, "authenticationRestrictions": [{"clientSource": ["10.0.0.0/8"]}]}
    made = command(stated, deploymentAuthMechanisms=["SCRAM-SHA-256"])
    assert made == {
        "createUser": "app",
        "pwd": PASSWORD,
        "roles": [ROLE],
        "mechanisms": ["SCRAM-SHA-256"],
        "authenticationRestrictions": [{"clientSource": ["10.0.0.0/8"]}],
    }
    first = command({**APP, "pwd": None, "initPwd": OTHER})
    assert first == {"createUser": "app", "pwd": OTHER, "roles": [ROLE]}
    external = {"user": "CN=app", "db": "$external", "roles": [ROLE]}
    assert command(external, deploymentAuthMechanisms=["SCRAM-SHA-256"]) == {
        "createUser": "CN=app",
        "roles": [ROLE],
    }


BOTH = ["SCRAM-SHA-1", "SCRAM-SHA-256"]
CHANGED_PASSWORD = {"pwd": PASSWORD, "mechanisms": ["SCRAM-SHA-256"]}


@each(
    ("wanted", "known", "changed"),
    [
        ({}, has(), None),
        ({}, has(mechanisms=BOTH), None),
        ({}, has(mechanisms=["SCRAM-SHA-1"]), None),
        ({}, has(password=OTHER), CHANGED_PASSWORD),
        ({}, has(password=OTHER, mechanisms=["SCRAM-SHA-1"]), {"pwd": PASSWORD, "mechanisms": BOTH[:1]}),
        ({"mechanisms": BOTH}, has(), {"pwd": PASSWORD, "mechanisms": BOTH}),
        ({"mechanisms": BOTH[1:]}, has(mechanisms=BOTH), CHANGED_PASSWORD),
        ({"pwd": None, "initPwd": OTHER}, has(), None),
        ({"pwd": None, "initPwd": OTHER, "mechanisms": BOTH}, has(), None),
        ({}, has(credentials={}), CHANGED_PASSWORD),
        (
            {},
            has(credentials={"SCRAM-SHA-256": {"salt": "?", "iterationCount": 1, "storedKey": "?"}}),
            CHANGED_PASSWORD,
        ),
        (
            {},
            has(credentials={"SCRAM-SHA-256": {"salt": "", "iterationCount": 10**9, "storedKey": ""}}),
            CHANGED_PASSWORD,
        ),
        ({}, has(roles=[ROLE, MONITOR]), {"roles": [ROLE]}),
        ({"roles": [MONITOR, ROLE]}, has(roles=[ROLE, MONITOR]), None),
        ({"roles": []}, has(), {"roles": []}),
        ({}, has(authenticationRestrictions=[{"clientSource": ["::1"]}]), None),
        (
            {"authenticationRestrictions": []},
            has(authenticationRestrictions=[{"clientSource": ["::1"]}]),
            {"authenticationRestrictions": []},
        ),
        (
            {"authenticationRestrictions": [{"serverAddress": ["b", "a"], "clientSource": []}]},
            has(authenticationRestrictions=[{"serverAddress": ["a", "b"]}]),
            None,
        ),
    ],
)
def test_only_what_differs_is_changed(
    wanted: dict[str, Any], known: dict[str, Any], changed: dict[str, Any] | None
) -> None:
    stated = {name: value for name, value in {**APP, **wanted}.items() if value is not None}
    assert command(stated, known) == (changed and {"updateUser": "app", **changed})


def test_the_user_of_the_agent_keeps_what_it_has() -> None:
    more = [*BOTH, "SCRAM-SHA-256"][:2]
    full = has("mms", "admin", roles=[MONITOR, {"db": "admin", "role": "root"}], mechanisms=more)
    assert user_commands(AUTO, [full]) == {}
    made = user_commands(AUTO, [])["admin.mms"]
    assert made.command["roles"] == [MONITOR]
    weak = has("mms", "admin", OTHER, roles=[ROLE], mechanisms=["SCRAM-SHA-1"])
    assert user_commands(AUTO, [weak])["admin.mms"].command == {
        "updateUser": "mms",
        "roles": [MONITOR, ROLE],
        "pwd": PASSWORD,
        "mechanisms": BOTH,
    }


def test_users_are_deleted_last_and_only_if_they_are_there() -> None:
    section = {**AUTO, "usersWanted": [APP], "usersDeleted": [{"user": "old", "dbs": ["shop", "stock"]}]}
    commands = user_commands(section, [has("old"), has("stranger")])
    assert [*commands] == ["admin.mms", "shop.app", "shop.old"]
    assert commands["shop.old"] == UserCommand("shop", {"dropUser": "old"})
    names = {(asked["db"], asked["user"]) for asked in users_question(section)["usersInfo"]}
    assert names == {("admin", "mms"), ("shop", "app"), ("shop", "old"), ("stock", "old")}


def test_no_password_is_in_the_texts_of_values() -> None:
    commands = user_commands({"usersWanted": [APP]}, [])
    assert PASSWORD not in repr(commands)


def test_a_server_is_watched_as_the_user_of_the_agent() -> None:
    address = ServerAddress("db1.example.com", 27017)
    access = read(watch_string(address, AUTO))
    options = access.options
    assert (options["username"], options["password"]) == ("mms", PASSWORD)
    assert str(options["authSource"]) == "admin"
    assert watch_string(address, {}) == "mongodb://db1.example.com:27017/"
    assert watch_string(address, {"usersWanted": [APP]}) == "mongodb://db1.example.com:27017/"


def test_a_user_without_stated_mechanisms_keeps_the_mechanisms_that_it_has() -> None:
    both = ["SCRAM-SHA-1", "SCRAM-SHA-256"]
    usual = {"deploymentAuthMechanisms": ["SCRAM-SHA-256"]}
    assert command(APP, has(mechanisms=both), **usual) is None
    stated = command({**APP, "mechanisms": ["SCRAM-SHA-256"]}, has(mechanisms=both), **usual)
    assert stated is not None
    assert stated["mechanisms"] == ["SCRAM-SHA-256"]
