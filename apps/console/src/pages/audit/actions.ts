/** What the audit log records, in words. */
import type { OperationName } from "../../api/Contract.ts"

/** What each operation did. */
const changes = {
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
  dismissReservation: "Dismissed a reservation",
  endConsoleSession: "Ended a session of the console",
  endConsoleSessions: "Ended all sessions of the console"
} as const satisfies { readonly [Name in OperationName]?: string }

/** What each entry of the audit log is about. */
export const actions = {
  ...changes,
  signIn: "Signed in",
  signOut: "Signed out",
  refuseSignIn: "Was refused to sign in",
  createConsoleLink: "Made a link to the console"
}

const texts: Readonly<Record<string, string>> = actions

/** What an operation did, or its name, such as "Update alert", if it is not known here. */
export const actionText = (action: string): string => {
  const name = action.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return texts[action] ?? name.charAt(0).toUpperCase() + name.slice(1)
}
