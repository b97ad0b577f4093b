"""The rooms of an app: each imports only the rooms below it, in slices and between them."""

from tests.each import each
from tools.imports_within import PACKAGES, imports, is_upward, kind


@each("app", PACKAGES)
def test_a_room_imports_only_rooms_below_it(app: str) -> None:
    pairs = list(imports(app))
    assert pairs
    assert [pair for pair in pairs if is_upward(*pair)] == []


def test_it_finds_a_model_that_imports_a_service() -> None:
    assert kind("accesslist.teams.models") == "models"
    assert kind("alerting.incidents.changes") == "changes"
    assert kind("alerting.engine.delivery") == "other"
    assert kind("automation.agent.mongodb.engine") == "agent"
    assert kind("automation.agents.store") == "store"
    assert is_upward("accesslist.teams.models", "accesslist.teams.changes")
    assert is_upward("accesslist.teams.rules", "accesslist.users.store")
    assert not is_upward("accesslist.teams.changes", "accesslist.teams.models")
    assert not is_upward("accesslist.teams.console", "accesslist.locks")
