"""What tests of the fleet share."""

import pytest

from accesslist.models import Project
from tests.factories.accesslist import ProjectFactory


@pytest.fixture
def other_project(db: None) -> Project:
    """Another project than `project`."""
    made: Project = ProjectFactory.create()
    return made
