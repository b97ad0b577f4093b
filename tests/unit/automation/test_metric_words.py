"""Metrics in words."""

from automation.metric_words import metric_words
from automation.metrics import Metric


def test_every_metric_has_words_of_its_own() -> None:
    words = [metric_words(metric) for metric in Metric]
    assert len(set(words)) == len(words)
    assert all(text[0].isupper() and "_" not in text for text in words)
