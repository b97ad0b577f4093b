"""An automation document is stored together with its redacted form, which readers see."""

import ast
from pathlib import Path
from typing import Any, NoReturn

import pytest

from accesslist.models import Project
from automation.desired_state import changes as automation_config
from automation.desired_state.document import text
from automation.models import AutomationRevision
from opsapi.redaction import MASK
from tests.api.automation import path, published, publisher
from tests.client import ApiClient
from tests.each import each
from tests.factories.documents import document

SECRET = {"ldap": {"bindPassword": "very secret"}, "number": 1.50}
# Read by the rule of masking, but nothing of what is masked is decided in them.
HARMLESS = {
    "automation.sections",
    "automation.desired_state.document.text",
    "opsapi.api.catalogue",
    "opsapi.api.errors",
    "opsapi.wire_json",
}
__all__ = ["path", "publisher"]  # fixtures
pytestmark = pytest.mark.django_db


@pytest.fixture
def revision(publisher: ApiClient, path: str, project: Project) -> AutomationRevision:
    """The first one, with a secret."""
    published(publisher, path, document(version=0, security=SECRET))
    return AutomationRevision.objects.get(group=project)


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever parses or masks a document fails."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("the document was read")

    monkeypatch.setattr(text, "read_json", refuse)
    monkeypatch.setattr(automation_config, "redacted", refuse)


def password(answer: Any) -> str:
    """What the answer shows of the secret."""
    assert answer.status_code == 200, answer.content
    shown: str = answer.json()["security"]["ldap"]["bindPassword"]
    return shown


@pytest.mark.usefixtures("revision", "no_reading")
@pytest.mark.parametrize(
    "options", ["", "?pretty=true", "?envelope=true", "/revisions/1", "/revisions/1?pretty=true"]
)
def test_a_document_is_shown_without_being_read(
    reader: ApiClient, publisher: ApiClient, path: str, options: str
) -> None:
    for who, shown, hidden in ((reader, MASK, "very secret"), (publisher, "very secret", MASK)):
        content = who.get(path + options).content
        assert shown.encode() in content
        assert hidden.encode() not in content


def test_numbers_and_keys_stay_as_they_came_for_people_too(
    reader: ApiClient, publisher: ApiClient, path: str
) -> None:
    sent = (
        b'{"version":0,"processes":[],"databaseVersions":[],"options":{"downloadBase":"/x"},"z":[1.50,1e999]}'
    )
    assert publisher.put(path, sent).status_code == 200
    for options, expected in (("", b'"z":[1.50,1e999]'), ("?pretty=true", b"1.50,\n    1e999\n")):
        assert expected in reader.get(path + options).content


def test_a_document_from_before_is_masked_once(
    reader: ApiClient, path: str, revision: AutomationRevision, monkeypatch: pytest.MonkeyPatch
) -> None:
    AutomationRevision.objects.update(masked=None, masked_by=None)
    assert password(reader.get(path)) == MASK
    monkeypatch.setattr(automation_config, "redacted", None)
    assert password(reader.get(path)) == MASK
    revision.refresh_from_db()
    assert revision.masked_by == automation_config.MASK_RULE


@pytest.mark.usefixtures("revision")
def test_what_another_rule_masked_is_never_shown(
    reader: ApiClient, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert password(reader.get(path)) == MASK
    monkeypatch.setattr(automation_config, "MASK_RULE", "another rule")
    monkeypatch.setattr(automation_config, "redacted", lambda document: {**document, "security": "hidden"})
    assert reader.get(path).json()["security"] == "hidden"
    assert reader.get(path).json()["security"] == "hidden"


def test_it_is_encrypted_as_the_document_is(revision: AutomationRevision) -> None:
    for encrypted in (revision.document, revision.masked):
        assert encrypted
        assert "bindPassword" not in encrypted


def test_a_document_without_secrets_is_kept_once(
    reader: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, document(version=0))
    assert AutomationRevision.objects.get(group=project).masked is None
    assert reader.get(path).json() == publisher.get(path).json()


def test_the_rule_is_known_by_every_module_that_decides() -> None:
    decides = {module.__name__ for module in automation_config.RULE_MODULES}
    for module in automation_config.RULE_MODULES:
        tree = ast.parse(Path(str(module.__file__)).read_text())
        ours = {
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("automation", "opsapi"))
        }
        assert ours <= decides | HARMLESS


class TestIfNoneMatch:
    """A version that the caller has is not sent again."""

    @each("header", ['"1"', 'W/"1"', '"0", "1"', "*"])
    def test_a_version_that_is_known_is_304(
        self, reader: ApiClient, path: str, revision: AutomationRevision, header: str
    ) -> None:
        answer = reader.get(f"{path}?envelope=true", HTTP_IF_NONE_MATCH=header)
        assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", '"1"')
        assert "Content-Length" not in answer.headers
        assert revision.number == 1

    @pytest.mark.usefixtures("revision")
    @pytest.mark.parametrize("header", ['"0"', "nonsense", ""])
    def test_any_other_is_sent(self, reader: ApiClient, path: str, header: str) -> None:
        answer = reader.get(path, HTTP_IF_NONE_MATCH=header)
        assert (password(answer), answer.headers["ETag"]) == (MASK, '"1"')

    def test_what_a_project_starts_from_is_a_version_too(self, reader: ApiClient, path: str) -> None:
        assert reader.get(path, HTTP_IF_NONE_MATCH='"0"').status_code == 304


def test_a_text_for_people_is_read_exactly_where_that_is_needed() -> None:
    for written in ('{"a":1.50}', '{"a":123456789012345678901234567890}', '{"a":[1,2.5,"é"]}', '{"a":-0}'):
        assert text.for_people(written) == text.write(text.read(written), pretty=True)
