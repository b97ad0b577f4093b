"""Which configurations cover which projects, and what finding them costs."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accesslist.models import Project
from alerting.configs.store import (
    CONCERNED,
    concerned_configs,
    concerned_parameters,
    covered_projects,
    covering,
    is_concerned,
)
from alerting.models import AlertConfig
from events.types import EventType
from opsapi import clock
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_config, make_global_config

pytestmark = pytest.mark.django_db


@pytest.fixture
def prod(db: None) -> Project:
    """A project with tags."""
    made: Project = ProjectFactory.create(tags=["prod", "eu"])
    return made


@pytest.fixture
def dev(db: None) -> Project:
    """Another one."""
    made: Project = ProjectFactory.create(tags=["dev"])
    return made


SCOPES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["prod", "dev"]),
    ({"tags": ["prod"]}, ["prod"]),
    ({"tags": ["other", "eu", "dev"]}, ["prod", "dev"]),
    ({"tags": ["pro"]}, []),
    ({"forAllGroups": False, "groupIds": ["dev"]}, ["dev"]),
    ({"forAllGroups": False, "groupIds": ["dev", "prod"]}, ["prod", "dev"]),
]


@each(("scope", "covered"), SCOPES, ids=str)
def test_a_scope_covers_these_projects_and_no_other(
    prod: Project, dev: Project, scope: dict[str, Any], covered: list[str]
) -> None:
    projects = {"prod": prod, "dev": dev}
    if "groupIds" in scope:
        scope = {**scope, "groupIds": [projects[name].id for name in scope["groupIds"]]}
    config = make_global_config(**scope)
    expected = {projects[name].id for name in covered}
    assert set(covered_projects(config).values_list("id", flat=True)) == expected
    for project in projects.values():
        is_covered = project.id in expected
        assert AlertConfig.objects.filter(covering(project.id)).exists() is is_covered
        assert [config.id for config in concerned_configs(project.id, [EventType.HOST_DOWN])] == (
            [config.id] if is_covered else []
        )
        assert is_concerned(project.id, EventType.HOST_DOWN) is is_covered
        assert not is_concerned(project.id, EventType.NEW_HOST)


def test_a_project_without_tags_is_covered_by_no_tag(project: Project) -> None:
    make_global_config(tags=["prod"])
    assert not is_concerned(project.id, EventType.HOST_DOWN)
    assert not AlertConfig.objects.filter(covering(project.id)).exists()


@each("off", [{"enabled": False}, {"deleted": clock.now()}], ids=["disabled", "deleted"])
def test_what_is_off_concerns_nobody(prod: Project, off: dict[str, Any]) -> None:
    configs = [make_config(prod), make_global_config(), make_global_config(tags=["prod"])]
    assert len(concerned_configs(prod.id, [EventType.HOST_DOWN])) == len(configs)
    AlertConfig.objects.update(**off)
    assert concerned_configs(prod.id, [EventType.HOST_DOWN]) == []
    assert not is_concerned(prod.id, EventType.HOST_DOWN)


def test_a_deleted_project_is_covered_by_none(prod: Project) -> None:
    config = make_global_config()
    Project.objects.filter(id=prod.id).update(deleted=clock.now(), org=None)
    assert list(covered_projects(config)) == []


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every node of a plan."""
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


@pytest.mark.slow
def test_configurations_that_cannot_match_are_not_read(prod: Project, dev: Project) -> None:
    now = clock.now()
    others: list[dict[str, Any]] = [
        {"group": dev},
        {"group_ids": [dev.id]},
        {"for_all_groups": True, "tags": ["dev"]},
        {"for_all_groups": True, "event_type": "NEW_HOST"},
        {"group": prod, "event_type": "NEW_HOST"},
    ]
    configs = (
        AlertConfig(**{"event_type": "HOST_DOWN", "created": now, "updated": now, **values})
        for values in others
        for _ in range(1000)
    )
    AlertConfig.objects.bulk_create(configs, batch_size=1000)
    config = make_global_config()
    parameters = concerned_parameters(prod.id, [EventType.HOST_DOWN])
    execute("ANALYZE alerting_alertconfig")
    [(said,)] = fetch_rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {CONCERNED}", parameters)
    (plan,) = json.loads(said) if isinstance(said, str) else said
    reading = [node for node in nodes(plan["Plan"]) if node.get("Relation Name") == "alerting_alertconfig"]
    assert reading
    assert [node.get("Rows Removed by Filter", 0) for node in reading] == [0] * len(reading)
    assert [config.id for config in concerned_configs(prod.id, [EventType.HOST_DOWN])] == [config.id]
