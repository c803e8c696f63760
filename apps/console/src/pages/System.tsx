/** The system: its processes and database, what a crash left to check, and the settings. */
import type { ReactNode } from "react"
import { useMay, useSessionState } from "../api/hooks.ts"
import { Instances } from "./system/Instances.tsx"
import { Reservations } from "./system/Reservations.tsx"
import { Settings } from "./system/Settings.tsx"
import "./system.css"

const System = (): ReactNode => {
  const { session } = useSessionState()
  const mayReadSettings = useMay("admin")
  // What is of all workspaces is not for a session that is restricted to some.
  if (session?.workspace_ids != null) {
    return <p>This page is about the whole gateway. Your session is restricted to some workspaces.</p>
  }
  return (
    <>
      <Instances />
      <Reservations />
      {mayReadSettings && <Settings />}
    </>
  )
}

export default System
