/**
 * What the address says. The query selects operation and model: `?operation=rerank&model=…`. A link
 * to a form has its fields in the fragment, which browsers send to no server.
 */

/** The tasks of the playground. */
export const tasks = ["rerank", "transcription", "video", "errors"] as const

export type Task = (typeof tasks)[number]

/** The fields of a form: texts. */
export type Form = { readonly [field: string]: string }

const isTask = (name: unknown): name is Task => tasks.some((task) => task === name)

const toBase64Url = (text: string): string => {
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")
  return btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")
}

const fromBase64Url = (text: string): string => {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0))
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
}

const isForm = (value: unknown): value is Form =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every((text) => typeof text === "string")

/** The form in a fragment. Undefined: the fragment has no form, or was cut off. */
export const formOf = (hash: string): Form | undefined => {
  const text = new URLSearchParams(hash.replace(/^#/, "")).get("form")
  if (text === null) return undefined
  try {
    const form: unknown = JSON.parse(fromBase64Url(text))
    return isForm(form) ? form : undefined
  } catch {
    return undefined
  }
}

/** The characters of all fields. */
export const lengthOf = (form: Form): number => Object.values(form).reduce((sum, text) => sum + text.length, 0)

/** The longest link, in characters. Mail and chat programs break longer ones. */
export const maxLink = 16_000

/** A link to a form. Undefined: it would be too long. */
export const linkTo = (page: string, task: Task, form: Form): string | undefined => {
  // Base64 makes it longer still.
  if (lengthOf(form) > maxLink) return undefined
  const link = new URL(page)
  link.search = new URLSearchParams({ operation: task }).toString()
  link.hash = `form=${toBase64Url(JSON.stringify(form))}`
  return link.href.length <= maxLink ? link.href : undefined
}

/** What an address selects. */
export interface Selection {
  readonly task: Task
  readonly form: Form
}

/** Reads an address. */
export const selectionOf = ({ hash, search }: { readonly search: string; readonly hash: string }): Selection => {
  const query = new URLSearchParams(search)
  const operation = query.get("operation")
  const model = query.get("model")
  return {
    task: isTask(operation) ? operation : "rerank",
    form: formOf(hash) ?? (model === null ? {} : { model })
  }
}
