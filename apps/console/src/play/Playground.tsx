/** The frame of the playground: tasks, key, theme. A task's code is loaded when it is shown. */
import { lazy, Suspense, useEffect, useState } from "react"
import { base } from "../api/http.ts"
import { Icon } from "../parts/Icon.tsx"
import { useTheme } from "../shell/theme.ts"
import { AccessForm } from "./AccessForm.tsx"
import { signOut } from "./shared/access.ts"
import { type Form, type Selection, selectionOf, type Task, tasks } from "./shared/link.ts"
import { Models, useAccess, useModelLists } from "./shared/useModels.ts"

/** What a task is given. It reads the form once, when it is shown first or a run is opened. */
export interface TaskProps {
  readonly initial: Form
  /** Opens a run of the history, in any task. */
  readonly onOpen: (selection: Selection) => void
  readonly isShown: boolean
}

const titles: { readonly [T in Task]: string } = {
  rerank: "Rerank",
  transcription: "Transcription",
  video: "Video",
  errors: "Errors"
}

const components = {
  rerank: lazy(() => import("./rerank/Rerank.tsx")),
  transcription: lazy(() => import("./transcription/Transcription.tsx")),
  video: lazy(() => import("./video/Video.tsx")),
  errors: lazy(() => import("./errors/Errors.tsx"))
}

const first = selectionOf(location)

const addressOf = (task: Task): string => {
  const query = new URLSearchParams(location.search)
  query.set("operation", task)
  query.delete("model")
  return `?${query}`
}

const ThemeButton = () => {
  const { theme, toggle } = useTheme()
  const label = theme === "dark" ? "Use the light theme" : "Use the dark theme"
  return (
    <button type="button" className="quiet" title={label} aria-label={label} onClick={toggle}>
      <Icon name={theme === "dark" ? "sun" : "moon"} />
    </button>
  )
}

const KeyChip = () => {
  const { label } = useAccess()
  if (label === undefined) return null
  return (
    <span className="key-chip">
      <Icon name="keys" />
      <span className="sr">Key </span>
      <code>{label}</code>
      <button type="button" className="quiet" onClick={signOut}>
        Sign out
      </button>
    </span>
  )
}

interface Opened {
  readonly form: Form
  /** Increases when a form is opened, so that the task is mounted again with it. */
  readonly version: number
}

export const Playground = () => {
  const [task, setTask] = useState(first.task)
  const [opened, setOpened] = useState<{ readonly [T in Task]?: Opened }>({
    [first.task]: { form: first.form, version: 0 }
  })
  const lists = useModelLists()

  const show = (next: Task) => {
    setTask(next)
    setOpened((before) => ({ ...before, [next]: before[next] ?? { form: {}, version: 0 } }))
  }
  const go = (next: Task) => {
    if (next !== task) history.pushState(null, "", addressOf(next))
    show(next)
  }
  const open = ({ form, task: next }: Selection) => {
    go(next)
    setOpened((before) => ({ ...before, [next]: { form, version: (before[next]?.version ?? 0) + 1 } }))
  }

  useEffect(() => {
    const back = () => {
      const selection = selectionOf(location)
      if (Object.keys(selection.form).length === 0) show(selection.task)
      else {
        show(selection.task)
        setOpened((before) => ({
          ...before,
          [selection.task]: { form: selection.form, version: (before[selection.task]?.version ?? 0) + 1 }
        }))
      }
    }
    addEventListener("popstate", back)
    return () => removeEventListener("popstate", back)
  }, [])

  useEffect(() => {
    document.title = `${titles[task]} · Model gateway playground`
  }, [task])

  return (
    <Models value={lists}>
      <a className="skip" href="#work">
        Skip to the form
      </a>
      <header className="play-top">
        <a className="mark" href={new URL("play", base).href}>
          Playground
        </a>
        <nav aria-label="Tasks">
          <ul>
            {tasks.map((name) => (
              <li key={name}>
                <a
                  href={addressOf(name)}
                  aria-current={name === task ? "page" : undefined}
                  onClick={(event) => {
                    if (event.metaKey || event.ctrlKey || event.shiftKey) return
                    event.preventDefault()
                    go(name)
                  }}
                >
                  {titles[name]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div className="play-session">
          <KeyChip />
          <a className="button quiet-link" href={new URL("console/", base).href}>
            Console
          </a>
          <a className="button quiet-link" href={new URL("docs", base).href}>
            <Icon name="docs" />
            <span className="wide">API reference</span>
            <span className="sr narrow">API reference</span>
          </a>
          <ThemeButton />
        </div>
      </header>
      <main id="work" tabIndex={-1}>
        <h1 className="sr">{titles[task]}</h1>
        <AccessForm />
        {lists.error !== undefined && (
          <p className="issue" role="alert">
            The models could not be read. {lists.error.message}
          </p>
        )}
        {tasks.map((name) => {
          const entry = opened[name]
          if (entry === undefined) return null
          const Shown = components[name]
          return (
            <div key={`${name} ${entry.version}`} hidden={name !== task}>
              <Suspense fallback={<div className="work" aria-hidden="true" />}>
                <Shown initial={entry.form} onOpen={open} isShown={name === task} />
              </Suspense>
            </div>
          )
        })}
      </main>
    </Models>
  )
}
