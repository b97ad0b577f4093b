"""Carries out the moves of a process of this machine.

A move can be cut off after each step. The next plan follows from what is observed then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Callable

from pymongo.errors import OperationFailure

from automation.agent.automation.builds import DocumentBuilds
from automation.agent.automation.data_moves import DataMoves
from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.member_moves import MemberMoves
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.process_moves import ProcessMoves
from automation.agent.automation.servers import NOT_ANSWERED
from automation.agent.automation.value_moves import ValueMoves
from automation.plan.values import Move, MoveKind


class Mover:
    """The moves of a process."""

    def __init__(
        self, moved: MovedProcess, builds: DocumentBuilds, *, now: datetime, allowed: Sequence[Path]
    ) -> None:
        """`allowed`: the directories below which the agent may write."""
        self._moved = moved
        processes = ProcessMoves(moved, builds, now)
        data = DataMoves(moved, processes, allowed, now)
        values, members = ValueMoves(moved), MemberMoves(moved)
        self._makers: Mapping[MoveKind, Callable[[Move], None]] = {
            MoveKind.DOWNLOAD: lambda move: processes.download(move.version),
            MoveKind.WRITE_FILE: lambda move: processes.write_file(move.version),
            MoveKind.WRITE_KEY_FILE: lambda _: processes.write_key_file(),
            MoveKind.START: lambda move: processes.start(move.version),
            MoveKind.STOP: lambda _: processes.stop(),
            MoveKind.RESTART: lambda _: processes.restart(moved.running_version()),
            MoveKind.CHANGE_VERSION: lambda move: processes.restart(move.version),
            MoveKind.RESYNC: lambda _: data.resync(moved.running_version()),
            MoveKind.REMOVE_OLD_DATA: lambda _: data.remove_old_data(),
            MoveKind.COMPACT: lambda _: data.compact(),
            MoveKind.SET_PARAMETER: values.set_parameters,
            MoveKind.SET_FEATURE_VERSION: lambda move: values.set_feature_version(move.version),
            MoveKind.SET_DEFAULT_CONCERN: values.set_default_concern,
            MoveKind.SET_USERS: values.set_users,
            MoveKind.INITIATE: members.initiate,
            MoveKind.STEP_DOWN: lambda _: members.step_down(),
            MoveKind.ADD_MEMBER: members.change_members,
            MoveKind.CHANGE_MEMBER: members.change_members,
            MoveKind.REMOVE_MEMBER: members.change_members,
        }

    def carry_out(self, move: Move) -> None:
        """Make the move. Raises: MoveFailed and MoveDelayed with the reason; TurnLost."""
        try:
            self._makers[move.kind](move)
        except OperationFailure as error:
            text = str(error).partition(", full error: ")[0]
            raise MoveFailed(f"the server refuses it: {self._moved.without_secrets(text)}") from None
        except NOT_ANSWERED as error:
            where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
            what = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise MoveFailed(f"{what}{where}") from None
