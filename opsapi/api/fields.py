"""Fields of documents. Each accepts exactly one JSON type and describes the faults of a value."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from math import inf, isfinite
from string import whitespace
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from rest_framework import serializers

from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import A_TIME, AN_ID, InvalidField, invalid
from opsapi.api.errors import MOST_FAULTS, BadField, must_be_one_of
from opsapi.hostnames import LONGEST_NAME, canonical_hostname
from opsapi.ids import ID_PATTERN, is_id
from opsapi.redaction import redact_urls
from opsapi.wire_json import SEVERAL_LINES_TEXT, UNKEPT_TEXT, is_kept, is_single_line

MAX_INTEGER = 2_147_483_647
_MARGINS = f"{whitespace}\u00a0\u200b\u200c\u200d\u2060\ufeff"
_TELEPHONE = re.compile(r"\+?[0-9 ().-]+")


class WithExample:
    """A field of DRF with an `example` for the OpenAPI document."""

    def __init__(self, *args: Any, example: Any = None, **options: Any) -> None:
        self.example = example
        super().__init__(*args, **options)


class ShownText(WithExample, serializers.CharField):
    """A string in responses; it is not checked."""


class ShownNumber(WithExample, serializers.IntegerField):
    """An integer in responses."""


class ShownFloat(WithExample, serializers.FloatField):
    """A number in responses."""


class ShownFlag(WithExample, serializers.BooleanField):
    """A boolean in responses."""


class ShownChoice(WithExample, serializers.ChoiceField):
    """A string of a closed set, in responses."""


class ShownList(WithExample, serializers.ListField):
    """An array in responses."""


class ShownMap(WithExample, serializers.DictField):
    """An object with any names, in responses."""


class ShownId(ShownText):
    """An identifier in responses."""

    def __init__(self, *, example: str = AN_ID, **options: Any) -> None:
        super().__init__(example=example, **options)


class ShownTime(WithExample, serializers.DateTimeField):
    """A time in responses."""

    def __init__(self, *, example: str = A_TIME, **options: Any) -> None:
        super().__init__(example=example, **options)


class Text(WithExample, serializers.CharField):
    """A string of min_length to max_length characters. `single_line` refuses control characters."""

    def __init__(
        self, *, min_length: int = 1, max_length: int = 1000, single_line: bool = True, **options: Any
    ) -> None:
        self.single_line = single_line
        self.bounds = (min_length, max_length)
        super().__init__(min_length=min_length, max_length=max_length, trim_whitespace=False, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        minimum, maximum = self.bounds
        if not isinstance(data, str):
            raise invalid("must be a string")
        if not minimum <= len(data) <= maximum:
            raise invalid(f"must have {minimum} to {maximum} characters")
        if self.single_line and not is_single_line(data):
            raise invalid(SEVERAL_LINES_TEXT)
        if not is_kept(data):
            raise invalid(UNKEPT_TEXT)
        return data


class RedactedText(Text):
    """A text that is stored without the user info and the queries of URLs in it."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        """Return the text. A mask can be longer than its secret, so the text is cut to its maximum."""
        _, maximum = self.bounds
        return redact_urls(super().run_validation(data))[:maximum]


class VisibleText(Text):
    """A name or a description: a text with at least one visible character.

    Spaces and characters without width, such as zero-width spaces and bidi controls, are not visible.
    """

    def run_validation(self, data: Any = serializers.empty) -> str:
        """Return the string with its leading and trailing spaces."""
        text = super().run_validation(data)
        if text and all(char.isspace() or unicodedata.category(char) == "Cf" for char in text):
            raise invalid("must not be blank")
        return text


class PathName(VisibleText):
    """A name that can be part of a path."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        return path_name(super().run_validation(data))


def path_name(name: str) -> str:
    """Refuse names that clients remove from a path (RFC 3986, 5.2.4), also with percent-encoded dots."""
    if name in {".", ".."}:
        raise invalid('must not be "." or ".."')
    return name


class Whole(WithExample, serializers.IntegerField):
    """A JSON integer in a range; `5.0` and `true` are not integers."""

    def __init__(
        self,
        *,
        min_value: int = 0,
        max_value: int = MAX_INTEGER,
        range_code: ErrorCode = ErrorCode.INVALID_ATTRIBUTE,
        **options: Any,
    ) -> None:
        self.range_code = range_code
        self.bounds = (min_value, max_value)
        super().__init__(min_value=min_value, max_value=max_value, **options)

    def run_validation(self, data: Any = serializers.empty) -> int:
        minimum, maximum = self.bounds
        if not isinstance(data, int) or isinstance(data, bool):
            raise invalid("must be an integer")
        if not minimum <= data <= maximum:
            raise invalid(f"must be from {minimum} to {maximum}", self.range_code)
        return data


class Number(WithExample, serializers.FloatField):
    """A JSON number: finite and in the range of a double."""

    def run_validation(self, data: Any = serializers.empty) -> float:
        if not isinstance(data, (int, float)) or isinstance(data, bool):
            raise invalid("must be a number")
        try:
            number = float(data)
        except OverflowError:
            number = inf
        if not isfinite(number):
            raise invalid("must be between -1.8e308 and 1.8e308")
        return number


class Flag(WithExample, serializers.BooleanField):
    """`true` or `false`."""

    def run_validation(self, data: Any = serializers.empty) -> bool:
        if not isinstance(data, bool):
            raise invalid("must be true or false")
        return data


class Option(Flag):
    """`true` or `false`; a form sends it only if it is ticked, because something else can be the default."""


class OneOf(WithExample, serializers.ChoiceField):
    """One of a closed set of strings. `labels` are names of values in the console, by value."""

    def __init__(
        self,
        allowed: Sequence[str],
        *,
        code: ErrorCode = ErrorCode.INVALID_ENUM_VALUE,
        labels: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.code = code
        self.allowed = [str(value) for value in allowed]
        self.labels = labels or {}
        super().__init__(choices=self.allowed, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        if not isinstance(data, str):
            raise invalid("must be a string", allowed=self.allowed)
        if data not in self.allowed:
            raise invalid(must_be_one_of(self.allowed), self.code, self.allowed)
        return data

    @property
    def labelled(self) -> list[tuple[str, str]]:
        """Each value with its label; the value itself without a label."""
        return [(value, self.labels.get(value, value)) for value in self.allowed]


class DateTime(WithExample, serializers.DateTimeField):
    """An ISO 8601 date-time. Without a zone it is UTC; fractions of a second are cut."""

    def __init__(self, *, missing_code: ErrorCode = ErrorCode.MISSING_ATTRIBUTE, **options: Any) -> None:
        self.missing_code = missing_code
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> datetime:
        if not isinstance(data, str):
            raise invalid("must be a string")
        try:
            return clock.parse_time(data)
        except ValueError:
            raise invalid("must be an ISO 8601 date-time, such as 2026-11-21T07:26:14Z") from None


class Identifier(WithExample, serializers.RegexField):
    """An identifier: 24 lower-case hex characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(ID_PATTERN, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        if not isinstance(data, str):
            raise invalid("must be a string")
        if not is_id(data):
            raise invalid("must be 24 lower-case hex characters")
        return data


class EmailAddress(Text):
    """An e-mail address."""

    code = ErrorCode.INVALID_EMAIL_ADDRESS

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=254, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(data)
        try:
            validate_email(text)
        except ValidationError:
            raise invalid("is not an e-mail address", self.code) from None
        return text


class MobileNumber(Text):
    """A telephone number: 5 to 15 digits (E.164), optionally after a `+`. Stored as it was sent.

    Between digits there can be spaces, hyphens, dots and parentheses.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=40, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(data)
        digits = sum(char in "0123456789" for char in text)
        if not _TELEPHONE.fullmatch(text) or not 5 <= digits <= 15:
            raise invalid("must be a telephone number of 5 to 15 digits, such as +12025550100")
        return text


def without_margins(data: Any) -> Any:
    """Return a text without spaces, line breaks and invisible characters at its beginning and end."""
    return data.strip(_MARGINS) if isinstance(data, str) else data


class Copied(Text):
    """A key, a token or a similar value that users copy from a service: one word, and not a URL.

    Spaces around the value are removed. `what` names the value in the error about a URL.
    """

    def __init__(self, *, what: str = "key", **options: Any) -> None:
        self.what = what
        super().__init__(**options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(without_margins(data))
        if any(char.isspace() for char in text):
            raise invalid("must not contain spaces")
        if "://" in text:
            raise invalid(f"must not be a URL: copy only the {self.what}")
        return text


class Secret(Text):
    """A secret that users choose and copy. Spaces around it are removed."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        return super().run_validation(without_margins(data))


class WebUrl(Text):
    """An http or https URL without user information. Spaces around it are removed."""

    def __init__(self, *, max_length: int = 2000, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(without_margins(data))
        if " " in text:
            raise invalid("must not contain spaces")
        fault = url_fault(text)
        if fault:
            raise invalid(fault)
        return text


def url_fault(text: str) -> str | None:
    """Return why the text is not an http or https URL that the platform can call; None if it is."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in {"http", "https"}:
        return "must be an http or https URL"
    if parts.username is not None or parts.password is not None:
        return "must not contain a username or password"
    if not parts.hostname or port == 0 or not text.isascii() or " " in text or "\\" in text:
        return "is not a URL"
    # Names of services in private networks often contain an underscore.
    if canonical_hostname(parts.hostname.replace("_", "-")) is None:
        return "must have a host name (RFC 1123) or an IP address"
    return None


class Hostname(Text):
    """A host name (RFC 1123) or an IP address, in the stored form."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_NAME, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        name = canonical_hostname(super().run_validation(data))
        if name is None:
            raise invalid("must be a host name (RFC 1123) or an IP address")
        return name


class ListOf(WithExample, serializers.ListField):
    """An array. `missing_code` is the error for an empty or absent array that is required.

    `unique` refuses repeated items. An empty array means the same as an absent field. With `clearable` it
    empties the field: in a PATCH, an absent field stays unchanged.
    """

    def __init__(
        self,
        child: Any,
        *,
        max_length: int = 1000,
        unique: bool = False,
        clearable: bool = False,
        missing_code: ErrorCode = ErrorCode.MISSING_ATTRIBUTE,
        **options: Any,
    ) -> None:
        self.missing_code = missing_code
        self.unique = unique
        self.clearable = clearable
        self.longest = max_length
        super().__init__(child=child, max_length=max_length, **options)

    def run_validation(self, data: Any = serializers.empty) -> list[Any]:
        """Check each item, and return the items. All wrong items are named."""
        if not isinstance(data, list):
            raise invalid("must be an array")
        if len(data) > self.longest:
            raise invalid(f"must have at most {self.longest} items")
        values: list[Any] = []
        bad: list[BadField] = []
        for place, item in enumerate(data):
            if len(bad) >= MOST_FAULTS:
                break
            try:
                values.append(self.child.run_validation(item))
            except InvalidField as error:
                bad.extend(fault.below(f"[{place}]") for fault in error.bad_fields)
        if self.unique and not bad:
            bad.extend(islice(_repeated(values), MOST_FAULTS))
        if bad:
            raise InvalidField(*bad)
        return values


def _repeated(values: Sequence[Any]) -> Iterator[BadField]:
    seen = set()
    for place, value in enumerate(values):
        if value in seen:
            yield BadField(f"[{place}]", ErrorCode.INVALID_ATTRIBUTE, "is given twice")
        seen.add(value)
