"""Values as the API takes them, for forms of the console."""

from django.core.exceptions import ValidationError

from opsapi.api.documents import InvalidField
from opsapi.api.fields import Text

_single_line = Text(max_length=1000)


def single_line(value: str) -> None:
    """Validate a text as the API does: no control characters.

    Raises:
        ValidationError: of Django's forms.
    """
    try:
        _single_line.run_validation(value)
    except InvalidField:
        raise ValidationError("This must not hold control characters.") from None
