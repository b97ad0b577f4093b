"""A secret planted in every field that can hold one turns up nowhere (architecture habit 4)."""

import logging
from collections.abc import Mapping

import pytest

from alerting.pipeline import evaluate_signals
from events.models import Event, Signal
from opsapi import clock
from tests.api import bodies
from tests.api.routes import KEYED
from tests.client import ApiClient
from tests.factories.accesslist import Key

pytestmark = pytest.mark.django_db


def test_no_answer_event_or_log_line_shows_a_secret(
    stranger: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    first = stranger.post("/unauth/users", bodies.user(password=bodies.SECRET)).json()
    key = first["programmaticApiKey"]
    caller = ApiClient(Key(key["id"], key["publicKey"], key["privateKey"]))
    group = caller.post("/groups", bodies.group()).json()["id"]
    made = caller.post(f"/groups/{group}/apiKeys", bodies.api_key()).json()
    config = caller.post(
        f"/groups/{group}/alertConfigs", bodies.alert_config(notifications=[bodies.webhook()])
    )
    refused = caller.post(
        f"/groups/{group}/alertConfigs", bodies.alert_config(notifications=[bodies.webhook(delayMin=-1)])
    )
    caller.report(group, bodies.report(bodies.host(reachable=False)))
    assert evaluate_signals(now=clock.now())
    shown += [str(first["user"]), config.content.decode(), refused.content.decode(), caplog.text]
    known = everything(caller, group, config.json()["id"], made["id"], first["user"]["id"])
    for route in KEYED:
        if route.method == "GET":
            answer = caller.request("GET", f"{route.path(known)}?includeRaw=true", base="")
            assert answer.status_code == 200, route
            shown.append(answer.content.decode())
    assert caller.delete(f"/groups/{group}/alertConfigs/{known['config_id']}").status_code == 204
    shown += [str(list(Event.objects.values())), str(list(Signal.objects.values())), caplog.text]
    for secret in (bodies.SECRET, key["privateKey"], made["privateKey"]):
        assert not [text for text in shown if secret in text]


def everything(caller: ApiClient, group: str, config: str, key: str, user: str) -> Mapping[str, str]:
    """The parameters of every path."""
    first = {
        name: caller.get(f"/groups/{group}/{path}").json()["results"][0]["id"]
        for name, path in (("host_id", "hosts"), ("alert_id", "alerts"), ("event_id", "events"))
    }
    return {"group_id": group, "config_id": config, "key_id": key, "user_id": user, **first}
