/** The changes that the audit log records, in words. */

/** What each operation did. */
export const actions = {
  createKey: "Created a key",
  updateKey: "Changed a key",
  rotateKey: "Rotated a key",
  deleteKey: "Deleted a key",
  createGuardrail: "Created a guardrail",
  updateGuardrail: "Changed a guardrail",
  deleteGuardrail: "Deleted a guardrail",
  assignKeys: "Assigned keys to a guardrail",
  unassignKeys: "Removed keys from a guardrail",
  createWorkspace: "Created a workspace",
  updateWorkspace: "Changed a workspace",
  deleteWorkspace: "Deleted a workspace",
  addCredits: "Added or corrected credits",
  createByokKey: "Stored a provider key",
  updateByokKey: "Changed a provider key",
  deleteByokKey: "Deleted a provider key",
  createDestination: "Created a destination",
  updateDestination: "Changed a destination",
  deleteDestination: "Deleted a destination",
  rotateWebhookSecret: "Made a new webhook secret",
  redeliverWebhook: "Sent a webhook again",
  settleReservation: "Settled a reservation",
  dismissReservation: "Dismissed a reservation"
} as const

const texts: Readonly<Record<string, string>> = actions

/** What an operation did, or its name if it is not known here. */
export const actionText = (action: string): string => texts[action] ?? action
