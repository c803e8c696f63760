/** The page: sign-in, navigation and panels. */
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

const titles = {
  rerank: "Rank documents",
  transcription: "Transcribe audio",
  video: "Make a video",
  files: "Files",
  key: "Your key",
  guardrail: "Guardrails",
  program: "The whole program"
} as const

type PanelName = keyof typeof titles

const names: ReadonlyArray<PanelName> = ["rerank", "transcription", "video", "files", "key", "guardrail", "program"]

const panelOfUrl = (): PanelName => names.find((name) => `#${name}` === location.hash) ?? "rerank"

const focusHeading = (name: PanelName) => document.getElementById(`heading-${name}`)?.focus()

export const App = () => {
  const session = useSession()
  const [current, setCurrent] = useState(panelOfUrl)
  const signedIn = session?.expiresAt !== undefined
  const models = useModels(signedIn)

  useEffect(() => {
    const follow = () => {
      setCurrent(panelOfUrl())
      scrollTo({ top: 0 })
      requestAnimationFrame(() => focusHeading(panelOfUrl()))
    }
    addEventListener("hashchange", follow)
    return () => removeEventListener("hashchange", follow)
  }, [])
  useEffect(() => {
    document.title = `${titles[current]} · Model gateway`
  }, [current])

  // Render only when the session is known, so that the layout does not shift.
  if (session === undefined) return null
  return (
    <>
      <a
        className="skip"
        href={`#heading-${current}`}
        onClick={(event) => {
          event.preventDefault()
          focusHeading(current)
        }}
      >
        Skip to the panel
      </a>
      <header className="top">
        <h1>Model gateway</h1>
        <nav className="links" aria-label="Reference">
          <a href="docs">API reference</a>
        </nav>
        <ThemeToggle />
      </header>
      <nav className="panel-links" aria-label="Operations">
        <ul>
          {names.map((name) => (
            <li key={name}>
              <a href={`#${name}`} aria-current={name === current ? "page" : undefined}>
                {titles[name]}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main>
        <SignIn status={session} onSignedIn={() => requestAnimationFrame(() => focusHeading(panelOfUrl()))} />
        <RerankPanel active={current === "rerank"} models={models} />
        <TranscriptionPanel active={current === "transcription"} models={models} />
        <VideoPanel active={current === "video"} models={models} signedIn={signedIn} />
        <FilesPanel active={current === "files"} signedIn={signedIn} />
        <KeyPanel active={current === "key"} signedIn={signedIn} entered={session.entered} />
        <GuardrailPanel active={current === "guardrail"} hasManagementKey={session.hasManagementKey} />
        <ProgramPanel active={current === "program"} />
      </main>
    </>
  )
}
