"""Lists of measured values: what is plain is read at once, with the result of reading each as a document."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automation.metrics import Metric
from automation.reports.resource import ReportDocument, SampleList
from automation.reports.rules import Samples
from opsapi.api.errors import ApiError
from tests.hostile.budget import tries

NOW = datetime(2099, 11, 21, 12, 0, 30, 700_000, UTC)
TIMES = ["2099-11-21T12:00:00Z", "2099-11-21T13:00:00+01:00", "2099-11-21T11:30:00"]
NUMBERS: Any = st.one_of(
    st.floats(), st.integers(), st.sampled_from([10**400, True, None, "5", [], 2**53 + 1, -0.0])
)
VALUES: Any = st.fixed_dictionaries(
    {},
    optional={
        "metricName": st.sampled_from(["CONNECTIONS", "MEMORY_RESIDENT", "connections", "", None, 1, []]),
        "number": NUMBERS,
        "timestamp": st.sampled_from([*TIMES, "2099-11-21T09:00:00Z", "2099-11-21", None, 1, []]),
        "units": st.sampled_from(["BYTES", "KILOBYTES", "RAW", "FURLONGS", None]),
        "else": st.just(1),
    },
)
PLAIN: Any = st.fixed_dictionaries(
    {"metricName": st.sampled_from([metric.value for metric in Metric]), "number": st.floats(-1e300, 1e300)},
    optional={"timestamp": st.sampled_from(TIMES)},
)


def read(values: Any) -> Any:
    """What a report says of a host on which this was measured: samples, or what is wrong with them."""
    host = {"hostname": "db1", "port": 1, "typeName": "STANDALONE", "reachable": True, "measurements": values}
    body = {"agentType": "MONITORING", "hostname": "a", "version": "1", "hosts": [host]}
    try:
        hosts = ReportDocument(context={"now": NOW}).read(body)["hosts"]
    except ApiError as error:
        return [(field.field, field.code, field.message, field.allowed) for field in error.bad_fields]
    return hosts[0].get("samples")


def read_each(values: Any) -> Any:
    """The same, each value read as a document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SampleList, "_plain_samples", lambda *_: None)
        return read(values)


@tries(50)
@given(st.lists(VALUES, max_size=3) | st.sampled_from([None, {}, "", [None], [[]], [1]]))
def test_any_list_is_read_or_refused_as_its_documents_are(values: Any) -> None:
    assert read(values) == read_each(values)


@tries(50)
@given(st.lists(PLAIN, min_size=1, max_size=30))
def test_plain_values_are_read_as_documents_are(values: Any) -> None:
    samples: Samples = read(values)
    assert samples == read_each(values)
    assert sum(map(len, samples.values())) == len(values)


def test_too_long_a_list_is_refused() -> None:
    value = {"metricName": "CONNECTIONS", "number": 1.0}
    assert isinstance(read([value] * 10_000), dict)
    ((field, *_),) = read([value] * 10_001)
    assert field == "hosts[0].measurements"
