/** Saves the activity as the API writes it as CSV: all pages in one file. */
import { useState } from "react"
import { request } from "../../api/call.ts"
import type { ActivityQuery } from "../../parts/activity.ts"
import { download } from "../../parts/csv.ts"
import { Icon } from "../../parts/Icon.tsx"
import { Problem } from "../../parts/Problem.tsx"

const readAll = async (query: ActivityQuery): Promise<string> => {
  let text = ""
  let after: string | undefined
  do {
    const response = await request("GET /activity", { query: { ...query, format: "csv", after } })
    const page = await response.text()
    // Each page begins with the line of names.
    text += text === "" ? page : page.slice(page.indexOf("\n") + 1)
    after = response.headers.get("x-next") ?? undefined
  } while (after !== undefined)
  return text
}

export const ActivityCsv = ({ query }: { readonly query: ActivityQuery }) => {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Error>()
  const save = async () => {
    setBusy(true)
    setError(undefined)
    try {
      download("activity.csv", "text/csv; charset=utf-8", await readAll(query))
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button type="button" className="end" disabled={busy} onClick={() => void save()}>
        <Icon name="download" />
        {busy ? "Reading …" : "CSV"}
      </button>
      {error !== undefined && <Problem what="The file could not be made" error={error} />}
    </>
  )
}
