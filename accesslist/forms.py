"""Console forms of identity and access."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect

from accesslist.roles.models import RoleGrant
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Operator
from opsapi.console.display import role_choices
from opsapi.console.forms import ConsoleForm, the_only
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.roles import Role, Scope


class ScopeField(forms.ModelChoiceField):  # type: ignore[type-arg]  # of one kind or another
    """A `project`, `org`, `team` or `api_key`, with search because there may be thousands.

    It accepts rows that the operator can read: call `narrow` with the operator.
    """

    def __init__(self, kind: str, **options: Any) -> None:
        relation = RoleGrant._meta.get_field(kind)
        self._model = cast(Any, relation.related_model)
        widget = AutocompleteSelect(relation, admin.site)
        super().__init__(self._model._default_manager.none(), widget=widget, **options)

    def narrow(self, operator: Operator) -> None:
        """Accept the rows that the operator can read, as on their page."""
        pages = cast(ConsoleAdmin, admin.site.get_model_admin(self._model))
        self.queryset = pages.visible(self._model._default_manager.all(), operator.visible_scope())

    def accepts(self, pk: str) -> bool:
        """Whether a row with this ID can be selected."""
        return self.queryset is not None and self.queryset.filter(pk=pk).exists()

    def only_choice(self) -> str | None:
        """The ID of the only row, if the field needs one and there is a single one."""
        if not self.required or self.queryset is None:
            return None
        return the_only(list(self.queryset.order_by("pk").values_list("pk", flat=True)[:2]))


class RolesField(forms.MultipleChoiceField):
    """Checkboxes of roles, each with what it allows. The cleaned value is a list of roles."""

    widget = forms.CheckboxSelectMultiple

    def __init__(self, roles: Iterable[Role] = (), **options: Any) -> None:
        super().__init__(**options)
        self.offer(roles)

    def offer(self, roles: Iterable[Role]) -> None:
        """Show and accept these roles."""
        self.choices = role_choices(roles)

    def clean(self, value: Any) -> list[Role]:
        """The selected roles."""
        return [Role(name) for name in super().clean(value)]


class ScopedForm(ConsoleForm):
    """A form with such fields.

    `refusal_fields` maps refusals that name no field to a field.
    """

    refusal_fields: ClassVar[Mapping[ErrorCode, str]] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name, field in self.fields.items():
            if isinstance(field, ScopeField):
                field.narrow(self.operator)
                if not self.is_bound and not self.initial.get(name):
                    self.initial[name] = field.only_choice()

    def add_refusal(self, refusal: ApiError) -> None:
        """As in other forms, next to the field if it is known."""
        name = self.field_about(refusal)
        if name in self.fields:
            self.add_error(name, refusal.document()["detail"])
        else:
            super().add_refusal(refusal)

    def field_about(self, refusal: ApiError) -> str | None:
        """The field for a refusal that names no field."""
        return self.refusal_fields.get(refusal.code)


class InProjectForm(ScopedForm):
    """A form for a new row in a project, which is selected first."""

    from_address = frozenset({"group"})

    group = ScopeField("project", label="Project")

    def scope(self) -> Scope:
        """The project."""
        return Scope(group_id=self.cleaned_data["group"].id)


def lines(text: str) -> list[str]:
    """The lines of the input, stripped and without duplicates."""
    typed = (line.strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in typed if line))
