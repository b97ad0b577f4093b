"""Matchers: every operator on every field, absent facts, and patterns nobody should write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.configs.matchers import (
    CONFIG_FIELDS,
    LABEL_SETS_AT_ONCE,
    Matcher,
    MatcherField,
    MatcherOperator,
    MatchSubject,
    can_hold,
    compared_in_steps,
    fields_for,
    matches,
    window_fields_for,
)
from alerting.configs.patterns import MAX_REGEX_LENGTH, compile_regex
from events.types import Category
from tests.each import each

HOST = MatchSubject(
    hostname="DB1.Example.com",
    port=27017,
    type_name="REPLICA_PRIMARY",
    replica_set_name="rs0",
    shard_name="shard0",
    cluster_name="Orders",
)


def holds(field: str, operator: str, value: str, subject: MatchSubject = HOST) -> bool:
    """Say whether one matcher holds."""
    matcher = Matcher(MatcherField(field), MatcherOperator(operator), value)
    return matches([matcher], subject)


@each(
    ("operator", "value", "expected"),
    [
        ("EQUALS", "Orders", True),
        ("EQUALS", "Order", False),
        ("EQUALS", "orders", False),
        ("NOT_EQUALS", "Orders", False),
        ("NOT_EQUALS", "orders", True),
        ("CONTAINS", "rder", True),
        ("CONTAINS", "RDER", False),
        ("NOT_CONTAINS", "rder", False),
        ("NOT_CONTAINS", "RDER", True),
        ("STARTS_WITH", "Ord", True),
        ("STARTS_WITH", "rd", False),
        ("ENDS_WITH", "ers", True),
        ("ENDS_WITH", "er", False),
        ("REGEX", "rd", True),
        ("REGEX", "^rd", False),
        ("REGEX", "^Ord.rs$", True),
        ("REGEX", "(?i)^ORD", True),
        ("REGEX", "ORD", False),
    ],
)
def test_it_compares_by_operator(operator: str, value: str, expected: bool) -> None:
    assert holds("CLUSTER_NAME", operator, value) is expected


@each(
    ("field", "operator", "value", "expected"),
    [
        ("HOSTNAME", "EQUALS", "db1.example.COM", True),
        ("HOSTNAME", "NOT_EQUALS", "db1.example.COM", False),
        ("HOSTNAME", "CONTAINS", "EXAMPLE", True),
        ("HOSTNAME", "STARTS_WITH", "db1", True),
        ("HOSTNAME", "REGEX", r"^db\d\.EXAMPLE", True),
        ("PORT", "EQUALS", "27017", True),
        ("PORT", "EQUALS", "027017", False),
        ("PORT", "STARTS_WITH", "270", True),
        ("HOSTNAME_AND_PORT", "EQUALS", "db1.example.com:27017", True),
        ("HOSTNAME_AND_PORT", "ENDS_WITH", "COM:27017", True),
        ("HOSTNAME_AND_PORT", "REGEX", "^DB1.*:27017$", True),
        ("REPLICA_SET_NAME", "EQUALS", "rs0", True),
        ("REPLICA_SET_NAME", "EQUALS", "RS0", False),
        ("SHARD_NAME", "EQUALS", "shard0", True),
        ("TYPE_NAME", "EQUALS", "PRIMARY", True),
        ("TYPE_NAME", "EQUALS", "REPLICA_PRIMARY", False),
    ],
)
def test_it_reads_the_fact_the_field_names(field: str, operator: str, value: str, expected: bool) -> None:
    assert holds(field, operator, value) is expected


@each(
    ("type_name", "expected"),
    [
        ("STANDALONE", "STANDALONE"),
        ("REPLICA_PRIMARY", "PRIMARY"),
        ("REPLICA_SECONDARY", "SECONDARY"),
        ("REPLICA_ARBITER", "ARBITER"),
        ("RECOVERING", "RECOVERING"),
        ("SHARD_MONGOS", "MONGOS"),
        ("SHARD_CONFIG", "CONFIG"),
        ("SHARD_STANDALONE", "STANDALONE"),
        ("SHARD_PRIMARY", "PRIMARY"),
        ("SHARD_SECONDARY", "SECONDARY"),
        ("NO_DATA", "NO_DATA"),
    ],
)
def test_a_type_name_is_compared_without_its_prefix(type_name: str, expected: str) -> None:
    assert holds("TYPE_NAME", "EQUALS", expected, MatchSubject(type_name=type_name))


@each("field", CONFIG_FIELDS)
@each(
    ("operator", "value", "expected"),
    [
        ("EQUALS", "a", False),
        ("NOT_EQUALS", "a", True),
        ("CONTAINS", "a", False),
        ("NOT_CONTAINS", "a", True),
        ("STARTS_WITH", "a", False),
        ("ENDS_WITH", "a", False),
        ("REGEX", "a", False),
        ("REGEX", "^$", True),
    ],
)
def test_an_absent_fact_is_the_empty_string(field: str, operator: str, value: str, expected: bool) -> None:
    assert holds(field, operator, value, MatchSubject()) is expected


PRODUCTION = ("env=production", "region=eu-west")
STAGING = ("env=staging", "region=eu-west")


@each(
    ("operator", "value", "of_production", "of_no_labels"),
    [
        ("EQUALS", "env=production", True, False),
        ("EQUALS", "region=eu-west", True, False),
        ("EQUALS", "env=Production", False, False),
        ("EQUALS", "env=production, region=eu-west", False, False),
        ("NOT_EQUALS", "env=production", False, True),
        ("NOT_EQUALS", "env=staging", True, True),
        ("CONTAINS", "eu", True, False),
        ("NOT_CONTAINS", "eu", False, True),
        ("NOT_CONTAINS", "us", True, True),
        ("STARTS_WITH", "region=eu", True, False),
        ("STARTS_WITH", "eu", False, False),
        ("ENDS_WITH", "=production", True, False),
        ("REGEX", "^(env|stage)=prod", True, False),
        ("REGEX", "^$", False, False),
    ],
)
def test_a_label_is_compared_with_each_label_of_a_host(
    operator: str, value: str, of_production: bool, of_no_labels: bool
) -> None:
    assert holds("LABEL", operator, value, MatchSubject(labels=(PRODUCTION,))) is of_production
    assert holds("LABEL", operator, value, MatchSubject(labels=((),))) is of_no_labels


@each(
    ("labels", "is_production", "is_not_production"),
    [
        ((PRODUCTION,), True, False),
        ((PRODUCTION, STAGING), False, False),
        ((PRODUCTION, ()), False, False),
        ((STAGING, ()), False, True),
        ((), False, False),
    ],
    ids=str,
)
def test_several_hosts_match_a_label_if_each_of_them_does(
    labels: tuple[tuple[str, ...], ...], is_production: bool, is_not_production: bool
) -> None:
    subject = MatchSubject(labels=labels)
    assert holds("LABEL", "EQUALS", "env=production", subject) is is_production
    assert holds("LABEL", "NOT_EQUALS", "env=production", subject) is is_not_production


@each(
    ("operator", "value", "expected"),
    [
        ("EQUALS", "env=production", True),
        ("EQUALS", "url=a=b", True),
        ("EQUALS", "production", False),
        ("EQUALS", "env=", False),
        ("EQUALS", "1env=production", False),
        ("EQUALS", "group_id=a", False),
        ("NOT_EQUALS", "production", False),
        ("CONTAINS", "production", True),
        ("NOT_CONTAINS", "production", True),
        ("REGEX", "production", True),
    ],
)
def test_only_a_label_can_equal_a_label(operator: str, value: str, expected: bool) -> None:
    assert can_hold(Matcher(MatcherField.LABEL, MatcherOperator(operator), value)) is expected


@each(("value", "expected"), [("[2001:DB8::1]:27017", True), ("2001:db8::1:27017", False)])
def test_an_ipv6_address_with_a_port_is_compared_in_brackets(value: str, expected: bool) -> None:
    subject = MatchSubject(hostname="2001:db8::1", port=27017)
    assert holds("HOSTNAME_AND_PORT", "EQUALS", value, subject) is expected


@each("subject", [MatchSubject(hostname="db1"), MatchSubject(port=27017)])
def test_hostname_and_port_is_absent_when_one_of_them_is(subject: MatchSubject) -> None:
    assert holds("HOSTNAME_AND_PORT", "REGEX", "^$", subject)


def test_every_matcher_must_match() -> None:
    right = Matcher(MatcherField.PORT, MatcherOperator.EQUALS, "27017")
    wrong = Matcher(MatcherField.PORT, MatcherOperator.EQUALS, "27018")
    assert not matches([right, wrong], HOST)
    assert matches([right, right], HOST)


def test_no_matchers_mean_every_subject() -> None:
    assert matches([], MatchSubject())


@each(
    ("category", "names"),
    [
        (Category.HOST, "HOSTNAME PORT HOSTNAME_AND_PORT REPLICA_SET_NAME TYPE_NAME"),
        (Category.REPLICA_SET, "REPLICA_SET_NAME SHARD_NAME CLUSTER_NAME"),
        (Category.CLUSTER, "CLUSTER_NAME SHARD_NAME"),
        (Category.AGENT, ""),
        (Category.GROUP, ""),
    ],
)
def test_it_knows_the_fields_of_a_category(category: Category, names: str) -> None:
    assert list(fields_for(category)) == names.split()
    assert list(window_fields_for(category)) == (f"{names} LABEL".split() if names else [])


@each(
    ("pattern", "message"),
    [
        ("(", "not a valid regular expression: missing ): ("),
        ("(?=a)", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a{1001}", "invalid repetition size"),
        (r"\pL{1000}", "too large"),
        ("\ud800", "not Unicode text"),
        ("a" * (MAX_REGEX_LENGTH + 1), "longer than 1000 characters"),
    ],
)
def test_it_refuses_a_pattern_and_says_why(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^(not|longer)") as caught:
        compile_regex(pattern)
    assert message in str(caught.value)


def test_it_compiles_the_longest_pattern() -> None:
    assert compile_regex("a" * MAX_REGEX_LENGTH).search("a") is None


def test_it_writes_nothing_about_a_bad_pattern(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="missing"):
        compile_regex("(private")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


@given(st.text(max_size=50))
def test_any_pattern_compiles_or_is_refused_clearly(pattern: str) -> None:
    try:
        compile_regex(pattern).search("db1.example.com")
    except ValueError as error:
        assert str(error).startswith("not a valid regular expression")  # noqa: PT017 - both ends are fine


def test_the_labels_of_many_hosts_are_compared_in_steps_until_a_part_does_not_match() -> None:
    matcher = Matcher(MatcherField.LABEL, MatcherOperator.EQUALS, "env=test")
    alike = (("env=test",),) * (3 * LABEL_SETS_AT_ONCE)
    assert list(compared_in_steps(matcher, MatchSubject(labels=alike))) == [True] * 3
    other = MatchSubject(labels=(*alike, ("env=production",), *alike))
    steps = list(compared_in_steps(matcher, other))
    assert (steps[:4], matches((matcher,), other)) == ([True, True, True, False], False)
