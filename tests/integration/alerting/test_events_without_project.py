"""Events of an organization or of the installation: each configuration that covers them notifies once."""

from typing import Any

import pytest

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.configs.changes import alert_config_delete, alert_config_set_enabled
from alerting.engine.evaluation import evaluate_signals
from events.models import Signal
from events.types import EventType
from integrations.choices import MessageKind
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import EMAIL, make_config, make_global_config
from tests.factories.events import happened, key_added
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.without_project import KEY_ADDED, USER_CREATED, projects_of_events
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def neighbour(project: Project) -> Project:
    """Another project of the organization."""
    made: Project = ProjectFactory.create(org=project.org, tags=["neighbour"])
    return made


@pytest.fixture
def elsewhere(db: None) -> Project:
    """A project of another organization."""
    made: Project = ProjectFactory.create(tags=["elsewhere"])
    return made


class TestOfAnOrganization:
    """Its projects' configurations, and global ones."""

    def test_a_project_is_notified_once_and_opens_nothing(self, project: Project, outside: Outside) -> None:
        make_config(project, **KEY_ADDED)
        event = key_added(project)
        evaluate()
        deliver_all()
        evaluate()
        deliver_all()
        assert outside.kinds == [MessageKind.INFORM]
        assert outside.sent[0][2].document["id"] == event.id
        assert projects_of_events() == [project.id]
        assert project.alerts.count() == 0
        assert not Signal.objects.exists()

    def test_each_configuration_of_each_of_its_projects_is(
        self, project: Project, neighbour: Project, elsewhere: Project
    ) -> None:
        for a_project in (project, project, neighbour, elsewhere):
            make_config(a_project, **KEY_ADDED)
        key_added(project)
        evaluate()
        assert sorted(map(str, projects_of_events())) == sorted([project.id, project.id, neighbour.id])

    def test_what_asks_for_something_else_or_for_nothing_is_not(
        self, project: Project, neighbour: Project
    ) -> None:
        make_config(project, eventTypeName="ORG_API_KEY_DELETED")
        make_global_config(eventTypeName="ORG_API_KEY_DELETED")
        for off in (make_config(project, **KEY_ADDED), make_global_config(**KEY_ADDED)):
            alert_config_set_enabled(config=off, enabled=False, actor=SYSTEM, now=clock.now())
        for gone in (make_config(project, **KEY_ADDED), make_global_config(**KEY_ADDED)):
            alert_config_delete(config=gone, actor=SYSTEM, now=clock.now())
        make_config(neighbour, **KEY_ADDED)
        project_delete(group_id=neighbour.id, actor=SYSTEM, now=clock.now())
        Signal.objects.all().delete()
        key_added(project)
        evaluate()
        assert projects_of_events() == []

    def test_a_project_deleted_afterwards_gets_no_notification(
        self, project: Project, outside: Outside
    ) -> None:
        make_config(project, **KEY_ADDED)
        key_added(project)
        assert evaluate_signals(now=clock.now())
        project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
        evaluate()
        deliver_all()
        assert outside.sent == []

    @pytest.mark.parametrize(
        ("scope", "expected"),
        [
            pytest.param({"forAllGroups": True}, [None], id="everywhere"),
            pytest.param({"forAllGroups": True, "tags": ["neighbour"]}, [None], id="tag-of-one"),
            pytest.param({"forAllGroups": True, "tags": ["elsewhere"]}, [], id="tag-of-none"),
            pytest.param({"forAllGroups": False, "groupIds": ["project", "neighbour"]}, [None], id="both"),
            pytest.param({"forAllGroups": False, "groupIds": ["neighbour", "elsewhere"]}, [None], id="one"),
            pytest.param({"forAllGroups": False, "groupIds": ["elsewhere"]}, [], id="none"),
        ],
    )
    def test_a_global_configuration_that_covers_any_of_its_projects_is_notified_once(
        self,
        request: pytest.FixtureRequest,
        project: Project,
        scope: dict[str, Any],
        expected: list[str | None],
    ) -> None:
        ids = {name: request.getfixturevalue(name).id for name in ("project", "neighbour", "elsewhere")}
        named = {"groupIds": [ids[name] for name in scope["groupIds"]]} if "groupIds" in scope else {}
        make_global_config(**KEY_ADDED, **{**scope, **named})
        make_config(project, eventTypeName="ORG_RENAMED")
        key_added(project)
        evaluate()
        assert projects_of_events() == expected

    def test_a_global_one_is_not_notified_again_for_projects_that_have_their_own(
        self, project: Project
    ) -> None:
        make_config(project, **KEY_ADDED)
        make_global_config(**KEY_ADDED)
        key_added(project)
        evaluate()
        assert sorted(projects_of_events(), key=str) == sorted([None, project.id], key=str)

    def test_a_deleted_project_is_none_a_global_one_covers(
        self, project: Project, neighbour: Project
    ) -> None:
        make_global_config(**KEY_ADDED, tags=["neighbour"])
        project_delete(group_id=neighbour.id, actor=SYSTEM, now=clock.now())
        Signal.objects.all().delete()
        key_added(project)
        evaluate()
        assert projects_of_events() == []

    def test_thousands_of_projects_are_notified_a_few_in_each_transaction(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("alerting.engine.fan_out.PROJECTS_AT_ONCE", 2)
        monkeypatch.setattr("alerting.engine.turns.SIGNALS_AT_ONCE", 1)
        projects = [project, *ProjectFactory.create_batch(4, org=project.org)]
        for a_project in projects:
            make_config(a_project, **KEY_ADDED)
        make_global_config(**KEY_ADDED)
        key_added(project)
        assert Signal.objects.filter(kind="event").count() == 1
        Signal.objects.exclude(kind="event").delete()
        assert evaluate_signals(now=clock.now())
        assert Signal.objects.exclude(group_id=None).count() == 2
        assert projects_of_events() == [None]
        evaluate()
        assert sorted(projects_of_events(), key=str) == sorted(
            [None, *(project.id for project in projects)], key=str
        )
        assert not Signal.objects.exists()

    def test_one_that_cannot_be_evaluated_is_set_aside(
        self, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(*_: object, **__: object) -> None:
            raise ValueError("broken")

        event = key_added(project)
        with monkeypatch.context() as patched:
            patched.setattr("alerting.engine.evaluation.fan_out", broken)
            evaluate()
        (signal,) = Signal.objects.all()
        assert signal.failed is not None
        assert signal.payload["eventId"] == event.id

    def test_the_document_leads_to_the_organization_and_people_to_the_console(
        self, project: Project, outside: Outside
    ) -> None:
        make_config(project, **KEY_ADDED)
        make_global_config(**KEY_ADDED)
        event = key_added(project)
        evaluate()
        deliver_all()
        messages = [message for _, _, message in outside.sent]
        links: Any = [message.document["links"] for message in messages]
        address = f"/orgs/{project.org_id}/events/{event.id}"
        assert [found[0]["href"].endswith(address) for found in links] == [True, True]
        page = f"/admin/events/event/{event.id}/change/"
        assert [str(message.link).endswith(page) for message in messages] == [True, True]
        assert {message.document["orgId"] for message in messages} == {project.org_id}
        assert not any("groupId" in message.document or message.project_name for message in messages)


class TestOfTheInstallation:
    """Global configurations for all projects alone."""

    def test_a_global_configuration_for_all_projects_is_notified_once(
        self, project: Project, outside: Outside
    ) -> None:
        make_global_config(**USER_CREATED)
        event = happened(EventType.USER_CREATED_AUDIT)
        evaluate()
        deliver_all()
        assert projects_of_events() == [None]
        ((_, _, message),) = outside.sent
        assert str(message.link).endswith(f"/admin/events/event/{event.id}/change/")
        assert (message.kind, message.project_name) == (MessageKind.INFORM, None)

    def test_people_read_nothing_that_a_stranger_wrote(
        self, stranger: ApiClient, project: Project, outside: Outside
    ) -> None:
        make_global_config(**USER_CREATED, notifications=[EMAIL])
        UserFactory.create()
        name = "Click https://evil.example/? now ".ljust(254, "x")
        made = stranger.post("/unauth/users", bodies.user(username=name, firstName=name[:100]))
        assert made.status_code == 201, made.content
        evaluate()
        deliver_all()
        ((_, _, message),) = outside.sent
        # A webhook gets the name, as JSON.
        assert message.document["targetUsername"] == name
        for text in (message.title, *message.facts.values(), message.link):
            assert text is not None
            assert "evil" not in text
            assert "xxx" not in text

    def test_nobody_else_is(self, project: Project, neighbour: Project) -> None:
        make_config(project, **USER_CREATED)
        make_global_config(**USER_CREATED, tags=["neighbour"])
        make_global_config(**USER_CREATED, forAllGroups=False, groupIds=[project.id])
        happened(EventType.USER_CREATED_AUDIT)
        evaluate()
        assert projects_of_events() == []
        assert not Signal.objects.exists()

    def test_what_a_configuration_cannot_name_leaves_no_signal(self) -> None:
        happened(EventType.ORG_CREATED_AUDIT)
        assert not Signal.objects.exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_ten_workers_notify_it_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alerting.engine.fan_out.PROJECTS_AT_ONCE", 1)
    projects = [project, *ProjectFactory.create_batch(2, org=project.org)]
    for a_project in projects:
        make_config(a_project, **KEY_ADDED)
    make_global_config(**KEY_ADDED)
    for _ in range(2):
        key_added(project)
    for _ in range(20):
        assert len(at_once(lambda _: evaluate_signals(now=clock.now()))) == THREADS
    assert not Signal.objects.exists()
    expected = [None, *(project.id for project in projects)] * 2
    assert sorted(projects_of_events(), key=str) == sorted(expected, key=str)
