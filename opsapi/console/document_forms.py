"""Forms that become request bodies of the API, with nested documents and rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from django import forms
from django.forms.utils import ErrorDict
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from unfold.widgets import CHECKBOX_CLASSES

from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.api.fields import Text
from opsapi.api.resources import Resource
from opsapi.console.document_inputs import ApiField, document_input, label_of
from opsapi.console.earlier import RevertingForm, RowInEvents
from opsapi.console.forms import CLEAR, DocumentInput, SecretInput, themed

ADD = "add"
"""The button that adds a row without JavaScript, and the parameter of a URL; its value is the array."""
REMOVED = "removed"
"""The checkbox that removes a row, for browsers without JavaScript."""
_TICKED = "on"
_BLANK = "__n__"
"""Placeholder for the number in the row template of the script."""
_ROW = re.compile(r"(\w{1,60})\[([0-9]{1,4})\]\.([A-Za-z.]{1,60})")
Inputs = dict[str, forms.Field]


@dataclass(frozen=True, slots=True)
class RowInput:
    """An input of a row.

    `clear` removes the stored value. `types`: the types of rows that have the input; empty means all.
    `boxes` show the input as checkboxes: the value, its words, and the types of rows that offer it.
    """

    field: forms.BoundField
    types: str = ""
    clear: forms.BoundField | None = None
    boxes: Sequence[tuple[str, str, str]] = ()

    @property
    def is_document(self) -> bool:
        """Whether it shows a document, which is wide and can have a preview."""
        return isinstance(self.field.field, DocumentInput)


@dataclass(frozen=True, slots=True)
class FormRow:
    """A document of an array. `faults` are errors of the row as a whole."""

    name: str
    label: str
    inputs: Sequence[RowInput]
    hidden: Sequence[forms.BoundField] = ()
    faults: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RowPart:
    """An array of documents: its rows, and an empty row for the script."""

    name: str
    label: str
    rows: Sequence[FormRow]
    blank: FormRow
    faults: Sequence[str]


class DocumentForm(RevertingForm):
    """A form that becomes a request body of the API, checked by its schema.

    Fields have the document's names. Texts of the document that the form does not declare get an input
    automatically. The form of a change shows the stored values, and clears values that the operator clears.

    `parts` names nested documents: their inputs are called `threshold.units`, as in the paths of refusals.
    `arrays` names arrays of documents, and how a document of the array is called. Each is a row: its inputs
    are called `matchers[0].value`. A button adds a row without saving anything. Empty rows are ignored. The
    form reads one row more than the document allows, so that the schema reports too many. `labels` and
    `help_texts` belong to inputs that the form does not declare, by name.
    """

    document: ClassVar[type[Document]]
    parts: ClassVar[Sequence[str]] = ()
    arrays: ClassVar[Mapping[str, str]] = {}
    labels: ClassVar[Mapping[str, str]] = {}
    help_texts: ClassVar[Mapping[str, str]] = {}
    checkbox_class: ClassVar[str] = " ".join(CHECKBOX_CLASSES)

    # --- inputs ----------------------------------------------------------------------------------------

    def add_inputs(self) -> None:
        """The texts, the parts and the rows of the document."""
        self.part_faults: dict[str, list[str]] = {}
        self._sent_rows: dict[str, list[str]] = {}
        self._shown_rows: dict[str, list[str]] = {}
        self.fields.update(self.inputs())
        for part in self.parts:
            self._add(part, self.inputs_of(self._written[part]), self.initial.get(part) or {})
        for part in self.arrays:
            self._add_rows(part)

    def inputs(self) -> Inputs:
        """The inputs that the class does not declare: by default, the inputs of texts."""
        texts = ((name, field) for name, field in self._written.items() if isinstance(field, Text))
        return {name: self._text_input(name, field) for name, field in texts if name not in self.fields}

    def declared(self) -> Document:
        """The document whose fields the form shows."""
        return self.document()

    @cached_property
    def _written(self) -> Mapping[str, Any]:
        """The declared fields of the document: a change does not make them optional."""
        serializer = self.declared()
        return {
            name: serializer._declared_fields[name]
            for name, field in serializer.fields.items()
            if not field.read_only
        }

    def _text_input(self, name: str, field: Text) -> forms.Field:
        options: dict[str, Any] = {"strip": True, "empty_value": "", "required": field.required}
        options |= {"help_text": field.help_text or ""}
        text = self.input_of(name, field, **options)
        if field.single_line:
            text.widget.attrs["maxlength"] = field.bounds[1]
        return text

    def input_of(self, name: str, field: ApiField, **options: Any) -> forms.Field:
        """The input of a field of the document, or of a nested document."""
        options.setdefault("label", self.labels.get(name, label_of(name)))
        options.setdefault("help_text", self.help_texts.get(name, ""))
        return document_input(name, field, **options)

    def inputs_of(self, document: Document) -> Inputs:
        """The inputs of a nested document."""
        fields = document.fields.items()
        return {name: self.input_of(name, field) for name, field in fields if not field.read_only}

    def row_inputs(self, part: str, row: str) -> Inputs:
        """The inputs of a row. `row` is its name, or empty for a new row."""
        return self.inputs_of(self._written[part].child)

    def _add(self, path: str, inputs: Inputs, stored: Mapping[str, Any] | None = None) -> None:
        self.fields.update({f"{path}.{name}": field for name, field in inputs.items()})
        if stored is not None:
            # A stored document without a value does not show the initial value of a new document.
            self.initial.update({f"{path}.{name}": stored.get(name) for name in inputs})

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> Any:
        """The stored or default value; nothing for a secret."""
        return None if isinstance(field, SecretInput) else super().get_initial_for_field(field, field_name)

    def input_text(self, name: str) -> Any:
        """The text of an input, or the stored value before anything was sent."""
        return self.data.get(name) if self.is_bound else self.initial.get(name)

    @property
    def media(self) -> forms.Media:
        """The scripts and the styles of inputs, and of rows."""
        if not self.arrays:
            return super().media
        script: Any = forms.Script("console/form-rows.js", defer=True)
        return super().media + forms.Media(css={"all": ["console/form-rows.css"]}, js=[script])

    # --- reverting -------------------------------------------------------------------------------------

    def row_in_events(self) -> RowInEvents:
        """In its project, if it has one."""
        return replace(super().row_in_events(), group_id=getattr(self.row, "group_id", None))

    def label_in_events(self, name: str) -> str:
        """The label of a field of the document."""
        return self.labels.get(name) or super().label_in_events(name)

    def input_names(self) -> Collection[str]:
        """Also the parts and the arrays."""
        return {*super().input_names(), *self.parts, *self.arrays}

    # --- rows ------------------------------------------------------------------------------------------

    def _add_rows(self, part: str) -> None:
        """Add the inputs of the rows that were sent or are stored, and of an empty row if needed."""
        stored = [] if self.is_bound else list(self.initial.get(part) or ())
        blank = self.row_inputs(part, "")
        sent = self._number_rows(part, blank) if self.is_bound else len(stored)
        asks_for_row = self.input_text(ADD) == part and sent < self._most_rows(part)
        if asks_for_row and not self.is_bound:
            next(iter(blank.values())).widget.attrs["autofocus"] = True
        count = max(sent + asks_for_row, int(self._written[part].required))
        names = [f"{part}[{place}]" for place in range(count)]
        self._shown_rows[part], self._sent_rows[part] = names, names[:sent]
        for place, row in enumerate(names):
            values = stored[place] if place < len(stored) else None
            self.initial.update({f"{row}.{name}": value for name, value in (values or {}).items()})
            self._add(row, self.row_inputs(part, row) if place < sent else dict(blank), values)
        if isinstance(self.data, MultiValueDict):
            ticked = {name for name, field in blank.items() if field.initial is True}
            self.data.update({f"{row}.{name}": _TICKED for row in names[sent:] for name in ticked})

    def _most_rows(self, part: str) -> int:
        return int(self._written[part].longest) + 1

    def _number_rows(self, part: str, blank: Inputs) -> int:
        """Number the rows that were sent from 0 without gaps, as in the API, and return their number."""
        boxes = {name for name, field in blank.items() if isinstance(field, forms.BooleanField)}
        rest: dict[str, list[str]] = {}
        rows: dict[int, dict[str, list[str]]] = {}
        sent: Any = self.data
        for name, texts in sent.lists():
            place = _ROW.fullmatch(name)
            if place and place[1] == part:
                rows.setdefault(int(place[2]), {})[place[3]] = texts
            else:
                rest[name] = texts
        # Some checkboxes are ticked initially, so they do not fill a row.
        filled = (
            row
            for _, row in sorted(rows.items())
            if not row.get(REMOVED) and any(any(texts) for name, texts in row.items() if name not in boxes)
        )
        kept = list(islice(filled, self._most_rows(part)))
        for number, row in enumerate(kept):
            rest |= {f"{part}[{number}].{name}": texts for name, texts in row.items()}
        self.data = MultiValueDict(rest)
        return len(kept)

    def has_rows(self, part: str) -> bool:
        """Whether there are rows that are not empty."""
        return bool(self._sent_rows[part])

    def row_part(self, part: str) -> RowPart:
        """An array of documents, with its rows."""
        blank, name = forms.Form(), f"{part}[{_BLANK}]"
        blank.fields = {
            f"{name}.{inner}": themed(field) for inner, field in self.row_inputs(part, "").items()
        }
        return RowPart(
            part,
            self.arrays[part],
            [self.shown_row(self, part, row) for row in self._shown_rows[part]],
            self.shown_row(blank, part, name),
            self.part_faults.get(part, ()),
        )

    def shown_row(self, form: forms.BaseForm, part: str, row: str) -> FormRow:
        """A row of the page; `form` has its inputs."""
        names = [name for name in form.fields if name.startswith(f"{row}.") and not name.endswith(CLEAR)]
        inputs = [self.shown_input(form, row, name.removeprefix(f"{row}.")) for name in names]
        return FormRow(
            row,
            self.arrays[part],
            [row_input for row_input in inputs if not row_input.field.is_hidden],
            [row_input.field for row_input in inputs if row_input.field.is_hidden],
            self.part_faults.get(row, ()),
        )

    def shown_input(self, form: forms.BaseForm, row: str, name: str) -> RowInput:
        """An input of a row."""
        path = f"{row}.{name}"
        return RowInput(form[path], clear=form[path + CLEAR] if path + CLEAR in form.fields else None)

    @property
    def is_unchecked(self) -> bool:
        """Whether the form was sent only to be shown again, such as with another row."""
        return self.is_bound and self.data.get(ADD) in self.arrays

    def full_clean(self) -> None:
        """Check nothing if the form is only to be shown again."""
        if self.is_unchecked:
            self._errors, self.cleaned_data = ErrorDict(), {}
        else:
            super().full_clean()

    def is_valid(self) -> bool:
        """Not valid while the form is only to be shown again, so that nothing is saved."""
        return not self.is_unchecked and super().is_valid()

    # --- result ----------------------------------------------------------------------------------------

    def stored(self) -> Mapping[str, Any]:
        """The stored values of the row, if any."""
        if self.row is None:
            return {}
        sources = ((name, field.source or name) for name, field in self._written.items())
        return {name: getattr(self.row, source, None) for name, source in sources}

    def body(self) -> Mapping[str, Any]:
        """The request body of an API client: by default, every field that is not empty."""
        body = {name: value for name, value in self.typed("").items() if name in self._written}
        parts = {part: self.typed(f"{part}.") for part in self.parts}
        rows = {part: [self.row_body(part, row) for row in self._sent_rows[part]] for part in self.arrays}
        # Only a change says that there are no rows.
        sent = {part: documents for part, documents in rows.items() if documents or self.document.is_change}
        return {**body, **{part: values for part, values in parts.items() if values}, **sent}

    def row_body(self, part: str, row: str) -> Mapping[str, Any]:
        """The document of a row."""
        return self.typed(f"{row}.")

    def typed(self, prefix: str) -> dict[str, Any]:
        """The values of the document whose inputs have a prefix, without empty values.

        A secret that was left blank has its stored value in redacted form, unless it is to be removed.
        """
        values: dict[str, Any] = {}
        for name, value in self.cleaned_data.items():
            field = self.fields[name]
            if isinstance(field, SecretInput) and not value and not self.cleaned_data.get(name + CLEAR):
                values[name] = field.stored
            elif value is not None and value != "":
                values[name] = value
        return {
            name.removeprefix(prefix): value
            for name, value in values.items()
            if name.startswith(prefix) and value is not None and not name.endswith(CLEAR)
        }

    def document_context(self) -> Mapping[str, Any]:
        """The context of the validation, as in the API view (`stored`, …)."""
        if self.row is None or not self.document.is_change or not issubclass(self.document, Resource):
            return {}
        return {"stored": self.document.stored(self.row)}

    def clean(self) -> dict[str, Any]:
        """Validate the form with the schema of the document."""
        # A page of another build sends an array as one text: without its rows, the array would be lost.
        if any(part in self.data for part in self.arrays):
            self.add_error(None, "This page is from another version of Ops API. Load the page again.")
        if not self.errors:
            try:
                self._values = self.read()
            except ApiError as refusal:
                self.add_refusal(refusal)
        return self.cleaned_data

    def read(self) -> Mapping[str, Any]:
        """The input, read by the document.

        Raises:
            ApiError: with every wrong field.
        """
        return self.document(context=dict(self.document_context())).read(self.body())

    @property
    def values(self) -> Mapping[str, Any]:
        """The values of the document, as the API view passes them to the service."""
        return {**self._emptied(), **self._values}

    def _emptied(self) -> Mapping[str, None]:
        """Columns of texts that a change has emptied, which the API cannot express."""
        if not self.document.is_change:
            return {}
        texts = {name: field for name, field in self._written.items() if isinstance(field, Text)}
        return {
            field.source or name: None
            for name, field in texts.items()
            if not field.required and self.cleaned_data.get(name) == ""
        }

    def fault_places(self) -> Collection[str]:
        """The names of the fields, the parts, the arrays and their rows."""
        rows = (row for rows in self._shown_rows.values() for row in rows)
        return {*super().fault_places(), *self.parts, *self.arrays, *rows}

    def add_fault(self, name: str | None, sentence: str) -> None:
        """Show a fault of a part or row at its place, and above the form."""
        if name is None or name in self.fields:
            super().add_fault(name, sentence)
        else:
            self.part_faults.setdefault(name, []).append(sentence)
            self.add_error(None, f"{self.place_of(name)}: {sentence}")

    def place_of(self, name: str) -> str:
        """The name of a part or row in a sentence, such as `Notifications 2` for `notifications[1]`."""
        part, _, place = name.removesuffix("]").partition("[")
        return f"{label_of(part)} {int(place) + 1}" if place else label_of(part)
