"""What the console's own inputs show and ask."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from django import forms

from opsapi.console.forms import DateTimeText, OpenForm, SecretInput
from tests.each import each

NOON = datetime(2099, 11, 21, 12, 0, 7, 900_000, UTC)


class _Form(forms.Form):
    at = DateTimeText(required=False)


class _Grouped(OpenForm):
    fieldsets = [("Period", ["start"])]

    note = forms.CharField()
    start = forms.CharField()


def test_a_field_that_no_group_names_is_shown_last() -> None:
    groups = [(title, [field.name for field in fields]) for title, fields in _Grouped().groups()]
    assert groups == [("Period", ["start"]), ("", ["note"])]


@each(
    ("stored", "shown"),
    [
        (NOON, "2099-11-21 12:00:07"),
        (NOON.astimezone(timezone(timedelta(hours=2))), "2099-11-21 12:00:07"),
        (NOON.replace(second=0), "2099-11-21 12:00"),
        ("2099-11-21T12:00", "2099-11-21T12:00"),
    ],
)
def test_a_moment_is_shown_as_people_type_it(stored: Any, shown: str) -> None:
    page = str(_Form(initial={"at": stored})["at"])
    assert 'type="text"' in page
    assert f'value="{shown}"' in page


@each(
    ("typed", "sent"),
    [
        ("2099-11-21 12:00", "2099-11-21T12:00"),
        (" 2099-11-21  12:00:07 ", "2099-11-21T12:00:07"),
        ("2099-11-21T12:00Z", "2099-11-21T12:00Z"),
    ],
)
def test_a_typed_moment_is_sent_in_the_format_of_the_api(typed: str, sent: str) -> None:
    form = _Form({"at": typed})
    assert form.is_valid()
    assert form.cleaned_data == {"at": sent}


def test_a_typed_moment_stays_as_it_was_typed() -> None:
    form = _Form({"at": "next week"})
    assert form.errors == {"at": ["Enter a date and time, such as 2026-11-29 02:00."]}
    assert 'value="next week"' in str(form["at"])


@each(("required", "stored", "asked"), [(True, None, True), (True, "****", False), (False, None, False)])
def test_a_missing_secret_is_required(required: bool, stored: str | None, asked: bool) -> None:
    assert SecretInput(required=required, stored=stored).required is asked


def test_a_stored_secret_is_shown_only_redacted() -> None:
    field = SecretInput(label="Token", stored="<****ab>", note=" Take care.")
    assert "typed-secret" not in field.widget.render("token", "typed-secret")
    assert field.widget.attrs["placeholder"] == "unchanged"
    assert field.help_text == "Stored: <code>&lt;****ab&gt;</code>. Leave blank to keep it. Take care."
    assert field.removal().label == "Remove the stored “Token”"


@each("has_lines", [False, True])
def test_a_typed_secret_is_asked_for_again(has_lines: bool) -> None:
    widget = SecretInput(stored="<****ab>", has_lines=has_lines).widget
    shown = [widget.render("token", value, {"id": "id_token"}) for value in ("typed-secret", "", None)]
    assert ["Enter the secret again" in html for html in shown] == [True, False, False]
    assert ['placeholder="unchanged"' in html for html in shown] == [False, True, True]
    assert 'aria-describedby="id_token_again"' in shown[0]
    assert 'id="id_token_again"' in shown[0]
    assert "typed-secret" not in shown[0]


def test_a_new_secret_shows_no_stored_value() -> None:
    field = SecretInput(label="Token", note=" Take care.", help_text="From the service.")
    assert "placeholder" not in field.widget.attrs
    assert field.help_text == "From the service."
