"""The page of the wizard for a new replica set: its inputs in groups, its machines and their agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.utils.functional import cached_property

from automation.agents.store import agents_of
from automation.choices import AgentType
from automation.desired_state.document.replica_sets import (
    MOST_MACHINES,
    WantedReplicaSet,
    process_names,
)
from automation.desired_state.set_wizard_inputs import NAMES_ID, NEW_VERSION, machine_input
from automation.hosts.states import agent_state
from automation.sections import machine_key
from opsapi import clock
from opsapi.console.widgets import Tone
from opsapi.hostnames import host_and_port
from opsapi.page_paths import DOCUMENTS_PATH

SHOWN_MACHINES: Final = 3
"""The machines that the form always shows."""
MOST_NAMES: Final = 500
"""The most names of machines that the form offers."""
PREPARE_URL: Final = f"{DOCUMENTS_PATH}how-to/automate-a-deployment.html#prepare-the-machine"
"""The document that says how to switch automation on."""


@dataclass(frozen=True, slots=True)
class MachineAgent:
    """The automation agent of a machine in words. `is_alive`: it reports at the moment."""

    words: str
    tone: str
    is_alive: bool = False


NO_AGENT: Final = MachineAgent("no automation agent", Tone.WARNING.value)


@dataclass(frozen=True, slots=True)
class MachineInput:
    """An input of a machine. `agent`: of the machine that it names, if it names one."""

    field: forms.BoundField
    agent: MachineAgent | None


@dataclass(frozen=True, slots=True)
class NewMember:
    """A process of the new replica set, as the page of the plan shows it."""

    name: str
    address: str
    directory: str
    is_arbiter: bool
    agent: MachineAgent


def automation_agents(group_id: str) -> Mapping[str, MachineAgent]:
    """Return the automation agents of a project by the names of their machines, in order."""
    now = clock.now()
    by_machine: dict[str, MachineAgent] = {}
    for agent in agents_of(group_id, AgentType.AUTOMATION.value):
        words, tone = agent_state(agent, now)
        by_machine[agent.hostname] = MachineAgent(f"agent: {words}", tone.value, tone is Tone.GOOD)
    return by_machine


class SetWizardPage:
    """The groups of the form's inputs, and the agents of its machines."""

    def __init__(self, form: forms.BaseForm, agents: Mapping[str, MachineAgent]) -> None:
        """`agents`: the automation agents of the project, by the names of their machines."""
        self._form, self.agents = form, agents

    def _fields_named(self, *names: str) -> list[forms.BoundField]:
        """The inputs with these names that the form has."""
        return [self._form[name] for name in names if name in self._form.fields]

    @property
    def about_set(self) -> Sequence[forms.BoundField]:
        """The inputs of the replica set as a whole."""
        return self._fields_named("name", "port", "version")

    @property
    def about_version(self) -> Sequence[forms.BoundField]:
        """The inputs of another version."""
        return self._fields_named(*NEW_VERSION)

    @property
    def about_files(self) -> Sequence[forms.BoundField]:
        """The inputs about directories and logs."""
        return self._fields_named("data_base", "download_base", "rotates_logs")

    @property
    def machines(self) -> Sequence[MachineInput]:
        """The machines that the form always shows."""
        return self._machine_inputs[:SHOWN_MACHINES]

    @property
    def more_machines(self) -> Sequence[MachineInput]:
        """The machines that the form folds."""
        return self._machine_inputs[SHOWN_MACHINES:]

    @property
    def has_more_machines(self) -> bool:
        """Whether a folded machine has a name."""
        return any(machine.field.value() for machine in self.more_machines)

    @cached_property
    def _machine_inputs(self) -> Sequence[MachineInput]:
        fields = [self._form[machine_input(place)] for place in range(MOST_MACHINES)]
        return [MachineInput(field, self._agent_of(str(field.value() or ""))) for field in fields]

    def _agent_of(self, machine: str) -> MachineAgent | None:
        """The automation agent of a machine; None without the name of a machine."""
        if not machine.strip():
            return None
        return self._agents_by_key.get(machine_key(machine.strip()), NO_AGENT)

    @cached_property
    def _agents_by_key(self) -> Mapping[str, MachineAgent]:
        return {machine_key(name): agent for name, agent in self.agents.items()}

    def members(self, document: Mapping[str, Any], wanted: WantedReplicaSet) -> Sequence[NewMember]:
        """The processes of a replica set that a document does not have yet."""
        last = len(wanted.machines) - 1
        names = process_names(document, wanted)
        return [
            NewMember(
                name=name,
                address=host_and_port(machine, wanted.port),
                directory=wanted.data_directory(name),
                is_arbiter=wanted.has_arbiter and place == last,
                agent=self._agents_by_key.get(machine_key(machine), NO_AGENT),
            )
            for place, (name, machine) in enumerate(zip(names, wanted.machines, strict=True))
        ]

    @property
    def waits_for(self) -> Sequence[str]:
        """The machines with a valid name but without an agent that reports: the plan waits for them."""
        return [
            str(machine.field.value())
            for machine in self._machine_inputs
            if machine.agent is not None and not machine.agent.is_alive and not machine.field.errors
        ]

    @property
    def prepare_url(self) -> str:
        """The document that says how to switch automation on."""
        return PREPARE_URL

    @property
    def offered_names(self) -> Sequence[tuple[str, MachineAgent]]:
        """The first names of machines with an automation agent."""
        return list(self.agents.items())[:MOST_NAMES]

    @property
    def names_id(self) -> str:
        """The ID of the names that the inputs of machines offer."""
        return NAMES_ID
