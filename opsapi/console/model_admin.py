"""What every model's pages in the console have in common: they read, and write only by services."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.db import models
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import URLPattern

from opsapi.console.changelist import ConsoleChangeList
from opsapi.console.display import EMPTY
from opsapi.console.paging import BoundedPaginator
from opsapi.console.writes import AddService, RowService


class ConsoleAdmin(admin.ModelAdmin[Any]):
    """Read-only pages of a model. A write is offered by naming its service, in no other way.

    `add_service` makes a row, `delete_service` deletes rows, one or many; `row_services` are the
    list's actions, by name. Django's own ways to write (saving, deleting, inlines, its log of
    actions) are closed: the event log is the only record of what was done.
    """

    add_service: ClassVar[AddService | None] = None
    delete_service: ClassVar[RowService | None] = None
    row_services: ClassVar[Mapping[str, RowService]] = {}
    empty_text: ClassVar[str] = "Nothing here yet."
    """What a list without rows says."""

    view_on_site = False
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    empty_value_display = EMPTY

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Who may enter the console may read all of it."""
        return self.admin_site.has_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Who may enter the console may read all of it."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only where a service adds."""
        return self.add_service is not None and self.admin_site.has_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is edited in place."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only where a service deletes."""
        return self.delete_service is not None and self.admin_site.has_permission(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what `list_filter` names: Django lets any column be guessed at, secret ones too."""
        return any(lookup == name or lookup.startswith(f"{name}__") for name in self._filter_names())

    def _filter_names(self) -> list[str]:
        """Filters are names of fields or SimpleListFilters."""
        declared: Sequence[Any] = self.list_filter
        return [one if isinstance(one, str) else one.parameter_name for one in declared]

    def get_urls(self) -> list[URLPattern]:
        """Without the history page, which shows Django's log of actions."""
        return [url for url in super().get_urls() if not (url.name or "").endswith("_history")]

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ConsoleChangeList]:
        """Ours."""
        return ConsoleChangeList

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row; an empty `_to_field` in the address is none, where Django looks for a field of no name."""
        return super().get_object(request, object_id, from_field or None)

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[type[Any]]:
        """A row that is being made has no others below it."""
        return list(super().get_inlines(request, obj)) if obj else []

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any
    ) -> type[ModelForm[Any]]:
        """The service's form for a new row."""
        if obj is None and self.add_service:
            options["form"] = self.add_service.form
        return super().get_form(request, obj, change=change, **options)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The service's fields for a new row."""
        if obj is None and self.add_service:
            return [(None, {"fields": list(self.add_service.form.base_fields)})]
        return super().get_fieldsets(request, obj)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """With one button: a row that was made cannot be edited further."""
        buttons = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().changeform_view(request, object_id, form_url, {**buttons, **(extra_context or {})})

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The service makes the row; `obj`, what the form would have made, becomes what was made."""
        self.added(obj, _named(self.add_service).run(request, form))

    def added(self, obj: models.Model, made: Any) -> None:
        """Django goes on with `obj`; by default the service answers the row itself."""
        vars(obj).update(vars(made))

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing is left to save: the service has done all."""

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """The service deletes."""
        self.delete_queryset(request, self.get_queryset(request).filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
        """The service deletes each, all or none."""
        _named(self.delete_service).run(request, queryset)

    def get_deleted_objects(self, objs: Any, request: Any) -> Any:
        """The rows themselves; what goes with them is the service's business, not the foreign keys'."""
        shown = [str(one) for one in objs]
        return shown, {self.opts.verbose_name_plural: len(shown)}, set(), []

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The declared ones, beside deleting."""
        actions: dict[str, Any] = dict(super().get_actions(request))
        for name, service in self.row_services.items():
            actions[name] = (_act, name, service.label)
        return actions

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]  # nothing is logged, so there is no entry to answer
        """The service has recorded an event; there is no second log."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:  # type: ignore[override]  # as above
        """As `log_addition`."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:  # type: ignore[override]  # as above
        """As `log_addition`."""


class ConsoleInline(admin.TabularInline[Any, Any]):
    """Rows below another one, to be read."""

    extra = 0
    can_delete = False
    view_on_site = False
    show_change_link = False
    empty_value_display = EMPTY

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """All of them, those that are computed too."""
        return list(self.fields or ())

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """As the page it stands on."""
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never."""
        return False


def _act(model_admin: ConsoleAdmin, request: HttpRequest, queryset: models.QuerySet[Any]) -> None:
    """Any declared action: the request says which one."""
    service = model_admin.row_services[request.POST["action"]]
    number = service.run(request, queryset)
    names = model_admin.opts.verbose_name_plural if number != 1 else model_admin.opts.verbose_name
    messages.success(request, f"{service.label}: {number} {names}.")


def _named(service: Any) -> Any:
    if service is None:
        raise PermissionError("no service was named for this write")
    return service
