/** The page: who calls, where to go, and the panels. */
import { useEffect, useState } from "react"
import { FilesPanel } from "./panels/FilesPanel.tsx"
import { GuardrailPanel } from "./panels/GuardrailPanel.tsx"
import { KeyPanel } from "./panels/KeyPanel.tsx"
import { ProgramPanel } from "./panels/ProgramPanel.tsx"
import { RerankPanel } from "./panels/RerankPanel.tsx"
import { TranscriptionPanel } from "./panels/TranscriptionPanel.tsx"
import { VideoPanel } from "./panels/VideoPanel.tsx"
import { SignIn } from "./SignIn.tsx"
import { ThemeToggle } from "./ThemeToggle.tsx"
import { useModels } from "./useModels.ts"
import { useSession } from "./useSession.ts"

const places = {
  rerank: "Rank documents",
  transcription: "Transcribe audio",
  video: "Make a video",
  files: "Files",
  key: "Your key",
  guardrail: "Guardrails",
  program: "All six"
} as const

type Place = keyof typeof places

const names: ReadonlyArray<Place> = ["rerank", "transcription", "video", "files", "key", "guardrail", "program"]

const here = (): Place => names.find((name) => `#${name}` === location.hash) ?? "rerank"

const focusHeading = (place: Place) => document.getElementById(`heading-${place}`)?.focus()

export const App = () => {
  const session = useSession()
  const [place, setPlace] = useState(here)
  const signedIn = session?.until !== undefined
  const models = useModels(signedIn)

  useEffect(() => {
    const follow = () => {
      setPlace(here())
      scrollTo({ top: 0 })
      requestAnimationFrame(() => focusHeading(here()))
    }
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  useEffect(() => {
    document.title = `${places[place]} · Model gateway`
  }, [place])

  // Drawn once it is known who calls, so that nothing jumps.
  if (session === undefined) return null
  return (
    <>
      <a
        className="skip"
        href={`#heading-${place}`}
        onClick={(event) => {
          event.preventDefault()
          focusHeading(place)
        }}
      >
        Skip to the panel
      </a>
      <header className="top">
        <h1>Model gateway</h1>
        <nav className="links" aria-label="Reference">
          <a href="/docs">API reference</a>
        </nav>
        <ThemeToggle />
      </header>
      <nav className="places" aria-label="Operations">
        <ul>
          {names.map((name) => (
            <li key={name}>
              <a href={`#${name}`} aria-current={name === place ? "page" : undefined}>
                {places[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main>
        <SignIn status={session} onSignedIn={() => requestAnimationFrame(() => focusHeading(here()))} />
        <RerankPanel active={place === "rerank"} models={models} />
        <TranscriptionPanel active={place === "transcription"} models={models} />
        <VideoPanel active={place === "video"} models={models} signedIn={signedIn} />
        <FilesPanel active={place === "files"} signedIn={signedIn} />
        <KeyPanel active={place === "key"} signedIn={signedIn} typed={session.typed} />
        <GuardrailPanel active={place === "guardrail"} manages={session.manages} />
        <ProgramPanel active={place === "program"} />
      </main>
    </>
  )
}
