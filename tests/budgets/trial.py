"""Tries inputs of an operation on a running platform, and measures them."""

import time

from tests.budgets.meter import Cost, Meter, OtherProject
from tests.budgets.operations import Bench, Call, Operation
from tests.budgets.search import Findings, Genes, TriedInput, search
from tests.budgets.site import RefusedError, Tenant

_WHOLE = ("/api/", "/agents/", "/prometheus/", "/admin/")


class BudgetTrial:
    """Tries operations, next to another project."""

    def __init__(self, bench: Bench, other: OtherProject) -> None:
        self.bench, self.other = bench, other
        self._root = bench.site.platform.pid
        self.answers: list[int] = []
        """The statuses of all measured requests that were answered."""
        self.refusals: list[str] = []
        """Why inputs were refused."""

    def search(self, operation: Operation, *, tries: int, seed: int) -> Findings:
        """The most expensive input of the operation."""
        return search(
            operation.choices, lambda genes: self._attempt(operation, genes), tries=tries, seed=seed
        )

    def _attempt(self, operation: Operation, genes: Genes) -> TriedInput | None:
        tenant = self.bench.full if operation.reads else Tenant(self.bench.site)
        try:
            call = operation.prepare(self.bench, tenant, genes)
            tenant.waits_idle()
            return self._measured(tenant, call, genes)
        except RefusedError as refusal:
            self.refusals.append(str(refusal))
            return None
        finally:
            if not operation.reads:
                tenant.remove()
                self._wait_removed()

    def _measured(self, tenant: Tenant, call: Call, genes: Genes) -> TriedInput:
        with self.other.watched():
            meter, begun = Meter(self._root), time.monotonic()
            if call.path.startswith(_WHOLE):
                answer = tenant.send_to(call.method, call.path, call.body)
            else:
                answer = tenant.send(call.method, call.path, call.body)
            seconds = time.monotonic() - begun
            finished = tenant.waits_idle() and answer is not None
            cost: Cost = meter.read()
        if answer is not None:
            self.answers.append(answer.status_code)
            if 400 <= answer.status_code < 500:
                raise RefusedError(answer.text[:300])
        return TriedInput(
            genes=genes,
            cpu_seconds=cost.cpu_seconds,
            seconds=seconds,
            memory=cost.memory,
            delay=max(self.other.delays),
            finished=finished,
            status=None if answer is None else answer.status_code,
        )

    def _wait_removed(self) -> None:
        """The next input begins when the other project is served at once again after the last input."""
        for _ in range(3):
            with self.other.watched():
                pass
            if max(self.other.delays) < 1.0:
                return
