"""`deploy/`: the shipped nginx before real web processes and a worker, all on a database outside."""

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPDigestAuth

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.links import AGENTS, PUBLIC
from opsapi.embedded.layout import Layout
from tests.database import copy_migrated
from tests.deployment import NGINX
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.processes import deployed
from tests.processes.certificates import make_certificate
from tests.processes.deployed import NAME, Deployed
from tests.processes.platform import children
from tests.processes.web_server import PATIENCE, many_files
from tests.receivers import HttpReceiver
from tests.shared import run_directory

SERVER = Layout(run_directory())
WEB_NAME = "web.internal.example.com"
"""In the certificate of web machines, as the guide has it."""
USER = {
    "username": "ada@example.com",
    "password": "a long enough passphrase",
    "firstName": "Ada",
    "lastName": "Lovelace",
}
MOST = 256
"""Requests of one address at a time, of the shipped file."""
CLIENT = "127.0.0.2"
"""Where our requests come from, next to the proxy's own 127.0.0.1."""
MANY = 3000 if LONG else 1100
"""More than nginx takes in all as packages set it up."""
_HEAD = f"HTTP/1.1\r\nHost: {NAME}\r\n"
STALLS: dict[str, str | None] = {
    "stops in the head": f"GET {PUBLIC} {_HEAD}X: ",
    "stops in the body": f"POST {PUBLIC}/groups {_HEAD}Content-Length: 9\r\n\r\n{{",
}
if LONG:
    STALLS |= {"says nothing": None, "reads nothing": f"GET /api/schema {_HEAD}\r\n" * 6}

pytestmark = [pytest.mark.processes, pytest.mark.nginx]


class FromClient(HTTPAdapter):
    """Connects from CLIENT."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, source_address=(CLIENT, 0), **kwargs)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Deployed]:
    """Migrated, with a web unit and a worker unit, behind nginx."""
    made = Deployed(tmp_path_factory.mktemp("site"), _new_database())
    assert made.start_unit("opsapi-migrate.service").wait() == 0, _log(made, "opsapi-migrate.service")
    with ExitStack() as stack:
        stack.enter_context(made.running("opsapi-web.service"))
        stack.enter_context(made.running("opsapi-worker@.service"))
        stack.enter_context(made.nginx())
        eventually(lambda: _is_ready(made), message="ready through nginx")
        yield made


@pytest.fixture
def client(site: Deployed) -> Iterator[requests.Session]:
    """Somebody who trusts the certificate, and calls the machine by its name."""
    with _session(site) as session:
        yield session


@pytest.fixture(scope="module")
def key(site: Deployed) -> dict[str, Any]:
    """The first user's, who has a project too, so that the console is open."""
    with _session(site) as session:
        made = session.post(f"{site.url}{PUBLIC}/unauth/users", json=USER)
        assert made.status_code == 201, made.text
        found: dict[str, Any] = made.json()["programmaticApiKey"]
        session.auth = HTTPDigestAuth(found["publicKey"], found["privateKey"])
        group = session.post(f"{site.url}{PUBLIC}/groups", json={"name": "pay/ments"})
        assert group.status_code == 201, group.text
    return found


@pytest.fixture
def owner(client: requests.Session, key: dict[str, Any]) -> requests.Session:
    """The client with the key."""
    client.auth = HTTPDigestAuth(key["publicKey"], key["privateKey"])
    return client


def test_digest_holds_through_it_also_where_paths_are_escaped(
    site: Deployed, owner: requests.Session
) -> None:
    found = owner.get(f"{site.url}{PUBLIC}/groups/byName/pay%2Fments?pretty=true")
    assert found.status_code == 200, found.text
    assert found.json()["links"][0]["href"].startswith(f"https://{NAME}/api/")


def test_the_client_is_who_connected_and_not_who_they_say(site: Deployed, owner: requests.Session) -> None:
    said = {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9", "X-Real-IP": "203.0.113.9"}
    made = owner.post(f"{site.url}{PUBLIC}/groups", json={"name": "from where"}, headers=said)
    assert made.status_code == 201, made.text
    events = owner.get(f"{site.url}{PUBLIC}/groups/{made.json()['id']}/events").json()["results"]
    assert {event["remoteAddress"] for event in events if "remoteAddress" in event} == {CLIENT}


def test_an_operator_logs_in(site: Deployed, client: requests.Session, key: dict[str, Any]) -> None:
    page = client.get(f"{site.url}/admin/login/")
    values = {"username": USER["username"], "password": USER["password"], "next": "/admin/"}
    token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
    headers = {"Origin": f"https://{NAME}", "Referer": f"https://{NAME}/admin/login/"}
    answer = client.post(
        f"{site.url}/admin/login/", data=values | token, headers=headers, allow_redirects=False
    )
    assert (page.status_code, answer.status_code, answer.headers["Location"]) == (200, 302, "/admin/")
    assert all(cookie.secure for cookie in client.cookies)
    start = client.get(f"{site.url}/admin/")
    assert (start.status_code, start.url) == (200, f"{site.url}/admin/")
    assert "unsafe-inline" not in start.headers["Content-Security-Policy"].split("style-src")[0]
    assert start.headers["Strict-Transport-Security"] == "max-age=300"
    file = client.get(f"{site.url}/admin/events/event/csv/")
    assert (file.status_code, file.headers["Content-Type"].split(";")[0]) == (200, "text/csv")
    assert '"JOINED_GROUP"' in file.text or '"GROUP_CREATED"' in file.text


@pytest.mark.parametrize("path", ["/metrics", "/metrics/", "/%6detrics", "//metrics"])
def test_metrics_are_not_shown(site: Deployed, client: requests.Session, path: str) -> None:
    assert client.get(site.url + path).status_code in (403, 404)


def test_metrics_are_shown_behind_it(site: Deployed) -> None:
    shown = requests.get(f"http://127.0.0.1:{site.web_port}/metrics", timeout=60)
    assert "opsapi_workers 1.0" in shown.text


def test_what_the_platform_takes_passes(site: Deployed, owner: requests.Session) -> None:
    large = {"name": "x" * (3 << 20)}
    refused = owner.post(f"{site.url}{PUBLIC}/groups", json=large)
    assert (refused.status_code, refused.json()["errorCode"]) == (413, "REQUEST_TOO_LARGE")
    group = owner.get(f"{site.url}{PUBLIC}/groups").json()["results"][0]["id"]
    report = owner.post(f"{site.url}{AGENTS}/groups/{group}/reports", json={"unknown": "x" * (3 << 20)})
    assert (report.status_code, report.json()["errorCode"]) == (400, "MISSING_ATTRIBUTE")
    document = owner.put(f"{site.url}{PUBLIC}/groups/{group}/automationConfig", json={"x": "x" * (15 << 20)})
    assert document.status_code == 400, document.text
    assert owner.post(f"{site.url}{PUBLIC}/groups", json={"name": "x" * (17 << 20)}).status_code == 413


def test_plain_http_leads_to_tls(site: Deployed) -> None:
    url = f"http://127.0.0.1:{site.plain_port}/admin/?a=b"
    answer = requests.get(url, headers={"Host": NAME}, timeout=60, allow_redirects=False)
    assert (answer.status_code, answer.headers["Location"]) == (301, f"https://{NAME}/admin/?a=b")


def test_without_web_processes_it_answers_as_the_platform_would(tmp_path: Path) -> None:
    lonely = Deployed(tmp_path, "postgresql://nobody@127.0.0.1:1/nothing")
    with lonely.nginx(), _session(lonely) as session:
        answer = session.get(f"{lonely.url}{PUBLIC}")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert answer.json() == {
        "error": 503,
        "reason": "Service Unavailable",
        "errorCode": "SERVICE_UNAVAILABLE",
        "detail": "The service is not available right now: no web process answers.",
        "parameters": ["no web process answers"],
    }


def test_one_address_has_so_many_requests_at_a_time_and_others_are_answered(tmp_path: Path) -> None:
    lonely = Deployed(tmp_path, "postgresql://nobody@127.0.0.1:1/nothing")
    with lonely.nginx(), ExitStack() as held, _session(lonely) as session:
        for _ in range(MOST):
            held.enter_context(_stalled(lonely, STALLS["stops in the body"], CLIENT))
        url = f"{lonely.url}{PUBLIC}"
        eventually(lambda: session.get(url).status_code == 429)
        refused = session.get(url)
        other = requests.get(url, verify=str(lonely.certificate), headers={"Host": NAME}, timeout=60)
    assert (refused.headers["Retry-After"], refused.headers["Content-Type"]) == ("5", "application/json")
    assert refused.headers["Connection"] == "close"
    assert refused.json() == ApiError(ErrorCode.RATE_LIMITED, "5").document() | {
        "error": 429,
        "reason": "Too Many Requests",
    }
    assert other.status_code == 503, "no web process, which it has been asked for"


@pytest.mark.parametrize("start", STALLS.values(), ids=STALLS)
def test_another_address_is_answered_next_to_a_caller_whose_connections_hang(
    site: Deployed, client: requests.Session, start: str | None
) -> None:
    with many_files(), ExitStack() as held:
        for _ in range(MANY):
            held.enter_context(_stalled(site, start))
        answer = client.get(f"{site.url}/health/live", timeout=PATIENCE)
    assert answer.status_code == 200


def test_it_speaks_tls_to_web_machines_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, certificate, key = _deployed_with_tls_to_web(tmp_path, monkeypatch, WEB_NAME)
    with (tmp_path / "opsapi.env").open("a") as settings:
        settings.write(f"OPSAPI_WORKERS=1\nOPSAPI_TLS_CERT={certificate}\nOPSAPI_TLS_KEY={key}\n")
    with made.running("opsapi-web.service"), made.nginx(), _session(made) as session:
        direct = f"https://127.0.0.1:{made.web_port}/health/live"
        eventually(lambda: _status(direct, certificate) == 200, message="web process")
        assert session.get(f"{made.url}/health/live").status_code == 200


def test_the_reload_of_the_web_unit_replaces_the_web_process_and_takes_a_renewed_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, certificate, key = _deployed_with_tls_to_web(tmp_path, monkeypatch, WEB_NAME)
    with (tmp_path / "opsapi.env").open("a") as settings:
        settings.write(f"OPSAPI_WORKERS=1\nOPSAPI_TLS_CERT={certificate}\nOPSAPI_TLS_KEY={key}\n")
    direct = f"https://127.0.0.1:{made.web_port}/health/live"
    with made.running("opsapi-web.service") as web:
        eventually(lambda: _status(direct, certificate) == 200, message="web process")
        (worker,) = children(web.pid)
        make_certificate(tmp_path / "web", WEB_NAME)
        made.reload("opsapi-web.service", web)
        eventually(lambda: _status(direct, certificate) == 200, message="the renewed certificate")
        eventually(lambda: not is_running(worker), message="the earlier web process ends")
        assert web.poll() is None
        assert _status(direct, certificate) == 200


def test_it_takes_no_web_machine_with_a_certificate_of_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, certificate, key = _deployed_with_tls_to_web(tmp_path, monkeypatch, "another.example.com")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HttpReceiver(context, port=made.web_port).running(), made.nginx(), _session(made) as session:
        assert _status(f"https://127.0.0.1:{made.web_port}/", certificate) == 200, "it answers without nginx"
        assert session.get(made.url).status_code == 503


def _stalled(site: Deployed, start: str | None, address: str = "127.0.0.1") -> socket.socket:
    """A connection that sends and reads nothing after `start`; without it, not even TLS begins."""
    plain = socket.create_connection(("127.0.0.1", site.port), 60, (address, 0))
    if start is None:
        return plain
    connection = _context(site.certificate).wrap_socket(plain, server_hostname=NAME)
    connection.sendall(start.encode())
    return connection


@cache
def _context(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(certificate))


def _deployed_with_tls_to_web(
    directory: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> tuple[Deployed, Path, Path]:
    """The shipped file, changed as the guide says; a web machine's certificate of this name; its key."""
    (directory / "web").mkdir()
    certificate, key = make_certificate(directory / "web", name)
    lines = deployed.nginx_block("proxy_ssl_verify ")
    assert f" {WEB_NAME};" in lines
    ours = lines.replace("/etc/nginx/tls/web-ca.crt", str(certificate))
    text = NGINX.read_text().replace("proxy_pass http:", "proxy_pass https:")
    path = directory / "tls.conf"
    path.write_text(text.replace("    proxy_http_version 1.1;\n", f"    proxy_http_version 1.1;\n{ours}"))
    monkeypatch.setattr(deployed, "NGINX", path)
    return Deployed(directory, "postgresql://nobody@127.0.0.1:1/nothing"), certificate, key


def _status(url: str, certificate: Path) -> int:
    """Of the answer; 0 without an answer."""
    try:
        return requests.get(url, verify=str(certificate), timeout=60).status_code
    except requests.ConnectionError:
        return 0


def _session(site: Deployed) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # it may name other certificates and proxies
    session.mount("https://", FromClient())
    session.verify = str(site.certificate)
    session.headers["Host"] = NAME
    return session


def _is_ready(site: Deployed) -> bool:
    with _session(site) as session:
        answer = session.get(f"{site.url}/health/ready")
    return answer.status_code == 200


def _new_database() -> str:
    name = f"behind_nginx_{os.getpid()}"
    copy_migrated(name)
    return f"postgresql://opsapi@/{SERVER.socket_dir}/{name}"


def _log(site: Deployed, name: str) -> str:
    return site.log_of(name).read_text()
