"""MongoDB as an engine of the agent: several deployments without duplicate servers."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Callable
from weakref import WeakKeyDictionary

from automation.agent.addresses import ServerAddress
from automation.agent.engine import HostReading
from automation.agent.mongodb.deployment import Deployment
from automation.agent.mongodb.host import MongoAnswer, MongoHost
from automation.agent.rates import Why

log = logging.getLogger("opsapi.agent")


class MongoDB:
    """All deployments of the connection strings."""

    role = "clusterMonitor"

    def __init__(self, connection_strings: Iterable[str]) -> None:
        """Does not connect yet.

        Raises: ValueError: with the number of the invalid connection string, without secrets.
        """
        self._deployments: list[Deployment] = []
        for number, text in enumerate(connection_strings, 1):
            try:
                self._deployments.append(Deployment(text))
            except ValueError as error:
                raise ValueError(f"connection string {number} {error}") from None
        # The entry of a server disappears with the server, once nobody polls it.
        self._owners: WeakKeyDictionary[MongoHost, Deployment] = WeakKeyDictionary()
        self._names: dict[tuple[str, str], str] = {}

    def targets(self) -> Sequence[MongoHost]:
        """The servers of all deployments, each once."""
        return self._mine(
            ((deployment, host) for deployment in self._deployments for host in deployment.targets()), {}
        )

    def look(self, target: MongoHost) -> Callable[[], MongoAnswer]:
        """A function that polls a server of another agent for the servers it names."""
        return target.look

    def sets(self) -> Mapping[ServerAddress, str]:
        """The replica set of each member."""
        return {
            address: name for deployment in self._deployments for address, name in deployment.sets().items()
        }

    def learn(self, target: MongoHost, answer: MongoAnswer) -> Sequence[MongoHost]:
        """Process an answer. Returns newly found servers."""
        owner = self._owners[target]
        fresh = owner.learn(answer)
        owner.take([answer])
        return self._mine(((owner, host) for host in fresh), {})

    def readings(self) -> Sequence[HostReading]:
        """The results since the last call.

        If two clusters have the same name, the second one gets a new name.
        """
        found: dict[ServerAddress, HostReading] = {}
        chosen: dict[str, Deployment] = {}
        for deployment in self._deployments:
            for name in deployment.clusters:
                chosen.setdefault(name, deployment)
        for deployment in self._deployments:
            for reading in deployment.readings():
                cluster = reading.cluster
                if cluster and chosen.setdefault(cluster, deployment) is not deployment:
                    cluster = self._other_name(cluster, deployment.seed)
                found.setdefault(reading.address, replace(reading, cluster=cluster))
        return list(found.values())

    def why_missing(self) -> Mapping[ServerAddress, Mapping[str, Why]]:
        """By server and metric: whether the metric was reported last time, or why not."""
        return {
            address: found
            for deployment in self._deployments
            for address, found in deployment.why_missing().items()
        }

    def close(self) -> None:
        """Stop all background work."""
        for deployment in self._deployments:
            deployment.close()

    def _mine(
        self, hosts: Iterable[tuple[Deployment, MongoHost]], seen: dict[ServerAddress, MongoHost]
    ) -> Sequence[MongoHost]:
        for owner, host in hosts:
            if seen.setdefault(host.address, host) is host:
                self._owners[host] = owner
        return list(seen.values())

    def _other_name(self, name: str, seed: str) -> str:
        if (name, seed) not in self._names:
            self._names[name, seed] = f"{name} ({seed})"
            log.warning(
                "two deployments have the name %s: one of them is reported as cluster %s (%s)",
                name,
                name,
                seed,
            )
        return self._names[name, seed]
