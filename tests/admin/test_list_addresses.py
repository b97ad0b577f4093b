"""What the addresses of lists may ask: what the filters and the search take, and nothing else."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.messages import get_messages
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from alerting.models import Alert
from automation.models import Host
from opsapi.console.changelist import MOST_CHARACTERS, MOST_WORDS, TOO_LONG
from opsapi.console.filters import RelatedFilter, expected_parameters
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.reading import admin_of, text_of
from tests.admin.rows import fill
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.hostile.budget import LONG

pytestmark = [
    pytest.mark.django_db,
    # A date typed into the address bar has no zone: Django takes the console's, and says so.
    pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime:RuntimeWarning"),
]

LISTS = sorted(
    model._meta.label_lower
    for model, pages in admin.site._registry.items()
    # Events are searched by a form of their own, which takes no lookups.
    if isinstance(pages, ConsoleAdmin) and model._meta.label_lower != "events.event"
)
FILTERED = [name for name in LISTS if admin_of(name).list_filter]
SEARCHED = [name for name in LISTS if admin_of(name).search_fields and name != "alerting.alert"]
BY_PROJECT = [name for name in FILTERED if ("group", RelatedFilter) in admin_of(name).list_filter]
LOOKUPS = ["startswith", "regex", "contains", "in", "gt", "range", "id", "id__startswith", "pk", "isnull__x"]
INTO_THE_GRAPH = [
    "group__grants__user__password__startswith",
    "group__grants__api_key__ha1__gt",
    "group__org__projects__name__startswith",
    "group__integrations__secrets__isnull",
    "group__name__regex",
]
ODD = [
    "",
    "x",
    "-1",
    "9" * 40,
    "1e400",
    "[",
    "\\",
    "0001-01-01",
    "9999999-01-01",
    "9999-12-31T23:59:59-14:00",
]
"""All of them in `make faults`, otherwise one for each parameter."""


@pytest.fixture
def rows(project: Project) -> None:
    """Something of everything, in a project and in another one."""
    fill(project)
    fill(ProjectFactory.create(name="theirs"))


def _url(name: str) -> str:
    return reverse(f"admin:{name.replace('.', '_')}_changelist")


def _parameters(browser: Client, name: str) -> list[str]:
    """What the list's filters take, for this operator."""
    request: HttpRequest = browser.get(_url(name)).wsgi_request
    return [str(parameter) for parameter in expected_parameters(admin_of(name), request)]


def _fields(name: str) -> list[str]:
    """The columns that the list's filters are about, and ways on from them."""
    declared = (
        filter_[0] if isinstance(filter_, tuple) else filter_ for filter_ in admin_of(name).list_filter
    )
    return [filter_ if isinstance(filter_, str) else str(filter_.parameter_name) for filter_ in declared]


def _relations(name: str) -> list[str]:
    model = admin_of(name).model
    names = [field.name for field in model._meta.get_fields()]
    related = model._meta.get_field("group").related_model if "group" in names else None
    beyond: list[Any] = related._meta.get_fields() if related else []
    return [f"group__{field.name}__{last}" for field in beyond for last in ("id__startswith", "isnull")]


@pytest.mark.slow
@each("name", LISTS)
def test_a_list_accepts_only_parameters_of_its_filters(name: str, console: Client) -> None:
    taken = _parameters(console, name)
    asked = [f"{field}__{lookup}" for field in _fields(name) for lookup in LOOKUPS]
    asked += [f"{parameter}__{lookup}" for parameter in taken for lookup in ("startswith", "regex", "x")]
    asked += [*INTO_THE_GRAPH, *_relations(name), "id__startswith", "pk", "nothing"]
    request: HttpRequest = console.get(_url(name)).wsgi_request
    assert not [lookup for lookup in asked if admin_of(name).lookup_allowed(lookup, "1", request)]
    assert all(admin_of(name).lookup_allowed(lookup, "1", request) for lookup in taken)
    assert console.get(_url(name), {asked[0]: "1"}).status_code == 400


@pytest.mark.slow
@each("name", FILTERED)
def test_filters_accept_odd_values(name: str, console: Client) -> None:
    taken = _parameters(console, name)
    assert taken
    for number, parameter in enumerate(taken, FILTERED.index(name)):
        for value in ODD if LONG else (ODD[number % len(ODD)],):
            answer = console.get(_url(name), {parameter: [value, "1"]})
            assert answer.status_code in {200, 302}, (parameter, value)


@pytest.mark.slow
@each("lookup", INTO_THE_GRAPH)
def test_a_filter_reveals_nothing_beyond_the_project(lookup: str, project: Project) -> None:
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    for name in ("alerting.alert", "alerting.maintenancewindow", "automation.host"):
        for value in ("argon2", "1", "("):
            assert reader.get(_url(name), {lookup: value}).status_code == 400


@pytest.mark.slow
@pytest.mark.usefixtures("rows")
def test_the_filters_still_find(console: Client, project: Project) -> None:
    found = console.get(_url("alerting.alert"), {"group__id__exact": project.id, "state": "all"})
    assert [row.id for row in found.context["cl"].result_list] == [Alert.objects.get(group=project).id]
    down = Host.objects.filter(group=project).latest("id")
    Host.objects.filter(id=down.id).update(down=True)
    hosts = console.get(_url("automation.host"), {"down__exact": "1"})
    assert list(hosts.context["cl"].result_list) == [down]
    for value in ("DELIVERED", "FAILED"):
        shown = console.get(_url("alerting.notification"), {"status__exact": value})
        assert shown.context["cl"].result_count == (2 if value == "DELIVERED" else 0)


@pytest.mark.slow
@each("name", BY_PROJECT)
def test_the_project_filter_names_only_readable_projects(name: str, project: Project) -> None:
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    for group, is_named in ((project, True), (ProjectFactory.create(name="theirs"), False)):
        answer = reader.get(_url(name), {"group__id__exact": group.id})
        assert answer.status_code == 200
        assert (f"selected>{group.name}</option>" in text_of(answer)) is is_named


@pytest.mark.slow
@each("name", SEARCHED)
@each(
    ("term", "is_taken"),
    [
        ("a " * MOST_WORDS, True),
        ("a " * (MOST_WORDS + 1), False),
        ("a" * MOST_CHARACTERS, True),
        ("a" * (MOST_CHARACTERS + 1), False),
        ('"a b c d e f g h i j k l"', True),
    ],
    ids=["most-words", "more-words", "most-characters", "more-characters", "a-phrase"],
)
def test_a_search_has_a_maximum_number_of_words(
    name: str, term: str, is_taken: bool, console: Client
) -> None:
    answer = console.get(_url(name), {"q": term})
    assert answer.status_code == 200
    shown = [str(message) for message in get_messages(answer.wsgi_request)]
    assert shown == ([] if is_taken else [TOO_LONG])
    if not is_taken:
        assert TOO_LONG in text_of(answer)
        assert answer.context["cl"].result_count == 0


@each(("term", "is_taken"), [("a " * MOST_WORDS, True), ("a " * (MOST_WORDS + 1), False), ("b" * 201, False)])
def test_autocomplete_has_a_maximum_number_of_words(term: str, is_taken: bool, console: Client) -> None:
    asked = {"app_label": "alerting", "model_name": "alert", "field_name": "group", "term": term}
    found = console.get("/admin/autocomplete/", asked)
    assert found.status_code == 200
    shown = [] if is_taken else [{"id": "", "text": TOO_LONG, "disabled": True}]
    assert found.json() == {"results": shown, "pagination": {"more": False}}
