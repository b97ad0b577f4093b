"""Questions on pages of the console: why a user was not notified, and whether a host alerts."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict

from accesslist.models import User
from accesslist.users.store import first_users_of_org
from automation.addresses import read_address
from automation.hosts.store import host_at, hosts_of
from automation.models import Host
from opsapi.console.forms import line_field, themed

MOST_OFFERED = 200
"""The most users or hosts that a question offers."""


class PageQuestion(forms.Form):
    """A form in the URL; without its field, nothing is asked."""

    def __init__(self, data: QueryDict) -> None:
        asked = {name: value for name, value in data.items() if name in self.base_fields and value}
        super().__init__(asked or None)
        for field in self.fields.values():
            themed(field)

    def answered(self, name: str) -> Any:
        """The value of a valid field; None without a question, or if the field is invalid."""
        return self.cleaned_data.get(name) if self.is_bound and self.is_valid() else None


class UserQuestion(PageQuestion):
    """Names a user of an organization, among the first by name."""

    user = forms.ChoiceField(label="User")

    def __init__(self, data: QueryDict, *, org_id: str | None) -> None:
        super().__init__(data)
        users = list(first_users_of_org(org_id, MOST_OFFERED + 1)) if org_id else []
        self._users = {user.id: user for user in users[:MOST_OFFERED]}
        self.is_cut = len(users) > MOST_OFFERED
        offered: Any = self.fields["user"]
        offered.choices = [("", "Choose a user"), *((id, user.username) for id, user in self._users.items())]

    @property
    def more(self) -> str:
        """Says that users are missing from the list."""
        words = f"The list shows the first {MOST_OFFERED} users. The API explains the others (userId)."
        return words if self.is_cut else ""

    def chosen(self) -> User | None:
        """The chosen user; None without a choice."""
        return self._users.get(self.answered("user") or "")


class HostQuestion(PageQuestion):
    """Names a host of a project as `hostname:port`, with suggestions."""

    host = line_field(300, label="Host")

    def __init__(self, data: QueryDict, *, group_id: str) -> None:
        super().__init__(data)
        self.group_id = group_id
        self.fields["host"].widget.attrs.update(list="hosts", placeholder="db1.example.com:27017")
        self.suggested = [str(host) for host in hosts_of(group_id)[:MOST_OFFERED]]

    def clean_host(self) -> Host:
        """The host of the project.

        Raises:
            ValidationError: the project has no such host.
        """
        address = read_address(self.cleaned_data["host"])
        host = host_at(address, group_id=self.group_id).first()
        if host is None:
            raise ValidationError("The project has no such host.")
        return host

    def chosen(self) -> Host | None:
        """The host; None if the field is empty, or names an unknown host."""
        host: Host | None = self.answered("host")
        return host
