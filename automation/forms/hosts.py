"""Forms that add a host by hand and change its address."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accesslist.forms import InProjectForm
from automation.serializers.hosts import HostChange, NewHost
from opsapi.console.forms import DocumentForm

_PORT = 27017


class _AddressFields(DocumentForm):
    hostname = forms.CharField(label="Host name", help_text="A name or an IP address.")
    port = forms.IntegerField(initial=_PORT, help_text="MongoDB listens on 27017, PostgreSQL on 5432.")


class NewHostForm(_AddressFields, InProjectForm):
    """A host in a project."""

    document = NewHost
    field_order = ["group"]

    @property
    def values(self) -> Mapping[str, Any]:
        """Adds the ID of the project."""
        return {**super().values, "group_id": self.cleaned_data["group"].id}


class HostForm(_AddressFields):
    """Change the address."""

    document = HostChange
