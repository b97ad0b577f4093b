"""Agents of a replica set exchange what they observe of its members."""

from rest_framework.request import Request
from rest_framework.response import Response

from automation.access import CARRY_OUT
from automation.desired_state.machines import require_machine
from automation.observations.agent_documents import ObservationsDocument, OtherObservationsDocument
from automation.observations.changes import Observations, observation_exchange
from automation.turns.views import OfAgent
from opsapi.api.catalogue import ErrorCode


class ObservationViewSet(OfAgent):
    """`POST /agents/v1.0/groups/{id}/observations`."""

    access = {"create": CARRY_OUT}
    bodies = {"create": ObservationsDocument}
    answers = {"create": OtherObservationsDocument}
    refusals = {
        "create": (ErrorCode.HOSTNAME_NOT_OF_KEY, ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION)
    }

    def create(self, request: Request, group_id: str) -> Response:
        """Report what the agent observes of its members of a replica set, and get what other agents observe.

        An agent plans a replica set with members on several machines. It knows the settings of its own
        processes only, so each agent says which move its processes need next.
        """
        values = self.body()
        require_machine(self.actor, values["hostname"])
        observed = Observations(
            hostname=values["hostname"],
            replica_set=values["replica_set"],
            goal_version=values["goal_version"],
            processes=values["processes"],
        )
        others = observation_exchange(
            group_id=self.group.id, observed=observed, actor=self.actor, now=self.now
        )
        return Response({"processes": others})
