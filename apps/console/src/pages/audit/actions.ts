/** The changes that the audit log records, in words. */
import type { OperationName } from "../../api/Contract.ts"

/** What each operation did. */
export const actions = {
  createKey: "Created a key",
  updateKey: "Changed a key",
  rotateKey: "Rotated a key",
  createEphemeralKeyFor: "Created an ephemeral key",
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
  createAlert: "Created an alert",
  updateAlert: "Changed an alert",
  deleteAlert: "Deleted an alert",
  settleReservation: "Settled a reservation",
  dismissReservation: "Dismissed a reservation"
} as const satisfies { readonly [Name in OperationName]?: string }

const texts: Readonly<Record<string, string>> = actions

/** What an operation did, or its name, such as "Update alert", if it is not known here. */
export const actionText = (action: string): string => {
  const name = action.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return texts[action] ?? name.charAt(0).toUpperCase() + name.slice(1)
}
