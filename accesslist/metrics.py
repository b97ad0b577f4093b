"""Metrics of identity and access."""

from enum import StrEnum

from opsapi.metric_series import counter


class FailedAuthentication(StrEnum):
    """Reasons of a refusal. They never reveal the caller, or whether the caller exists."""

    MALFORMED = "malformed"
    WRONG_CREDENTIALS = "wrong_credentials"
    OTHER_URI = "other_uri"
    """The credentials are correct for a different path, because a proxy rewrites paths."""
    SCRAPER_CREDENTIALS = "scraper_credentials"
    CONSOLE_CREDENTIALS = "console_credentials"
    SECOND_FACTOR = "second_factor"
    REFUSED_ADDRESS = "refused_address"
    THROTTLED = "throttled"


_FAILURES = counter(
    "opsapi_failed_authentications",
    "Rejected credentials, by reason; requests without credentials are not counted.",
    "reason",
)


def count_failure(reason: FailedAuthentication) -> None:
    """Count a refusal."""
    _FAILURES.labels(reason.value).inc()
