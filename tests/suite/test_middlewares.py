"""Clients inside the test process share what a server loads once."""

from typing import Any

from django.test.client import ClientHandler
from pytest_django import Settings


def _loaded() -> Any:
    handler = ClientHandler()
    handler.load_middleware()
    return handler


def test_a_second_client_takes_what_the_first_one_loaded() -> None:
    first, second = _loaded(), _loaded()
    assert second._middleware_chain is first._middleware_chain
    assert second._view_middleware is first._view_middleware


def test_a_changed_setting_has_them_loaded_again(settings: Settings) -> None:
    before = _loaded()
    settings.OPSAPI_INVITATION_ONLY = not settings.OPSAPI_INVITATION_ONLY
    changed = _loaded()
    assert changed._middleware_chain is not before._middleware_chain
    assert _loaded()._middleware_chain is changed._middleware_chain
