/** The system: what a crash left to check. */
import type { ReactNode } from "react"
import { useSessionState } from "../api/hooks.ts"
import { Reservations } from "./system/Reservations.tsx"

const System = (): ReactNode => {
  const { session } = useSessionState()
  // What is of all workspaces is not for a session that is restricted to some.
  if (session?.workspace_ids != null) {
    return <p>This page is about the whole gateway. Your session is restricted to some workspaces.</p>
  }
  return <Reservations />
}

export default System
