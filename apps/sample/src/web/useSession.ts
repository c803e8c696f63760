/** Subscribes a component to the session. */
import { Effect, Stream } from "effect"
import { useEffect, useState } from "react"
import { runtime } from "./Page.ts"
import { Session, type Status } from "./Session.ts"

/** The status of the session. Undefined: not yet known. */
export const useSession = (): Status | undefined => {
  const [status, setStatus] = useState<Status>()
  useEffect(
    () =>
      runtime.runCallback(
        Effect.flatMap(Session, ({ changes }) =>
          Stream.runForEach(changes, (next) => Effect.sync(() => setStatus(next)))
        )
      ),
    []
  )
  return status
}
