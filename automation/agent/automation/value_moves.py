"""The moves that change values of a running server: parameters, feature version, default concern, users."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.turns import MOVE_SECONDS
from automation.agent.automation.users import UserCommand, user_commands, users_question
from automation.plan.concerns import set_concern
from automation.plan.setting_values import PARAMETERS, setting_value
from automation.plan.values import Move
from automation.plan.versions import SERIES, series

_CONFIRMED_SINCE = SERIES.index("7.0") if "7.0" in SERIES else len(SERIES)


class ValueMoves:
    """The moves of values at run time. Raises: MoveFailed, MoveDelayed, TurnLost, errors of NOT_ANSWERED."""

    def __init__(self, moved: MovedProcess) -> None:
        self._moved, self._work = moved, moved.work
        self._managed, self._server, self._places = moved.managed, moved.server, moved.places

    def set_parameters(self, move: Move) -> None:
        """Set parameters at run time."""
        names = frozenset(name[len(PARAMETERS) :] for name in move.settings)
        self._work.run(partial(self._places.add_parameters, names))
        wanted = self._managed.settings.get("setParameter") or {}
        for name in sorted(names):
            now = self._moved.ask({"getParameter": 1, name: 1}).get(name)
            self._moved.ask({"setParameter": 1, name: _as(now, wanted[name])})
            full = PARAMETERS + name
            after = self._moved.ask({"getParameter": 1, name: 1}).get(name)
            if setting_value(full, after) != setting_value(full, wanted[name]):
                raise MoveFailed(
                    f"the server has another value of {name} after it took the value of the document"
                )

    def set_feature_version(self, version: str) -> None:
        """Set the feature compatibility version."""
        place = series(self._moved.see().process.version)
        confirm = {"confirm": True} if place is not None and place >= _CONFIRMED_SINCE else {}
        command = {"setFeatureCompatibilityVersion": version, **confirm}
        # The command takes as long as all members need, and the turn is renewed meanwhile.
        self._moved.ask(command, float(MOVE_SECONDS))

    def set_default_concern(self, move: Move) -> None:
        """Set the default read and write concern of the replica set."""
        wanted = {name: json.loads(self._managed.unit.concern[name]) for name in move.settings}
        command = {"setDefaultRWConcern": 1, **wanted, "writeConcern": {"w": "majority"}}
        # A majority can be slow, and the turn is renewed meanwhile.
        answer = self._moved.ask(command, float(MOVE_SECONDS))
        after = set_concern(answer)
        # Otherwise the plan would set it forever.
        if any(after.get(name) != self._managed.unit.concern[name] for name in wanted):
            raise MoveFailed("the server has another default concern after it took that of the document")

    def set_users(self, move: Move) -> None:
        """Create, change and delete users; all commands carry secrets."""
        left = set(move.settings)
        while True:
            commands = self._user_commands()
            # In their order: no user is deleted before the others are as they should be.
            name = next((name for name in commands if name in left), None)
            if name is None:
                break
            if self._moved.see().pid is None:
                raise MoveFailed("another server than the process of this machine answers at its address")
            left.remove(name)
            self._work.begin(f"user {name}"[:200])
            command = {**commands[name].command, "writeConcern": {"w": "majority"}}
            ask = partial(self._server.ask_proven, command, database=commands[name].database)
            # A majority can be slow, and the turn is renewed meanwhile.
            self._work.run(partial(ask, seconds=float(MOVE_SECONDS)))
        # Otherwise the plan would set them forever.
        unlike = sorted(commands.keys() & set(move.settings))
        if unlike:
            raise MoveFailed(f"the server has other values of users than it took: {', '.join(unlike)}")

    def _user_commands(self) -> Mapping[str, UserCommand]:
        answer = self._moved.ask(users_question(self._managed.auth))
        return user_commands(self._managed.auth, answer["users"])


def _as(now: object, wanted: Any) -> Any:
    """The wanted value in the type of the present one: documents often have texts."""
    if not isinstance(wanted, str) or isinstance(now, str):
        return wanted
    try:
        return json.loads(wanted)
    except ValueError:
        return wanted
