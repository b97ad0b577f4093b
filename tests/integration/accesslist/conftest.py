"""A user."""

import pytest

from accesslist.models import User
from tests.factories.accesslist import UserFactory


@pytest.fixture
def ada(db: None) -> User:
    """A user with a password and without a second factor."""
    user: User = UserFactory.create(username="ada")
    return user
