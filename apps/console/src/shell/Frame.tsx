/** The frame of all pages: navigation, workspace, search, range, state of the service, session. */
import { useQueryClient } from "@tanstack/react-query"
import { Outlet, useRouterState } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import { useSessionState } from "../api/hooks.ts"
import { base } from "../api/http.ts"
import { type Session, signOut } from "../api/session.ts"
import { groups, pages } from "../console/pages.ts"
import { Icon } from "../parts/Icon.tsx"
import { FindId } from "./FindId.tsx"
import { PageLink } from "./PageLink.tsx"
import { RangePicker } from "./RangePicker.tsx"
import { SignIn } from "./SignIn.tsx"
import { Status } from "./Status.tsx"
import { useTheme } from "./theme.ts"
import { WorkspacePicker } from "./WorkspacePicker.tsx"

const Navigation = ({ onGo }: { readonly onGo: () => void }) => (
  <nav aria-label="Console">
    <div className="mark">Model gateway</div>
    {groups.map(([title, names]) => (
      <div key={title}>
        {title !== "" && <h2>{title}</h2>}
        <ul>
          {names.map((name) => (
            <li key={name}>
              <PageLink page={name} onClick={onGo}>
                <Icon name={pages[name].icon} />
                {pages[name].title}
              </PageLink>
            </li>
          ))}
        </ul>
      </div>
    ))}
    <ul className="elsewhere">
      <li>
        <a href={new URL("../play", base).href}>
          <Icon name="play" />
          Playground
        </a>
      </li>
      <li>
        <a href={new URL("../docs", base).href}>
          <Icon name="docs" />
          API reference
        </a>
      </li>
    </ul>
  </nav>
)

const SessionMenu = () => {
  const { session } = useSessionState()
  const { theme, toggle } = useTheme()
  return (
    <div className="session">
      <button type="button" className="quiet" onClick={toggle}>
        <Icon name={theme === "dark" ? "sun" : "moon"} />
        <span className="sr">{theme === "dark" ? "Use the light theme" : "Use the dark theme"}</span>
      </button>
      {session != null && (
        <>
          <button type="button" className="quiet" popoverTarget="session-menu">
            <Icon name="user" />
            <span className="wide">{session.label}</span>
            <span className="sr">Session</span>
          </button>
          <div id="session-menu" className="menu" popover="auto">
            <p>
              {session.label}
              <br />
              <span className="hint">Role: {session.role}</span>
            </p>
            <button type="button" onClick={() => void signOut()}>
              Sign out
            </button>
          </div>
        </>
      )}
    </div>
  )
}

const usePageTitle = (): string => {
  const pathname = useRouterState({ select: ({ location }) => location.pathname })
  const entry = Object.entries(pages).find(([name]) => pathname.endsWith(`/${name}`))
  return entry?.[1].title ?? pages.overview.title
}

/** What one person was shown is not shown to the next one who signs in. */
const useFreshFor = (session: Session | null | undefined) => {
  const queries = useQueryClient()
  const person =
    session == null ? "" : JSON.stringify([session.kind, session.label, session.role, session.workspace_ids])
  const before = useRef(person)
  useEffect(() => {
    if (person === before.current) return
    if (before.current !== "") void queries.resetQueries()
    before.current = person
  }, [person, queries])
}

export const Frame = () => {
  const { session, wanted } = useSessionState()
  useFreshFor(session)
  const [drawer, setDrawer] = useState(false)
  const title = usePageTitle()
  useEffect(() => {
    document.title = `${title} · Model gateway`
  }, [title])
  return (
    <div className="frame" data-drawer={drawer} data-ended={wanted === "signed out"}>
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <div className="side">
        <Navigation onGo={() => setDrawer(false)} />
      </div>
      <button type="button" className="scrim" aria-label="Close the navigation" onClick={() => setDrawer(false)} />
      <header className="top">
        <button type="button" className="quiet drawer-button" aria-expanded={drawer} onClick={() => setDrawer(!drawer)}>
          <Icon name="menu" />
          <span className="sr">Navigation</span>
        </button>
        {session != null && (
          <>
            <WorkspacePicker />
            <FindId />
            <RangePicker />
            <Status />
          </>
        )}
        <SessionMenu />
      </header>
      <main className="page" id="page" tabIndex={-1}>
        <h1>{title}</h1>
        {session != null && <Outlet />}
      </main>
      <SignIn />
    </div>
  )
}
