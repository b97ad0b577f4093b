"""The values of settings, which are equal as texts if a server takes them for equal."""

import json
from typing import Any

from automation.desired_state.document.text import read
from automation.plan.setting_values import setting_value
from tests.each import each

NAME = "storage.wiredTiger.engineConfig.cacheSizeGB"


@each(
    "first, second", [(1, 1.0), (0.25, 0.250), (100, 1e2), (0, -0.0), ({"a": 1, "b": 2}, {"b": 2.0, "a": 1})]
)
def test_equal_values_have_the_same_text(first: Any, second: Any) -> None:
    assert setting_value(NAME, first) == setting_value(NAME, second)


@each("first, second", [(1, True), (1, "1"), (0, False), (10, 1), (1, -1), ("a", "b"), ([1, 2], [2, 1])])
def test_different_values_have_different_texts(first: Any, second: Any) -> None:
    assert setting_value(NAME, first) != setting_value(NAME, second)


@each("first, second", [(1, "1"), (True, "true"), (1.0, "1")])
def test_a_parameter_is_compared_as_the_server_reads_it(first: Any, second: Any) -> None:
    name = "setParameter.ttlMonitorEnabled"
    assert setting_value(name, first) == setting_value(name, second)


@each("text", ["0.5", "1E+2", "123456789012345678901234567890", "-0", "1.50"])
def test_a_number_of_a_document_has_the_text_of_the_same_number_of_a_server(text: str) -> None:
    of_document = read(f'{{"value": {text}}}')["value"]
    assert setting_value(NAME, of_document) == setting_value(NAME, json.loads(text))
