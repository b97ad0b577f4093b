"""What holds for every route with pages."""

from collections.abc import Mapping
from typing import Any

import pytest

from opsapi.api.query import PAGE_NUM
from tests.api.routes import KEYED, Route
from tests.client import ApiClient
from tests.each import each

PAGED = [route for route in KEYED if PAGE_NUM in route.viewset.parameters.get(route.action, ())]
LISTS = [route for route in PAGED if isinstance(route.viewset.answers.get(route.action), list)]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


def assert_refused(answer: Any, *names: str) -> None:
    """For the values of these parameters."""
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_QUERY_PARAMETER")
    assert {bad["field"] for bad in answer.json()["badFields"]} == {*names}


@each("value", ["0", "-1", "1.5", "", "x", "2147483648", "1e1"])
@each("name", ["pageNum", "itemsPerPage"])
def test_a_bad_page_is_refused_in_any_form(owner: ApiClient, name: str, value: str) -> None:
    assert_refused(owner.get(f"/groups?{name}={value}"), name)


@each("route", PAGED, ids=str)
def test_every_bad_page_is_refused(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    answer = owner.request("GET", f"{route.path(known)}?pageNum=0&itemsPerPage=501", base="")
    assert_refused(answer, "pageNum", "itemsPerPage")


@pytest.mark.slow
@each("route", LISTS, ids=str)
def test_every_list_can_leave_its_count_out(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    path = route.path(known)
    whole = owner.request("GET", f"{path}?itemsPerPage=500", base="").json()
    assert whole["totalCount"] == len(whole["results"])
    short = owner.request("GET", f"{path}?includeCount=false&itemsPerPage=500", base="").json()
    assert {**short, "links": []} == {"results": whole["results"], "links": []}
    bad = owner.request("GET", f"{path}?includeCount=1", base="")
    assert (bad.status_code, bad.json()["badFields"][0]["field"]) == (400, "includeCount")


@each("route", [route for route in PAGED if route not in LISTS], ids=str)
def test_on_a_single_read_paging_has_no_effect(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    plain, paged = (
        owner.request("GET", route.path(known) + query, base="").json() for query in ("", "?pageNum=9")
    )
    assert paged == plain
