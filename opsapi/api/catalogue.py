"""All errors of the API: code, HTTP status and message.

A message is a template of the error's parameters: `{0}` is the first. `GET /errorCodes` publishes this table,
and a test raises each of its entries.
"""

from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """The values of `errorCode`, each with its HTTP `status` and its `message`."""

    status: int
    message: str

    def __new__(cls, code: str, status: int, message: str) -> Self:
        """Returns the code with the facts of its row."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.status, member.message = status, message
        return member

    # fmt: off
    MISSING_ATTRIBUTE = "MISSING_ATTRIBUTE", 400, "The required attribute {0} is missing."
    INVALID_ATTRIBUTE = "INVALID_ATTRIBUTE", 400, "The attribute {0} is invalid: {1}."
    ATTRIBUTE_READ_ONLY = "ATTRIBUTE_READ_ONLY", 400, "The attribute {0} is read-only."
    INVALID_ENUM_VALUE = "INVALID_ENUM_VALUE", 400, "{0} has a value that is not allowed: {1}."
    INVALID_AUTHORIZATION_URI = ("INVALID_AUTHORIZATION_URI", 400,
        "The credentials are correct for {0}, but the request is for {1}. If a proxy is in front of the "
        "platform, configure the proxy to pass path and query unchanged.")
    INVALID_JSON = "INVALID_JSON", 400, "The body is invalid: {0}."
    INVALID_QUERY_PARAMETER = "INVALID_QUERY_PARAMETER", 400, "The query parameter {0} is invalid: {1}."
    MISSING_QUERY_PARAMETER = "MISSING_QUERY_PARAMETER", 400, "The query parameter {0} is required."
    INVALID_USERNAME = "INVALID_USERNAME", 400, "The username is invalid: {1}."
    INVALID_EMAIL_ADDRESS = "INVALID_EMAIL_ADDRESS", 400, "{0} is not a valid e-mail address."
    WEAK_PASSWORD = "WEAK_PASSWORD", 400, "The password is too weak: {1}"
    ROLE_NEEDS_GROUP_ID = "ROLE_NEEDS_GROUP_ID", 400, "{0}: a role in a project needs a groupId."
    ROLE_NEEDS_ORG_ID = "ROLE_NEEDS_ORG_ID", 400, "{0}: a role in an organization needs an orgId."
    ROLE_NEEDS_NO_GROUP_ID = "ROLE_NEEDS_NO_GROUP_ID", 400, "{0}: this role cannot be granted in a project."
    CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST = ("CANNOT_REMOVE_CALLER_FROM_ACCESS_LIST", 400,
        "This change would block your own address, {0}.")
    REDACTED_VALUE_UNKNOWN = ("REDACTED_VALUE_UNKNOWN", 400,
        "{0} is a redacted value that does not match the stored value.")
    INVALID_ALERT_STATUS = "INVALID_ALERT_STATUS", 400, "{0} is invalid: {1}."
    ACKNOWLEDGEMENT_COMMENT_TOO_LONG = ("ACKNOWLEDGEMENT_COMMENT_TOO_LONG", 400,
        "{0} is longer than 500 characters.")
    INVALID_EVENT_TYPE_FOR_ALERT = ("INVALID_EVENT_TYPE_FOR_ALERT", 400,
        "This event type cannot be used in alert configurations ({0}).")
    GLOBAL_ALERTS_ONLY = ("GLOBAL_ALERTS_ONLY", 400,
        "This event type is only allowed in global alert configurations ({0}).")
    METRIC_THRESHOLD_PRESENT = ("METRIC_THRESHOLD_PRESENT", 400,
        "{0} is only allowed with the event type OUTSIDE_METRIC_THRESHOLD.")
    MISSING_METRIC_THRESHOLD = ("MISSING_METRIC_THRESHOLD", 400,
        "{0} is required with the event type OUTSIDE_METRIC_THRESHOLD.")
    THRESHOLD_PRESENT = ("THRESHOLD_PRESENT", 400,
        "{0} is only allowed with the event types TOO_FEW_HEALTHY_MEMBERS and "
        "TOO_MANY_UNHEALTHY_MEMBERS.")
    MISSING_THRESHOLD = ("MISSING_THRESHOLD", 400,
        "{0} is required with the event types TOO_FEW_HEALTHY_MEMBERS and TOO_MANY_UNHEALTHY_MEMBERS.")
    UNITS_MISMATCH = "UNITS_MISMATCH", 400, "{0}: {1}."
    INVALID_METRIC_NAME = "INVALID_METRIC_NAME", 400, "{0} is not a metric: {1}."
    MISSING_NOTIFICATIONS = "MISSING_NOTIFICATIONS", 400, "At least one notification is required ({0})."
    NOTIFICATION_INTERVAL_OUT_OF_RANGE = ("NOTIFICATION_INTERVAL_OUT_OF_RANGE", 400,
        "{0} {1}, in whole minutes.")
    NOTIFICATION_TYPE_IS_GLOBAL_ONLY = ("NOTIFICATION_TYPE_IS_GLOBAL_ONLY", 400,
        "{0}: this notification type is only allowed in global alert configurations.")
    TOO_MANY_GROUP_NOTIFICATIONS = ("TOO_MANY_GROUP_NOTIFICATIONS", 400,
        "{0}: at most one notification of type GROUP and one of type ORG is allowed.")
    EMAIL_OR_SMS_REQUIRED = "EMAIL_OR_SMS_REQUIRED", 400, "{0}: emailEnabled or smsEnabled must be true."
    WEBHOOK_URL_NOT_SET = ("WEBHOOK_URL_NOT_SET", 400,
        "{0} is required because the project has no webhook integration.")
    MISSING_MAINTENANCE_WINDOW_START_DATE = "MISSING_MAINTENANCE_WINDOW_START_DATE", 400, "{0} is required."
    MISSING_MAINTENANCE_WINDOW_END_DATE = "MISSING_MAINTENANCE_WINDOW_END_DATE", 400, "{0} is required."
    MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME = ("MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME", 400,
        "{0} needs at least one alert type name.")
    MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE = ("MAINTENANCE_WINDOW_START_DATE_AFTER_END_DATE", 400,
        "{0} must be later than startDate.")
    INVALID_SETTINGS = "INVALID_SETTINGS", 400, "The automation configuration is invalid at {0}: {1}."
    LIMIT_REACHED = "LIMIT_REACHED", 400, "A project can have at most {1} {0}."
    UNAUTHORIZED = ("UNAUTHORIZED", 401,
        "You are not authorized for this resource: valid API key credentials are required.")
    USER_UNAUTHORIZED = "USER_UNAUTHORIZED", 403, "You need the role {0}."
    NOT_IN_GROUP = "NOT_IN_GROUP", 403, "You have no role in a project with ID {0}."
    HOSTNAME_NOT_OF_KEY = ("HOSTNAME_NOT_OF_KEY", 403,
        "The API key is not for {0}, but for {1}. Add the name to `hostnames` of the key, or use another "
        "key.")
    IP_ADDRESS_NOT_ON_ACCESS_LIST = "IP_ADDRESS_NOT_ON_ACCESS_LIST", 403, "The address {0} is not on {1}."
    CANNOT_WIDEN_OWN_ACCESS_LIST = ("CANNOT_WIDEN_OWN_ACCESS_LIST", 403,
        "A key cannot add entries to its own access list or remove the last one. Use another key or the "
        "console.")
    CANNOT_ADD_GLOBAL_ROLE = ("CANNOT_ADD_GLOBAL_ROLE", 403,
        "Only a Global owner can grant the global role {0}.")
    ROLE_NOT_HELD = "ROLE_NOT_HELD", 403, "You cannot grant the role {0} because you do not have it."
    CANNOT_CHANGE_OWN_ROLES = "CANNOT_CHANGE_OWN_ROLES", 403, "You cannot change your own roles."
    CANNOT_DEMOTE_LAST_OWNER = "CANNOT_DEMOTE_LAST_OWNER", 403, "The last Global owner cannot be removed."
    INVITATION_ONLY_MODE_OR_LDAP = ("INVITATION_ONLY_MODE_OR_LDAP", 403,
        "This needs the settings OPSAPI_INVITATION_ONLY=true and OPSAPI_LDAP=false.")
    INVALID_GROUP_ID = "INVALID_GROUP_ID", 404, "{0} is not the ID of a project."
    GROUP_NOT_FOUND = "GROUP_NOT_FOUND", 404, "No project with ID {0} exists."
    INVALID_ORG_ID = "INVALID_ORG_ID", 404, "{0} is not the ID of an organization."
    ORG_NOT_FOUND = "ORG_NOT_FOUND", 404, "No organization with ID {0} exists."
    INVALID_USER_ID = "INVALID_USER_ID", 404, "{0} is not the ID of a user."
    USER_NOT_FOUND = "USER_NOT_FOUND", 404, "No user with ID {0} exists."
    INVALID_TEAM_ID = "INVALID_TEAM_ID", 404, "{0} is not the ID of a team."
    TEAM_NOT_FOUND = "TEAM_NOT_FOUND", 404, "No team {0} exists here."
    INVALID_API_KEY_ID = "INVALID_API_KEY_ID", 404, "{0} is not the ID of an API key."
    API_KEY_NOT_FOUND = "API_KEY_NOT_FOUND", 404, "No API key with ID {0} exists here."
    INVALID_INVITATION_ID = "INVALID_INVITATION_ID", 404, "{0} is not the ID of an invitation."
    INVITATION_NOT_FOUND = "INVITATION_NOT_FOUND", 404, "No open invitation with ID {0} exists here."
    INVALID_ACCESS_LIST_ENTRY_ID = ("INVALID_ACCESS_LIST_ENTRY_ID", 404,
        "{0} is not the ID of an access list entry.")
    ACCESS_LIST_ENTRY_NOT_FOUND = ("ACCESS_LIST_ENTRY_NOT_FOUND", 404,
        "No access list entry with ID {0} exists.")
    INVALID_ALERT_ID = "INVALID_ALERT_ID", 404, "{0} is not the ID of an alert."
    ALERT_NOT_FOUND = "ALERT_NOT_FOUND", 404, "No alert with ID {0} exists in group {1}."
    INVALID_NOTIFICATION_ID = "INVALID_NOTIFICATION_ID", 404, "{0} is not the ID of a notification."
    NOTIFICATION_NOT_FOUND = "NOTIFICATION_NOT_FOUND", 404, "No notification with ID {0} exists here."
    INVALID_ALERT_CONFIG_ID = "INVALID_ALERT_CONFIG_ID", 404, "{0} is not the ID of an alert configuration."
    ALERT_CONFIG_NOT_FOUND = ("ALERT_CONFIG_NOT_FOUND", 404,
        "No alert configuration with ID {0} exists in group {1}.")
    INVALID_GLOBAL_ALERT_CONFIG_ID = ("INVALID_GLOBAL_ALERT_CONFIG_ID", 404,
        "{0} is not the ID of a global alert configuration.")
    GLOBAL_ALERT_CONFIG_NOT_FOUND = ("GLOBAL_ALERT_CONFIG_NOT_FOUND", 404,
        "No global alert configuration with ID {0} exists.")
    INVALID_MAINTENANCE_WINDOW_ID = ("INVALID_MAINTENANCE_WINDOW_ID", 404,
        "{0} is not the ID of a maintenance window.")
    MAINTENANCE_WINDOW_NOT_FOUND = ("MAINTENANCE_WINDOW_NOT_FOUND", 404,
        "No maintenance window with ID {0} exists in group {1}.")
    INVALID_EVENT_ID = "INVALID_EVENT_ID", 404, "{0} is not the ID of an event."
    EVENT_NOT_FOUND = "EVENT_NOT_FOUND", 404, "No event with ID {0} exists here."
    INVALID_HOST_ID = "INVALID_HOST_ID", 404, "{0} is not the ID of a host."
    HOST_NOT_FOUND = "HOST_NOT_FOUND", 404, "No host {0} exists in group {1}."
    INVALID_CLUSTER_ID = "INVALID_CLUSTER_ID", 404, "{0} is not the ID of a cluster."
    CLUSTER_NOT_FOUND = "CLUSTER_NOT_FOUND", 404, "No cluster with ID {0} exists in group {1}."
    INVALID_AGENT_TYPE = ("INVALID_AGENT_TYPE", 404,
        "{0} is not an agent type. Allowed: MONITORING, BACKUP, AUTOMATION.")
    AGENT_NOT_FOUND = "AGENT_NOT_FOUND", 404, "No {0} agent {1} exists in the group."
    GROUP_NAME_NOT_FOUND = "GROUP_NAME_NOT_FOUND", 404, "No project with the name {0} exists."
    ORG_NAME_NOT_FOUND = "ORG_NAME_NOT_FOUND", 404, "No organization with the name {0} exists."
    USERNAME_NOT_FOUND = "USERNAME_NOT_FOUND", 404, "No user with the name {0} exists."
    DATABASE_NOT_FOUND = "DATABASE_NOT_FOUND", 404, "No database {0} exists on host {1}."
    INVALID_TURN_ID = "INVALID_TURN_ID", 404, "{0} is not the ID of a turn."
    TURN_NOT_FOUND = "TURN_NOT_FOUND", 404, "No turn with ID {0} exists here."
    AUTOMATION_CONFIG_REVISION_NOT_FOUND = ("AUTOMATION_CONFIG_REVISION_NOT_FOUND", 404,
        "No revision {0} of the automation configuration exists.")
    INTEGRATION_NOT_CONFIGURED = ("INTEGRATION_NOT_CONFIGURED", 404,
        "The integration {0} is not configured for group {1}.")
    INVALID_INTEGRATION_TYPE = "INVALID_INTEGRATION_TYPE", 404, "{0} is not an integration type."
    RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND", 404, "No resource exists at {0}."
    METHOD_NOT_ALLOWED = "METHOD_NOT_ALLOWED", 405, "The method {0} is not allowed here. Allowed: {1}."
    ADDRESS_ALREADY_IN_ACCESS_LIST = ("ADDRESS_ALREADY_IN_ACCESS_LIST", 409,
        "The address {0} is already on the access list, as entry {1}.")
    INVITATION_ALREADY_EXISTS = ("INVITATION_ALREADY_EXISTS", 409,
        "{0} is already invited here, by the invitation {1}. Change it, send it again, or revoke it.")
    ORG_NOT_EMPTY = "ORG_NOT_EMPTY", 409, "The organization {0} still has projects: {1}."
    USER_ALREADY_EXISTS = ("USER_ALREADY_EXISTS", 409,
        "A user with the name {0} or a similar-looking name already exists.")
    GROUP_ALREADY_EXISTS = "GROUP_ALREADY_EXISTS", 409, "A project with the name {0} already exists."
    HOST_ALREADY_EXISTS = "HOST_ALREADY_EXISTS", 409, "The host {0} already exists in this project."
    INTEGRATION_ALREADY_CONFIGURED = ("INTEGRATION_ALREADY_CONFIGURED", 409,
        "The integration {0} is already configured for group {1}.")
    NOTIFICATION_CANNOT_BE_RESENT = ("NOTIFICATION_CANNOT_BE_RESENT", 409,
        "The notification {0} cannot be sent again: {1}.")
    AUTOMATION_CONFIG_CONCURRENT_MODIFICATION = ("AUTOMATION_CONFIG_CONCURRENT_MODIFICATION", 409,
        "The automation configuration is at version {1}, not {0}.")
    AUTOMATION_TURN_REFUSED = ("AUTOMATION_TURN_REFUSED", 409,
        "The process {0} gets no turn: {1}.")
    AUTOMATION_TURN_OVER = ("AUTOMATION_TURN_OVER", 409,
        "The turn {0} is not held any more: {1}.")
    AGENT_SETTINGS_CONCURRENT_MODIFICATION = ("AGENT_SETTINGS_CONCURRENT_MODIFICATION", 409,
        "The settings of the agents are at version {1}, not {0}.")
    REQUEST_TOO_LARGE = "REQUEST_TOO_LARGE", 413, "The body is larger than {0} bytes."
    UNSUPPORTED_MEDIA_TYPE = ("UNSUPPORTED_MEDIA_TYPE", 415,
        "The body must be sent as application/json (UTF-8).")
    IDEMPOTENCY_KEY_REUSED = ("IDEMPOTENCY_KEY_REUSED", 422,
        "The Idempotency-Key {0} was used for another body within the last day. Use a new key for each "
        "report.")
    RATE_LIMITED = "RATE_LIMITED", 429, "Too many requests. Try again in {0} seconds."
    UNEXPECTED_ERROR = "UNEXPECTED_ERROR", 500, "Something went wrong on our side. The request ID is {0}."
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE", 503, "The service is not available right now: {0}."
    # fmt: on
