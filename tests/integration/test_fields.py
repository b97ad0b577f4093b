"""Model fields of the house against PostgreSQL."""

import pytest
from django.db.models import OuterRef

from accesslist.models import Project, RoleGrant
from opsapi.fields import JsonRows

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("roles", [["GROUP_OWNER"], []], ids=["looked for", "known to be none"])
def test_json_rows_of_nothing_are_an_empty_array(project: Project, roles: list[str]) -> None:
    grants = RoleGrant.objects.filter(project=OuterRef("id"), role__in=roles).values("role")
    assert Project.objects.values_list(JsonRows(grants), flat=True).get() == []
