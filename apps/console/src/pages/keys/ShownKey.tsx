/** The text of a new or rotated key. It is shown this once, with a request to try it. */
import { useRead } from "../../api/hooks.ts"
import { base } from "../../api/http.ts"
import { CopyButton } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Skeleton } from "../../parts/Loaded.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { Time } from "../../parts/Time.tsx"
import type { Success } from "../../api/Contract.ts"
import { forbids, type Restriction } from "../guardrails/restriction.ts"

/** A key with its new text. */
export interface NewKey {
  readonly record: Success<"POST /keys">["data"]
  readonly text: string
  /** The guardrail that it was assigned to. */
  readonly guardrail?: Restriction | undefined
  /** Of a rotated key: until when the secret before is accepted. Null: it has ended. */
  readonly previousExpiresAt?: string | null
  /** Why it could not be assigned to a guardrail. */
  readonly problem?: Error | undefined
}

/** In single quotes of a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const curl = (path: string, key: string, body?: object): string =>
  [
    `curl ${new URL(`../api/v1${path}`, base).href}`,
    `-H ${quoted(`Authorization: Bearer ${key}`)}`,
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body))}`])
  ].join(" \\\n  ")

/** The request of an ordinary key: a rerank, if it may use a model for it. */
const useExample = ({ guardrail, record, text }: NewKey): string | undefined => {
  const { data, error } = useRead(
    "GET /models",
    { query: { output_modalities: "rerank", limit: 100 } },
    { enabled: !record.is_management_key }
  )
  if (record.is_management_key) return curl("/keys", text)
  if (data === undefined) return error === null ? undefined : curl("/key", text)
  const model = data.data.find(
    ({ id, is_free, providers }) =>
      (is_free || !record.is_free_tier) &&
      !id.includes("*") &&
      (guardrail === undefined || providers.some((provider) => !forbids(guardrail, id, provider)))
  )
  if (model === undefined) return curl("/key", text)
  return curl("/rerank", text, {
    model: model.id,
    query: "Which animal purrs?",
    documents: ["Cats purr when they are content.", "Dogs bark at strangers."]
  })
}

export const ShownKey = ({ onClose, value }: { readonly value: NewKey; readonly onClose: () => void }) => {
  const example = useExample(value)
  return (
    // Only the button closes it: the key cannot be shown again.
    <Dialog title={`Key ${value.record.name}`} onClose={undefined}>
      {value.problem !== undefined && (
        <Problem what="The key was created, but it has no guardrail" error={value.problem} />
      )}
      <p>
        {value.previousExpiresAt === undefined ? "Copy the key now: the" : "The key has a new secret. Copy it now: the"}{" "}
        gateway keeps only its hash and cannot show it again.
      </p>
      <p className="secret">
        <code>{value.text}</code>
        <CopyButton text={value.text} label="Copy the key" />
      </p>
      {value.previousExpiresAt === null && <p>The secret before it is no longer accepted.</p>}
      {typeof value.previousExpiresAt === "string" && (
        <p>
          The secret before it is accepted until <Time at={value.previousExpiresAt} /> UTC.
        </p>
      )}
      <div className="bar">
        <h3>Try it</h3>
        {example !== undefined && <CopyButton text={example} label="Copy the command" />}
      </div>
      {example === undefined ? <Skeleton rows={4} /> : <pre tabIndex={0}>{example}</pre>}
      <footer className="bar">
        <button type="button" className="primary end" onClick={onClose}>
          I have stored the key
        </button>
      </footer>
    </Dialog>
  )
}
