/** Asks for an API key, or shows until when the short-lived key is valid. */
import { DateTime, Effect } from "effect"
import { TaskProblem } from "./parts/ProblemNote.tsx"
import { SecretForm } from "./parts/SecretForm.tsx"
import { runtime } from "./Page.ts"
import { Session, type Status } from "./Session.ts"
import { useTask } from "./useTask.ts"

const time = (at: DateTime.Utc): string =>
  DateTime.toDateUtc(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })

const signOut = () => runtime.runFork(Effect.flatMap(Session, (session) => session.signOut))

export const SignIn = ({ onSignedIn, status }: { readonly status: Status; readonly onSignedIn: () => void }) => {
  const task = useTask<void>("key")
  return status.expiresAt === undefined ? (
    <section className="card signin" aria-label="Sign in">
      <SecretForm
        label="API key"
        hint="It begins with mg_sk_. npm start prints one on its first run. The page exchanges it for a key that expires after 15 minutes, and stores only that key."
        button="Sign in"
        busy={task.running}
        onKey={(key) =>
          task.run(
            Effect.flatMap(Session, (session) => session.signIn(key)).pipe(Effect.tap(() => Effect.sync(onSignedIn)))
          )
        }
      />
      <TaskProblem task={task} />
    </section>
  ) : (
    <section className="signed-in" aria-label="Sign in">
      <p>
        <span className="dot" aria-hidden="true" />
        {status.renews ? "Signed in. Renews automatically." : `Signed in until ${time(status.expiresAt)}.`}
      </p>
      <button type="button" className="small" onClick={signOut}>
        Sign out
      </button>
    </section>
  )
}
