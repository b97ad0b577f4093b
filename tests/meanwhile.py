"""What happens between the moment a request is let in and what it writes."""

from collections.abc import Callable
from typing import Any

import pytest

from opsapi.api.permissions import DeclaredAccess
from opsapi.console.action_pages import ActionPage
from tests.racing import in_other_session


def meanwhile(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> None:
    """Do it once, on another connection, when the next request of the API or the console was let in."""
    check, run, waiting = DeclaredAccess.has_permission, ActionPage._run, [then]

    def do_once() -> None:
        if waiting:
            in_other_session(waiting.pop())

    def has_permission(*arguments: Any) -> bool:
        let_in = check(*arguments)
        do_once()
        return let_in

    def run_action(*arguments: Any) -> Any:
        do_once()
        return run(*arguments)

    monkeypatch.setattr(DeclaredAccess, "has_permission", has_permission)
    monkeypatch.setattr(ActionPage, "_run", run_action)
