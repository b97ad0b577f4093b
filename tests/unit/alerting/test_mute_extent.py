"""What a maintenance window mutes, in words."""

from alerting.windows.rules import MuteCounts, MuteExtent, named_target
from events.types import Category
from tests.each import each


@each(
    ("categories", "hosts", "alerts", "sentence", "open_words"),
    [
        (["HOST"], 0, 0, "all host alerts of 0 hosts in orders", "no open alerts"),
        (["HOST"], 1, 1, "all host alerts of 1 host in orders", "1 open alert"),
        (["HOST"], 7, 2, "all host alerts of 7 hosts in orders", "2 open alerts"),
        (
            ["HOST", "BACKUP"],
            2,
            2,
            "all backup alerts and all host alerts of 2 hosts in orders",
            "2 open alerts",
        ),
        (
            ["HOST", "USER", "BACKUP"],
            1,
            0,
            "all backup alerts, all host alerts of 1 host and all user alerts in orders",
            "no open alerts",
        ),
        (["BACKUP"], 2, 2, "all backup alerts in orders", "no open alerts"),
    ],
)
def test_it_counts_what_is_of_its_categories(
    categories: list[str], hosts: int, alerts: int, sentence: str, open_words: str
) -> None:
    counts = MuteCounts({Category.HOST: hosts}, {Category.HOST: alerts})
    extent = MuteExtent(categories=categories, project="orders", counts=counts)
    assert (extent.sentence, extent.open_words) == (sentence, open_words)


@each(
    ("facts", "target"),
    [({"hostname": "db1", "port": 27017}, "db1:27017"), ({"replicaSetName": "rs0"}, "rs0"), ({}, "")],
)
def test_it_is_narrower_about_one_target_alone(facts: dict[str, object], target: str) -> None:
    assert named_target(facts) == target
