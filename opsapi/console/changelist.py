"""The list of a model's rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin import ListFilter
from django.http import HttpRequest
from django.utils.http import urlencode
from unfold.views import ChangeList


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter: its name, what is chosen, and the address of the list without it."""

    title: str
    value: str
    url: str


def chosen_words(field: forms.Field, text: str) -> str:
    """What is chosen in a field, as its choices name it."""
    choices: Any = field.choices if isinstance(field, forms.ChoiceField) else ()
    return str(dict(choices).get(text, text))


class ConsoleChangeList(ChangeList):  # type: ignore[misc]  # the theme is not typed
    """Named after what it lists; says how many were found only where something was looked for."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        plural = str(self.opts.verbose_name_plural)
        self.title = plural[0].upper() + plural[1:]

    def get_results(self, request: HttpRequest) -> None:
        """Without search and filters what was found is all there is."""
        super().get_results(request)
        if not self.multi_page:
            # Django leaves the paginator out; ours may have an order of its own.
            self.result_list = self.paginator.page(1).object_list
        # Read here once, and shown by whoever goes through it.
        self.model_admin.look_up(request, list(self.result_list))
        if not (self.query or self.has_active_filters):
            self.full_result_count = self.result_count
        self.model_admin.prepare(list(self.result_list))

    def chips(self) -> list[Chip]:
        """The active filters, each with the way to take it off."""
        return list(self._chips())

    def _chips(self) -> Iterator[Chip]:
        for spec in self.filter_specs:
            own = [name for name in spec.expected_parameters() if any(self.filter_params.get(name, ()))]
            if own:
                others = [(name, texts) for name, texts in self.filter_params.items() if name not in own]
                title = str(spec.title)
                url = f"?{urlencode(others, doseq=True)}"
                yield Chip(title[0].upper() + title[1:], self._chosen(spec, own[0]), url)

    def _chosen(self, spec: ListFilter, name: str) -> str:
        """What is chosen in a filter, as its choices name it."""
        choices: list[Any] = list(spec.choices(self))
        form: forms.Form | None = choices[0].get("form") if choices else None
        if form is None:
            return ", ".join(str(one["display"]) for one in choices if one["selected"])
        text, field = str(self.filter_params[name][-1]), form.fields.get(name)
        if isinstance(field, forms.ModelChoiceField):
            found = field.queryset.filter(pk=text).first() if field.queryset is not None else None
            return str(found or text)
        return chosen_words(field, text) if field else text
