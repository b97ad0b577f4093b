"""What each test finds in the database of its process."""

import pytest
from django.apps import apps

from accesslist.models import DigestEpoch
from opsapi.roles import Role
from tests.api.conftest import one_of_everything
from tests.client import ApiClient
from tests.database import KEPT
from tests.factories.accesslist import ProjectFactory, make_key


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("turn", ["first", "second"])
def test_a_transactional_test_begins_with_the_rows_of_a_migrated_database(turn: str) -> None:
    filled = {model._meta.db_table for model in apps.get_models() if model._default_manager.exists()}
    assert filled == {*KEPT, DigestEpoch._meta.db_table}
    one_of_everything(ProjectFactory.create(), ApiClient(make_key(Role.GLOBAL_OWNER)))
