/** The runs of this browser. A click opens the form of a run again. */
import { useEffect, useState } from "react"
import { Badge } from "../parts/Badge.tsx"
import { duration, relative } from "../parts/format.ts"
import { CheckField } from "../parts/Fields.tsx"
import * as History from "./shared/history.ts"
import type { Selection } from "./shared/link.ts"

const shownAtOnce = 10

export const HistoryList = ({ onOpen }: { readonly onOpen: (selection: Selection) => void }) => {
  const [isOn, setOn] = useState(true)
  const [entries, setEntries] = useState<ReadonlyArray<History.Entry>>([])
  const [isLong, setLong] = useState(false)
  useEffect(() => {
    const read = () => {
      void History.isOn().then(setOn)
      void History.list().then(setEntries)
    }
    read()
    return History.subscribe(read)
  }, [])
  const change = (on: boolean) => {
    // Storage answers later.
    setOn(on)
    void History.set(on)
  }
  const shown = isLong ? entries : entries.slice(0, shownAtOnce)
  return (
    <section className="card" aria-label="History">
      <div className="bar">
        <h2>History</h2>
        <span className="end">
          <CheckField label="Keep runs in this browser" checked={isOn} onChange={change} />
        </span>
      </div>
      {entries.length === 0 ? (
        <p className="hint">{isOn ? "Runs are listed here, until you sign out." : "Runs are not kept."}</p>
      ) : (
        <ul className="history">
          {shown.map((entry) => (
            <li key={entry.id}>
              <button type="button" onClick={() => onOpen({ task: entry.task, form: entry.form })}>
                <Badge tone={entry.status >= 200 && entry.status < 300 ? "good" : "bad"}>
                  {entry.status === 0 ? "no answer" : entry.status}
                </Badge>
                <span className="history-model">
                  {entry.task} {entry.form["model"] ?? `${entry.form["kind"]} ${entry.form["status"]}`}
                </span>
                <span className="hint figures">
                  {duration(entry.ms)}, {relative(new Date(entry.at).toISOString())}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {entries.length > 0 && (
        <div className="bar">
          {entries.length > shownAtOnce && (
            <button type="button" className="quiet" onClick={() => setLong(!isLong)}>
              {isLong ? "Show fewer" : `Show all ${entries.length}`}
            </button>
          )}
          <button type="button" className="quiet end" onClick={() => void History.clear()}>
            Clear
          </button>
        </div>
      )}
    </section>
  )
}
