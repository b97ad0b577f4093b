"""MongoDB as an engine of the agent: several deployments, in which no server stands twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Callable
from weakref import WeakKeyDictionary

from automation.agent.addresses import Address
from automation.agent.engine import Reading
from automation.agent.mongodb.deployment import Deployment
from automation.agent.mongodb.host import Answer, Host
from automation.agent.rates import Why

log = logging.getLogger("opsapi.agent")


class MongoDB:
    """All the deployments that connection strings name."""

    role = "clusterMonitor"

    def __init__(self, connection_strings: Iterable[str]) -> None:
        """Nothing is connected yet.

        Raises:
            ValueError: with the number of the connection string that is none; without secrets.
        """
        self._deployments: list[Deployment] = []
        for number, text in enumerate(connection_strings, 1):
            try:
                self._deployments.append(Deployment(text))
            except ValueError as error:
                raise ValueError(f"connection string {number} {error}") from None
        # A server that is gone takes its entry with it, once nobody asks it any more.
        self._owners: WeakKeyDictionary[Host, Deployment] = WeakKeyDictionary()
        self._names: dict[tuple[str, str], str] = {}

    def targets(self) -> Sequence[Host]:
        """The servers of all deployments, each once."""
        return self._mine(((one, host) for one in self._deployments for host in one.targets()), {})

    def look(self, target: Host) -> Callable[[], Answer]:
        """How to ask a server that another agent watches for the servers that it names."""
        return target.look

    def sets(self) -> Mapping[Address, str]:
        """The replica set of each member."""
        return {address: name for one in self._deployments for address, name in one.sets().items()}

    def learn(self, target: Host, answer: Answer) -> Sequence[Host]:
        """Take an answer; return servers that were not known."""
        owner = self._owners[target]
        fresh = owner.learn(answer)
        owner.take([answer])
        return self._mine(((owner, host) for host in fresh), {})

    def readings(self) -> Sequence[Reading]:
        """What the answers since the last call say. Of two clusters with one name the later gets another."""
        found: dict[Address, Reading] = {}
        taken: dict[str, Deployment] = {}
        for deployment in self._deployments:
            for name in deployment.clusters:
                taken.setdefault(name, deployment)
        for deployment in self._deployments:
            for reading in deployment.readings():
                cluster = reading.cluster
                if cluster and taken.setdefault(cluster, deployment) is not deployment:
                    cluster = self._other_name(cluster, deployment.seed)
                found.setdefault(reading.address, replace(reading, cluster=cluster))
        return list(found.values())

    def why_missing(self) -> Mapping[Address, Mapping[str, Why]]:
        """By server and metric: whether it was reported the last time, or why not."""
        return {address: found for one in self._deployments for address, found in one.why_missing().items()}

    def close(self) -> None:
        """Leave nothing running."""
        for deployment in self._deployments:
            deployment.close()

    def _mine(self, hosts: Iterable[tuple[Deployment, Host]], seen: dict[Address, Host]) -> Sequence[Host]:
        for owner, host in hosts:
            if seen.setdefault(host.address, host) is host:
                self._owners[host] = owner
        return list(seen.values())

    def _other_name(self, name: str, seed: str) -> str:
        if (name, seed) not in self._names:
            self._names[name, seed] = f"{name} ({seed})"
            log.warning("two deployments are named %s: one is reported as cluster %s (%s)", name, name, seed)
        return self._names[name, seed]
