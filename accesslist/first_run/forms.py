"""Forms of the first set-up. Their fields have the names that services use in refusals."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from accesslist.account.forms import PASSWORD_RULES, PasswordTwiceForm, password_field
from accesslist.serializers.organizations import ProjectDocument
from accesslist.serializers.users import UserInput
from accesslist.services.users import NewUser
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.console.forms import OpenForm, single_line

_USER = ("username", "password", "firstName", "lastName", "emailAddress")
_PROJECT = ("name",)


class SetupTokenForm(OpenForm):
    """The token of the link that the server printed."""

    token = forms.CharField(
        max_length=100,
        help_text="The part of the link after #.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
    )


class FirstRunForm(PasswordTwiceForm):
    """The first user and the first project."""

    fieldsets = (
        ("First user", ("username", "password", "again", "firstName", "lastName", "emailAddress")),
        ("First project", _PROJECT),
    )

    username = forms.CharField(
        max_length=254,
        validators=[single_line],
        widget=forms.TextInput(
            attrs={
                "autocomplete": "username",
                "autocapitalize": "none",
                "spellcheck": "false",
                "autofocus": True,
            }
        ),
        help_text="You log in with this name. This user has all rights.",
    )
    password = password_field("Password", "new-password", PASSWORD_RULES)
    again = password_field("Confirm password", "new-password")
    firstName = forms.CharField(
        max_length=100,
        label="First name",
        validators=[single_line],
        widget=forms.TextInput(attrs={"autocomplete": "given-name"}),
    )
    lastName = forms.CharField(
        max_length=100,
        label="Last name",
        validators=[single_line],
        widget=forms.TextInput(attrs={"autocomplete": "family-name"}),
    )
    emailAddress = forms.CharField(
        required=False,
        max_length=254,
        label="E-mail address",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
        help_text="Leave blank to use the username, if it is an e-mail address.",
    )
    name = forms.CharField(
        max_length=200,
        label="Project name",
        validators=[single_line],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text="A project has its own hosts, alerts and members, such as payments. Its organization gets "
        "the same name.",
    )

    new_user: NewUser
    new_project: Mapping[str, Any]

    def clean(self) -> dict[str, Any]:
        """Validate both with the schemas of the API."""
        typed = super().clean()
        if not self.errors:
            user, project = self._read(UserInput(), _USER), self._read(ProjectDocument(), _PROJECT)
            if not self.errors:
                self.new_user, self.new_project = NewUser(**user), project
        return typed

    def add_refusal(self, refusal: ApiError) -> None:
        """As in other forms. A used name of a project is shown next to its field."""
        if refusal.code is ErrorCode.GROUP_ALREADY_EXISTS:
            self.add_error("name", refusal.document()["detail"])
        else:
            super().add_refusal(refusal)

    def _read(self, document: Document, names: Iterable[str]) -> Mapping[str, Any]:
        try:
            return document.read({name: value for name in names if (value := self.cleaned_data[name])})
        except ApiError as refusal:
            self.add_refusal(refusal)
            return {}
