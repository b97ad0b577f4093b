"""System checks of identity and access."""

from pytest_django import Settings

from accesslist.apps import strangers_may_get_global_roles


def test_global_roles_for_strangers_are_warned_of(settings: Settings) -> None:
    settings.OPSAPI_UNAUTH_GLOBAL_ROLES = True
    assert [warning.id for warning in strangers_may_get_global_roles()] == ["opsapi.W001"]


def test_by_default_there_is_nothing_to_warn_of() -> None:
    assert strangers_may_get_global_roles() == []
