"""A project with one of everything in it."""

from collections.abc import Mapping

import pytest

from accesslist.models import Project
from alerting.models import Alert
from alerting.pipeline import evaluate_signals
from automation.models import Host
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import UserFactory, make_key


@pytest.fixture
def admin(project: Project) -> ApiClient:
    """Project Owner in the project."""
    return ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=project.id)))


@pytest.fixture
def known(project: Project, owner: ApiClient) -> Mapping[str, str]:
    """For every parameter of a path the id of something in the project."""
    group = f"/groups/{project.id}"
    config = owner.post(f"{group}/alertConfigs", bodies.alert_config()).json()
    key = owner.post(f"{group}/apiKeys", bodies.api_key()).json()
    assert owner.report(project.id, bodies.report(bodies.host(reachable=False))).status_code == 202
    assert evaluate_signals(now=clock.now())
    return {
        "group_id": project.id,
        "config_id": config["id"],
        "key_id": key["id"],
        "host_id": Host.objects.get().id,
        "alert_id": Alert.objects.get().id,
        "event_id": owner.get(f"{group}/events").json()["results"][0]["id"],
        "user_id": UserFactory.create(password=None).id,
    }
