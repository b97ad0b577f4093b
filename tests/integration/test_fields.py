"""Model fields of the house against PostgreSQL."""

import pytest
from django.db.models import OuterRef

from accesslist.models import Project, RoleGrant
from opsapi.fields import Among, JsonRows
from tests.each import each

pytestmark = pytest.mark.django_db


@each("roles", [["GROUP_OWNER"], []], ids=["looked for", "known to be none"])
def test_json_rows_of_nothing_are_an_empty_array(project: Project, roles: list[str]) -> None:
    grants = RoleGrant.objects.filter(project=OuterRef("id"), role__in=roles)
    assert Project.objects.values_list(JsonRows(grants, role="role"), flat=True).get() == []


@each("found", [0, 1], ids=["others", "its own"])
@each("others", [0, 65_536])
def test_a_column_is_among_any_number_of_values(project: Project, found: int, others: int) -> None:
    ids = [str(number) for number in range(others)] + [project.id] * found
    assert Project.objects.filter(Among("id", ids)).count() == found
    assert Project.objects.exclude(Among("id", ids)).count() == 1 - found
