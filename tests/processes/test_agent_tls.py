"""The agent at a MongoDB server that wants TLS: authorities, names, log-in by certificate, SRV records."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from automation.agent.mongodb.check import mongodb_steps
from automation.agent.rates import Why
from tests.processes.certificates import Authority
from tests.processes.mongod import MONITOR, PASSWORD, ROOT, ROOT_PASSWORD, Mongod, standalone
from tests.processes.names import name_server
from tests.processes.watched import asked

pytestmark = [pytest.mark.processes, pytest.mark.mongod]

NAME = "db1.cluster.test"
CREDENTIALS = f"{MONITOR}:{quote(PASSWORD, safe='')}"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Of the server and of the clients that it knows."""
    return Authority(tmp_path_factory.mktemp("authority") / "known")


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[Mongod]:
    """A server with a monitoring user that has a password, and another that has a certificate."""
    options = ["--auth", "--tlsMode", "requireTLS", "--tlsAllowConnectionsWithoutCertificates"]
    options += ["--tlsCertificateKeyFile", str(authority.issue("server", NAME, "localhost"))]
    options += ["--tlsCAFile", str(authority.file)]
    reached = {"tls": True, "tlsCAFile": str(authority.file), "tlsAllowInvalidHostnames": True}
    with standalone(*options, client_options=reached) as made:
        with made.client() as client:
            client.admin.command("createUser", ROOT, pwd=ROOT_PASSWORD, roles=["root"])
        with made.client(username=ROOT, password=ROOT_PASSWORD) as client:
            role = {"role": "clusterMonitor", "db": "admin"}
            client.admin.command("createUser", MONITOR, pwd=PASSWORD, roles=[role])
            client["$external"].command("createUser", "CN=agent", roles=[role])
        yield made


def uri(
    server: Mongod, authority: Authority, credentials: str = "", host: str = "localhost", **options: str
) -> str:
    """A connection string with TLS."""
    given = {"tls": "true", "tlsCAFile": quote(str(authority.file), safe=""), **options}
    at = f"{credentials}@" if credentials else ""
    return (
        f"mongodb://{at}{host}:{server.port}/?{'&'.join(f'{name}={value}' for name, value in given.items())}"
    )


def by_certificate(file: Path) -> Mapping[str, str]:
    """Options to log in with this certificate."""
    return {"authMechanism": "MONGODB-X509", "tlsCertificateKeyFile": quote(str(file), safe="")}


def faults(text: str) -> list[str]:
    """What `--check` says of what fails."""
    return [str(step) for step in mongodb_steps([text]) if step.fault]


def test_a_server_of_a_known_authority_is_measured(server: Mongod, authority: Authority) -> None:
    text = uri(server, authority, CREDENTIALS)
    assert faults(text) == []
    reading, reasons = asked(text)
    assert (str(reading.address), reading.type_name) == (f"localhost:{server.port}", "STANDALONE")
    assert Why.REPORTED in reasons
    assert Why.REFUSED not in reasons


def test_a_server_that_demands_a_certificate_rejects_no_question_about_its_own(authority: Authority) -> None:
    own, file = authority.issue("agent"), authority.issue("demanding", "localhost")
    options = ["--tlsMode", "requireTLS", "--tlsDisabledProtocols", "TLS1_3"]
    options += ["--tlsCertificateKeyFile", str(file), "--tlsCAFile", str(authority.file)]
    given = {"tlsCAFile": str(authority.file), "tlsCertificateKeyFile": str(own)}
    reached = {"tls": True, "tlsAllowInvalidHostnames": True, **given}
    with standalone(*options, client_options=reached) as made:
        text = uri(made, authority, tlsCertificateKeyFile=quote(str(own), safe=""))
        reading, _ = asked(text)
        assert "SERVER_CERTIFICATE_DAYS" in {sample.metric for sample in reading.samples}
        assert faults(text) == []
        assert "No SSL certificate provided by peer" not in made.log


def test_a_server_of_another_authority_is_refused(server: Mongod, tmp_path: Path) -> None:
    (line,) = faults(uri(server, Authority(tmp_path / "another", "Another authority"), CREDENTIALS))
    assert "TLS and hello: " in line
    assert "tlsCAFile" in line


def test_a_server_under_another_name_than_that_of_its_certificate_is_refused(
    server: Mongod, authority: Authority
) -> None:
    (line,) = faults(uri(server, authority, CREDENTIALS, host="127.0.0.1"))
    assert "TLS and hello: " in line
    assert "not valid for '127.0.0.1'" in line
    assert "tlsCAFile" not in line


def test_a_connection_without_tls_is_refused(server: Mongod) -> None:
    (line,) = faults(f"mongodb://{CREDENTIALS}@localhost:{server.port}/")
    assert "tls=true" in line


@pytest.mark.parametrize("credentials", ["", "CN%3Dagent"])
def test_a_certificate_is_for_a_user_with_the_monitoring_role(
    credentials: str, server: Mongod, authority: Authority
) -> None:
    text = uri(server, authority, credentials, **by_certificate(authority.issue("agent")))
    assert faults(text) == []
    _, reasons = asked(text)
    assert Why.REPORTED in reasons
    assert Why.REFUSED not in reasons


def test_a_certificate_of_nobody_is_reported_as_a_log_in_that_fails(
    server: Mongod, authority: Authority
) -> None:
    (line,) = faults(uri(server, authority, **by_certificate(authority.issue("nobody"))))
    assert ": log-in: " in line


def test_srv_records_lead_to_a_server_which_is_reported_by_the_name_they_have_for_it(
    server: Mongod, authority: Authority
) -> None:
    records = {
        ("_mongodb._tcp.cluster.test", "SRV"): f"0 5 {server.port} {NAME}.",
        ("cluster.test", "TXT"): '"authSource=admin"',
        (NAME, "A"): "127.0.0.1",
    }
    text = f"mongodb+srv://{CREDENTIALS}@cluster.test/?tlsCAFile={quote(str(authority.file), safe='')}"
    with name_server(records):
        assert faults(text) == []
        reading, reasons = asked(text)
    assert str(reading.address) == f"{NAME}:{server.port}"
    assert Why.REPORTED in reasons


def test_a_name_without_srv_records_is_reported_without_secrets() -> None:
    with name_server({("cluster.test", "A"): "127.0.0.1"}):
        (line,) = faults(f"mongodb+srv://{CREDENTIALS}@cluster.test/")
    assert "does not resolve" in line
    assert PASSWORD not in line
