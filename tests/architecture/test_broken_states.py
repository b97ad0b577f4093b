"""The page of broken states is current, and each state raises an alert or says what shows it."""

import ast
import inspect
import re
from datetime import timedelta

from alerting.configs.presets import Preset
from alerting.engine.worker import SWEEP_SECONDS
from automation.metrics import Metric
from tests.each import each
from tests.processes import test_agent_states
from tests.processes.broken_states import BrokenState
from tests.processes.states_page import MONGODB, PAGE, POSTGRESQL, SWEEP, page

BROKEN = [*MONGODB.items(), *POSTGRESQL.items()]


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m tests.processes.states_page"
    assert timedelta(seconds=SWEEP_SECONDS) == SWEEP


@each(("title", "state"), BROKEN)
def test_each_broken_state_raises_an_alert_or_says_what_shows_it(title: str, state: BrokenState) -> None:
    assert bool(state.raises) is not bool(state.shown), title
    assert all(state.engine in preset.spec.engines for preset in state.raises)
    assert set(re.findall(r"`([A-Z_]+)`", state.shown)) <= set(Preset)
    assert {name for name in state.facts if name.isupper()} <= set(Metric)


def test_each_test_of_a_state_has_a_row_and_each_row_a_test() -> None:
    source = ast.parse(inspect.getsource(test_agent_states))
    functions = [node for node in source.body if isinstance(node, ast.FunctionDef)]
    tests = {node.name for node in functions if node.name.startswith("test_")}
    assert {name.partition("[")[0] for name in test_agent_states.STATES} == tests
