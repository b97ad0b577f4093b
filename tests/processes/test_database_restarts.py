"""PostgreSQL goes and comes back under a platform in use: what answers, and what is logged."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from requests.auth import HTTPDigestAuth

from opsapi.api.links import PUBLIC
from opsapi.embedded.layout import Layout
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import ask
from tests.processes.conftest import ProcessCaller, log_in_console, make_first_user
from tests.processes.platform import RunningPlatform, prepared_installation

pytestmark = pytest.mark.processes

WORKERS, THREADS = (2, 4) if LONG else (1, 2)
EACH = 3 * WORKERS * THREADS
"""Requests of a kind sent at once: enough for every thread to get some."""

_END_IDLE = """
    WITH idle AS MATERIALIZED (
        SELECT pid FROM pg_stat_activity WHERE application_name = 'opsapi' AND state = 'idle'
    )
    SELECT array_agg(pid) FROM idle WHERE pg_terminate_backend(pid)
"""

Ask = Callable[[], int]


@pytest.fixture(scope="module")
def used() -> Iterator[RunningPlatform]:
    """A started one with several threads, and in `make faults` several web processes."""
    with prepared_installation(OPSAPI_WORKERS=str(WORKERS), OPSAPI_THREADS=str(THREADS)) as made:
        made.start()
        yield made
        made.stop()


@pytest.fixture(scope="module")
def kinds(used: RunningPlatform) -> dict[str, tuple[Ask, int]]:
    """One request of every kind of page, with the status it answers when all is well."""
    owner = make_first_user(used)
    group = owner.post("/groups", {"name": "shop"})["id"]
    cookies = log_in_console(used)
    groups, discovery = f"{PUBLIC}/groups", f"/prometheus/v1.0/groups/{group}/discovery"
    alerts = f"{PUBLIC}/groups/{group}/alerts"
    return {
        "live": (lambda: used.get("/health/live").status_code, 200),
        "ready": (lambda: used.get("/health/ready").status_code, 200),
        "metrics": (lambda: _scrape(used), 200),
        "root": (_with_key(owner, PUBLIC), 200),
        "list": (_with_key(owner, groups), 200),
        "alerts": (_with_key(owner, alerts), 200),
        "write": (_with_key(owner, groups, "POST", {"name": "shop"}), 409),
        "discovery": (_with_key(owner, discovery), 200),
        "login": (lambda: used.get("/admin/login/").status_code, 200),
        "console": (_with_cookies(used, cookies, "/admin/"), 200),
        "console list": (_with_cookies(used, cookies, "/admin/accesslist/project/"), 200),
        "static": (lambda: used.get("/static/console/console.css").status_code, 200),
    }


def test_nothing_fails_once_it_is_ready_again(
    used: RunningPlatform, kinds: dict[str, tuple[Ask, int]]
) -> None:
    assert _unexpected(kinds) == {}
    killed = used.child("postgres")
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: not is_running(killed))

    def is_ready() -> bool:
        if used.get("/health/ready").status_code == 200:
            return True
        # A nonce from before the crash is refused once, and some clients try no second one.
        assert set().union(*_unexpected(kinds, 1).values()) <= {401, 503}
        return False

    eventually(is_ready, longest_pause=0.0)
    assert _unexpected(kinds) == {}
    assert "Traceback" not in used.log


def test_connections_that_the_server_closed_while_nobody_asked_are_replaced(
    used: RunningPlatform, kinds: dict[str, tuple[Ask, int]]
) -> None:
    assert _unexpected(kinds) == {}
    before = len(used.log.splitlines())
    layout = Layout(used.data_dir)
    idle = ask(layout, _END_IDLE)
    assert len(idle) >= WORKERS * THREADS
    eventually(lambda: not set(idle) & set(ask(layout, "SELECT array_agg(pid) FROM pg_stat_activity")))
    assert _unexpected(kinds) == {}
    lines = used.log.splitlines()[before:]
    # A statement that the worker began in the meantime ends with its connection, and the worker says so.
    ended = re.compile(
        r"opsapi\.worker \S+: the database failed: terminating connection due to administrator"
    )
    found = [line for line in lines if re.search(" (ERROR|WARNING) opsapi", line)]
    assert [line for line in found if not ended.search(line)] == []


def _unexpected(kinds: dict[str, tuple[Ask, int]], each: int = EACH) -> dict[str, set[int]]:
    """Kind → statuses other than its own, of many requests of all kinds at once."""
    with ThreadPoolExecutor(3 * WORKERS * THREADS) as pool:
        asked = [(name, right, pool.submit(ask)) for _ in range(each) for name, (ask, right) in kinds.items()]
        found: dict[str, set[int]] = {}
        for name, right, answer in asked:
            if answer.result() != right:
                found.setdefault(name, set()).add(answer.result())
    return found


def _with_key(caller: ProcessCaller, path: str, method: str = "GET", body: object = None) -> Ask:
    url, auth = caller.platform.base_url + path, (caller.public_key, caller.private_key)
    return lambda: (
        requests.request(method, url, json=body, auth=HTTPDigestAuth(*auth), timeout=60).status_code
    )


def _scrape(platform: RunningPlatform) -> int:
    """The status; 503 where the database was not asked."""
    answer = platform.get("/metrics")
    return answer.status_code if "opsapi_database_up 1.0" in answer.text else 503


def _with_cookies(platform: RunningPlatform, cookies: dict[str, str], path: str) -> Ask:
    url = platform.base_url + path
    return lambda: requests.get(url, cookies=cookies, allow_redirects=False, timeout=60).status_code
