"""Connection strings: read as pymongo reads them, and never quoted."""

import os
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from pymongo.errors import OperationFailure

from automation.agent.engine import ServerAddress, _read_address, read_address
from automation.agent.mongodb.connection import check, read, reason_of, without_secrets
from automation.agent.mongodb.engine import MongoDB
from automation.agent.mongodb.host import MongoHost
from tests.each import each
from tests.processes.certificates import Authority
from tests.unit.automation.agent.stand_ins import mongod


def test_credentials_and_tls_go_with_every_member_and_the_choice_of_a_member_does_not(
    tmp_path: Path,
) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text("")
    access = read(
        "mongodb://user:p%40ss@DB1.example.com,[2001:db8::1]:27018/shop"
        f"?replicaSet=rs0&tls=true&tlsCAFile={ca}&readPreference=secondary&maxPoolSize=7&w=majority"
    )
    assert access.seeds == [ServerAddress("db1.example.com", 27017), ServerAddress("2001:db8::1", 27018)]
    assert access.options == {
        "username": "user",
        "password": "p@ss",
        "authSource": "shop",
        "tls": True,
        "tlsCAFile": str(ca),
    }
    assert access.replica_set == "rs0"
    assert "p@ss" not in repr(access)


def test_an_authentication_source_that_is_named_stays() -> None:
    assert read("mongodb://u:p@db1/shop?authSource=admin").options["authSource"] == "admin"


def test_x509_asks_no_database() -> None:
    options = read("mongodb://CN%3Dagent@db1/?authMechanism=MONGODB-X509&tls=true").options
    assert options["authMechanism"] == "MONGODB-X509"
    assert "authSource" not in options


@each(
    "text",
    [
        "secret-word",
        "mongodb://",
        "mongodb://u:secret-word@",
        "mongodb://u:secret/word@db1",
        "mongodb://u:secret@word@db1",
        "mongodb://u:secret-word@db1:99999",
        "mongodb://u:secret-word@db_1",
        "mongodb://u:secret-word@%2Ftmp%2Fmongodb.sock",
        "mongodb://u:secret-word@db1/?authMechanism=secret-word",
        "mongodb://u:secret-word@db1/?tlsInsecure=secret-word&tls=true",
        "mongodb://u:secret-word@db1/?authMechanismProperties=secret-word",
        "mongodb+srv://u:secret-word@a b",
        "mongodb+srv://u:secret-word@",
    ],
)
def test_what_is_none_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match="connection string 2") as refusal:
        MongoDB(["mongodb://db1", text])
    assert "secret" not in str(refusal.value)


@each("credentials", ["", "CN%3Dagent@", "CN%3Dagent:@"])
def test_x509_takes_a_user_without_a_password(credentials: str) -> None:
    access = read(f"mongodb://{credentials}db1/?authMechanism=MONGODB-X509&tls=true")
    assert access.session(access.seeds[0], with_credentials=True)
    assert access.options.get("username") == ("CN=agent" if credentials else None)


def test_a_server_with_an_underscore_is_named() -> None:
    with pytest.raises(ValueError, match=r"'db_1'.*underscores"):
        read("mongodb://u:secret@db1,db_1:27018/")


def test_a_reason_has_no_answer_of_the_server_and_no_secret() -> None:
    answer = {"errmsg": "no hidden-word", "code": 18, "$clusterTime": {"clusterTime": 1}}
    error = OperationFailure("no hidden-word", 18, answer)
    assert reason_of(error, "mongodb://u:hidden-word@db1/") == "no ***"


@each("is_arbiter", [True, False])
def test_a_server_that_refuses_the_log_in_is_not_measured(is_arbiter: bool) -> None:
    with mongod({"saslStart": 18}) as port:
        access = read(f"mongodb://u:hidden-word@127.0.0.1:{port}/")
        answer = MongoHost(access.seeds[0], access, str, is_arbiter=is_arbiter).poll()
    assert (answer.is_reachable, answer.is_measured) == (True, False)
    assert "no saslStart for you" in answer.problem


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="unreadable file"):
        read("mongodb://u:secret@db1/?tls=true&tlsCAFile=/not/there.pem")


def test_a_name_of_srv_is_not_looked_up_to_check_it() -> None:
    check("mongodb+srv://user:password@cluster.invalid/?tls=true")


def test_errors_of_the_driver_lose_the_secrets() -> None:
    text = "mongodb://user:p%40ss-word@db1/?tlsCertificateKeyFilePassword=other-secret&tls=true"
    message = without_secrets("p@ss-word and p%40ss-word and other-secret: db1:27017 refused, tls true", text)
    assert message == "*** and *** and ***: db1:27017 refused, tls true"


@each("options", ["", "&tls=false"])
def test_a_password_that_would_travel_in_the_clear_is_refused(options: str) -> None:
    with pytest.raises(ValueError, match="tls=true") as refusal:
        MongoDB([f"mongodb://u:secret-word@db1/?authMechanism=PLAIN&authSource=$external{options}"])
    assert "secret-word" not in str(refusal.value)
    assert read("mongodb://u:p@db1/?authMechanism=PLAIN&authSource=$external&tls=true").options["tls"]


@each("rest", ["db1/shop@home", "db1/?appName=me@home"])
def test_an_at_sign_behind_the_authority_hides_no_password_from_redaction(rest: str) -> None:
    assert "hidden-word" not in without_secrets("bad hidden-word", f"mongodb://user:hidden-word@{rest}")


@each(
    ("text", "address"),
    [
        ("DB1.example.com:27018", ServerAddress("db1.example.com", 27018)),
        ("db1", ServerAddress("db1", 27017)),
        ("db1.", ServerAddress("db1", 27017)),
        ("[::1]:27018", ServerAddress("::1", 27018)),
        ("[::1]", ServerAddress("::1", 27017)),
        ("::1", ServerAddress("::1", 27017)),
        ("10.0.0.1:1", ServerAddress("10.0.0.1", 1)),
        ("db1:0", None),
        ("db1:70000", None),
        ("db1:x", None),
        ("db_1:27017", None),
        ("/run/mongodb-27017.sock", None),
        ("", None),
        (":27017", None),
        ("[::1", None),
        ("[::1]x", None),
        ("1.2.3:27017", None),
    ],
)
def test_addresses_are_read_in_the_form_of_the_platform(text: str, address: ServerAddress | None) -> None:
    assert read_address(text, 27017) == address


def test_a_long_text_of_a_server_is_no_address_and_is_not_kept() -> None:
    kept = _read_address.cache_info().misses
    assert read_address("x" * 1_000_000, 27017) is None
    assert _read_address.cache_info().misses == kept


def test_a_password_that_is_not_encoded_is_taken_for_other_parts_and_not_quoted() -> None:
    with pytest.raises(ValueError, match="is not a connection string") as refusal:
        read("mongodb://u:1/hidden$word@db1/")
    assert "hidden" not in str(refusal.value)


def test_certificates_are_read_once_for_all_servers_and_again_when_a_file_was_replaced(
    tmp_path: Path,
) -> None:
    file = Authority(tmp_path / "authority").file
    access = read(f"mongodb://db1,db2/?tls=true&tlsCAFile={quote(str(file), safe='')}")
    first, second = (access.session(seed, with_credentials=True)._pool.opts for seed in access.seeds)
    os.utime(file, (1, 1))
    third = access.session(access.seeds[0], with_credentials=True)._pool.opts
    assert first is second
    assert third is not first


def test_a_session_is_one_connection_and_no_thread() -> None:
    before = set(threading.enumerate())
    with mongod() as port:
        during = set(threading.enumerate()) - before
        session = read(f"mongodb://127.0.0.1:{port}").session(
            ServerAddress("127.0.0.1", port), with_credentials=True
        )
        for _ in range(2):
            assert session.command({"ping": 1})["ok"]
        # One thread of the stand-in listens, and one answers each connection.
        assert len(set(threading.enumerate()) - before - during) == 1
        session.close()
