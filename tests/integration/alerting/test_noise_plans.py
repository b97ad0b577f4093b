"""The noise of configurations is counted from an index, however large the alerts are."""

import pytest
from django.db.models import OrderBy

from accesslist.models import Project
from alerting.models import AlertConfig
from alerting.selectors.noise import NoiseFigure
from opsapi.sql import execute
from tests.each import each
from tests.factories.alerting import make_alert, make_config

pytestmark = pytest.mark.django_db


@each("figure", ["alerts", "median", "flaps", "acknowledged"])
def test_sorting_by_a_figure_reads_no_alert(project: Project, figure: str) -> None:
    make_alert(project, config_id=make_config(project).id)
    rows = AlertConfig.objects.order_by(OrderBy(NoiseFigure(figure), descending=True))
    # With so few rows, PostgreSQL would read the table.
    others = ("seqscan", "bitmapscan", "indexscan")
    execute("; ".join(f"SET LOCAL enable_{scan} = off" for scan in others))
    plan = rows.explain()
    assert "Index Only Scan using alert_config_noise on alerting_alert" in plan
    assert plan.count("on alerting_alert ") == 1
