/** The system: its processes, what a crash left to check, who is signed in, and the settings. */
import type { ReactNode } from "react"
import { useMay, useSessionState } from "../api/hooks.ts"
import { Instances } from "./system/Instances.tsx"
import { Reservations } from "./system/Reservations.tsx"
import { Sessions } from "./system/Sessions.tsx"
import { Settings } from "./system/Settings.tsx"
import "./system.css"

const System = (): ReactNode => {
  const { session } = useSessionState()
  const isAdmin = useMay("admin")
  // What is of all workspaces is not for a session that is restricted to some.
  if (session?.workspace_ids != null) {
    return <p>This page is about the whole gateway. Your session is restricted to some workspaces.</p>
  }
  return (
    <>
      <Instances />
      <Reservations />
      {isAdmin && <Sessions />}
      {isAdmin && <Settings />}
    </>
  )
}

export default System
