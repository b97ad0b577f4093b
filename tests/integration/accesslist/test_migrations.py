"""Migrations that change what is stored, both ways."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accesslist.models import User
from tests.factories.accesslist import UserFactory

BEFORE = [("accesslist", "0007_words_for_people")]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _newest_afterwards() -> Iterator[None]:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    yield
    MigrationExecutor(connection).migrate(newest)


@pytest.mark.slow
@pytest.mark.usefixtures("_newest_afterwards")
def test_users_with_similar_names_stay_and_the_oldest_keeps_its_skeleton() -> None:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    names = ["ada", "\u0430da", "Ivan", "\u0456van", " grace ", "m" * 254]
    for name in names:
        UserFactory.create(username=name, username_skeleton=None, username_key_skeleton=None)
    MigrationExecutor(connection).migrate(BEFORE)
    MigrationExecutor(connection).migrate(newest)
    looks = User.objects.order_by("created", "id").values_list(
        "username", "username_skeleton", "username_key_skeleton", "self_registered"
    )
    assert list(looks) == [
        ("ada", "ada", "ada", False),
        ("\u0430da", None, None, False),
        ("Ivan", "lvan", "ivan", False),
        ("\u0456van", "ivan", None, False),
        (" grace ", "grace", "grace", False),
        ("m" * 254, "rn" * 254, "rn" * 254, False),
    ]
