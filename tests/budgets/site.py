"""A running platform of this checkout or another one, and the projects of a measurement."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson
import requests

from opsapi.api.links import AGENTS, PUBLIC
from tests.budgets.meter import OtherProject
from tests.eventually import eventually
from tests.processes.conftest import ProcessCaller, log_in_console, make_first_user
from tests.processes.platform import RunningPlatform, installation
from tests.processes.scenario import WatchedProject
from tests.receivers import HttpReceiver, MailReceiver

MOST_SECONDS = 60.0
"""A request that takes longer counts as unanswered."""
MOST_BACKGROUND_SECONDS = 30.0
"""The time for which the worker's work for a request is measured."""
_JSON = {"Content-Type": "application/json"}

Document = dict[str, Any]


class RefusedError(Exception):
    """The platform refuses an input, with a status from 400 to 499."""


class BudgetSite:
    """A running platform, and a project next to the expensive projects."""

    def __init__(self, platform: RunningPlatform, owner: ProcessCaller, receiver: HttpReceiver) -> None:
        self.platform, self.owner, self.receiver = platform, owner, receiver
        self._other_receiver = HttpReceiver()
        self._cookies: dict[str, str] | None = None

    @contextmanager
    def other(self) -> Iterator[OtherProject]:
        """The other project, with a receiver of its own."""
        with self._other_receiver.running():
            yield OtherProject(WatchedProject(self.owner, self._other_receiver))

    @property
    def cookies(self) -> dict[str, str]:
        """A console session of the owner."""
        if self._cookies is None:
            self._cookies = log_in_console(self.platform)
        return self._cookies


class Tenant:
    """A new project of a site. It stores everything over HTTP."""

    def __init__(self, site: BudgetSite) -> None:
        self.site = site
        self.session = requests.Session()
        self.session.auth = site.owner.auth
        self.id: str = self.made("/groups", {"name": f"dear {uuid4().hex}"}, base="")["id"]

    def send(
        self, method: str, path: str, body: Any = None, *, base: str | None = None
    ) -> requests.Response | None:
        """The answer, None if there is none in time. Paths are below the project."""
        prefix = f"{PUBLIC}/groups/{self.id}" if base is None else PUBLIC + base
        return self.send_to(method, prefix + path, body)

    def send_to(self, method: str, path: str, body: Any = None) -> requests.Response | None:
        """The same with a whole path. Pages of the console are requested by the logged-in owner."""
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        is_page = path.startswith("/admin/")
        url = self.site.platform.base_url + path
        with suppress(requests.Timeout):
            if is_page:
                return requests.request(method, url, cookies=self.site.cookies, timeout=MOST_SECONDS)
            return self.session.request(method, url, data=data, headers=_JSON, timeout=MOST_SECONDS)
        return None

    def made(self, path: str, body: Any, *, base: str | None = None) -> Any:
        """The answer to a POST or a report of the set-up; RefusedError if the platform refuses it."""
        return accepted(self.send("POST", path, body, base=base)).json()

    def report(self, body: Any) -> None:
        """A report of the set-up."""
        accepted(self.send_to("POST", self.reports, body))

    @property
    def reports(self) -> str:
        """The path of reports."""
        return f"{AGENTS}/groups/{self.id}/reports"

    @property
    def automation(self) -> str:
        """The path of the automation document for an agent."""
        return f"{AGENTS}/groups/{self.id}/automation"

    @property
    def turns(self) -> str:
        """The path of the turns of agents."""
        return f"{AGENTS}/groups/{self.id}/turns"

    def is_idle(self) -> bool:
        """Whether nothing of the project waits to be evaluated or sent."""
        of_project = f"group_id = '{self.id}'"
        return bool(
            self.site.platform.ask(
                f"SELECT NOT EXISTS (SELECT FROM events_signal WHERE {of_project} AND failed IS NULL)"  # noqa: S608 - an id
                f" AND NOT EXISTS (SELECT FROM alerting_notification WHERE {of_project}"
                " AND status = 'PENDING' AND due <= now())"
            )
        )

    def waits_idle(self) -> bool:
        """Waits until the project is idle; False if this takes too long."""
        with suppress(AssertionError):
            return eventually(self.is_idle, MOST_BACKGROUND_SECONDS)
        return False

    def remove(self) -> None:
        """Deletes the project with its contents."""
        self.send("DELETE", "")


def accepted(answer: requests.Response | None) -> requests.Response:
    """The answer if it is a success. Raises RefusedError, or AssertionError for a fault of the server."""
    assert answer is not None, "no answer in time"
    if 400 <= answer.status_code < 500:
        raise RefusedError(answer.text[:300])
    assert answer.ok, f"{answer.request.method} {answer.url}: {answer.status_code} {answer.text[:300]}"
    return answer


@contextmanager
def budget_site(checkout: Path | None = None) -> Iterator[BudgetSite]:
    """A new installation of the checkout, or of this one."""
    with MailReceiver().running() as mail_server, HttpReceiver().running() as receiver:
        environment = {
            "OPSAPI_OUTBOUND_ALLOW": "127.0.0.0/8",
            "OPSAPI_WORKERS": "2",
            "OPSAPI_THREADS": "8",
            "EMAIL_URL": f"smtp://127.0.0.1:{mail_server.port}",
        }
        with installation(**environment) as platform:
            if checkout is not None:
                platform.program = [sys.executable, str(checkout / "manage.py")]
                # Processes that start with `python -m` import the modules of their directory first.
                platform.start_command = ["env", "-C", str(checkout), *platform.program, "serve"]
            platform.start()
            yield BudgetSite(platform, make_first_user(platform), receiver)
            platform.stop()
