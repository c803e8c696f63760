/**
 * What of an upstream's message a caller may read.
 *
 * Messages of upstreams carry fragments of keys, ids of the operator's account, addresses and
 * advice about billing. A caller reads only what speaks of the input.
 *
 * @since 0.1.0
 */
import { Redacted } from "effect"

const maxLength = 500

const removed = "<redacted>"

/** The maximum number of characters of a message that are read, so that a long one costs little. */
const maxReadLength = 8192

/**
 * The shortest part of a secret that is removed. A sentence shares no 6 characters with a random
 * key, and 5 are no help to guess it.
 */
const minPartLength = 6

// Only ASCII, because other letters may change the length of the text.
const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * The message without the secrets and their parts: 6 or more consecutive characters from anywhere
 * in a secret, in upper or lower case. A shorter secret is removed as a whole.
 *
 * A secret that contains words, such as `test-key-of-provider`, removes these words as well. What
 * follows the first 8,192 characters of the message is dropped.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as SafeMessage from "@model-gateway/offers/SafeMessage"
 *
 * const key = Redacted.make("q9Lm2xTzV7")
 *
 * SafeMessage.withoutSecrets("no model for q9Lm2xTz", [key]) // "no model for <redacted>"
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const withoutSecrets = (text: string, secrets: ReadonlyArray<Redacted.Redacted<string> | undefined>): string => {
  const message = text.slice(0, maxReadLength)
  const lower = lowerCase(message)
  const isSecret = new Uint8Array(message.length)
  for (const each of secrets) {
    const secret = each === undefined ? "" : lowerCase(Redacted.value(each))
    const size = Math.min(minPartLength, secret.length)
    if (size === 0) continue
    // A longer part consists of parts of this size.
    const parts = new Set<string>()
    for (let at = 0; at + size <= secret.length; at++) parts.add(secret.slice(at, at + size))
    for (let at = 0; at + size <= lower.length; at++) {
      if (parts.has(lower.slice(at, at + size))) isSecret.fill(1, at, at + size)
    }
  }
  let safe = ""
  for (let at = 0; at < message.length;) {
    const run = isSecret.indexOf(1, at)
    if (run === -1) return safe + message.slice(at)
    const end = isSecret.indexOf(0, run)
    safe += message.slice(at, run) + removed
    at = end === -1 ? message.length : end
  }
  return safe
}

const anyOf = (...alternatives: ReadonlyArray<string>): RegExp =>
  new RegExp(alternatives.map((words) => String.raw`\b(?:${words})\b`).join("|"), "i")

const credentials = String.raw`api[ _-]?(?:keys?|tokens?)|apikey|keys? (?:begin|end|start)(?:s|ning|ing)?|(?:access|auth) ?tokens?|bearer|credentials?`
const program = String.raw`traceback|stack ?trace`

/**
 * Words of messages that may speak of the operator's account, or of the upstream's program. Some
 * are harmless words of an input, too.
 */
const perhapsTheAccount = anyOf(
  credentials,
  String.raw`(?:un)?authori[sz]\w*|authenticat\w*|permissions?|forbidden|sign ?in|log ?in`,
  String.raw`billing|payments?|subscriptions?|balance|credits?|quotas?|top[ _-]?up|(?:your|current) plan`,
  String.raw`organi[sz]ations?|(?<!into )accounts?|tenants?|dashboard|contact (?:us|support|sales)`,
  program
)

const owner = String.raw`(?:account|org(?:ani[sz]ation)?|project|subscription|team|tenant|workspace)(?![-_/])`

/**
 * Phrases that address the owner of the account, or say what an account has or may. No message about
 * an input needs them. A noun in a path or in quotes is a field of the input, and one that continues
 * is an id, which is removed on its own.
 */
const surelyTheAccount = anyOf(
  credentials,
  String.raw`(?:your|current) (?:\w+ )?(?:accounts?|balance|billing|credits?|dashboard|organi[sz]ations?|payments?|plan|projects?|quotas?|subscriptions?|teams?|tenants?|workspaces?)`,
  String.raw`(?:add|buy|enough|exhausted|insufficient|more|no|out of|purchase|remaining) (?:balance|credits?|funds|quotas?)`,
  String.raw`(?:account|credit) balance|payment methods?|top[ _-]?up`,
  String.raw`(?:by|for|in|of|to) (?:(?:an?|the|this) )?${owner}`,
  String.raw`(?<![.\w"'\x60])${owner}(?: [^\s:]{1,40}){0,2} (?:cannot|do(?:es)?|ha[sd]|have|is|are|may|must|was|were)`,
  String.raw`(?:not|un)[ -]?authori[sz]ed|contact (?:us|support|sales)`,
  program
)

// Every quantifier has a bound or a fixed start, so that the time is linear in the length.
const patterns: ReadonlyArray<RegExp> = [
  // URLs, and addresses of mail.
  /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'<>)\]}]+/gi,
  /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}/g,
  // Hosts, with port and path.
  /\b(?:[a-z0-9-]{1,63}\.){1,6}(?:com|net|org|io|ai|dev|app|cloud|run|co|sh|local|internal|svc|cluster|lan)\b(?::\d+)?(?:\/[^\s"'<>)\]}]*)?/gi,
  /\blocalhost\b(?::\d+)?/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?/g,
  /\[[0-9a-f:]{2,40}:[0-9a-f:]{0,40}\](?::\d+)?/gi,
  // Files of the upstream's machine.
  /(?<![\w/])\/(?:app|data|etc|home|mnt|opt|private|proc|root|srv|src|tmp|usr|var|workspace)\/[^\s"')]*/g,
  // Masked keys: sk-ab***cd.
  /[^\s"'<>]{0,64}\*{3,}[^\s"'<>]{0,64}/g,
  // Keys by their prefix.
  /\b(?:sk|pk|rk|r8|gsk|hf|jina|whsec|xai)_[\w-]{4,200}|\bsk-[\w-]{4,200}/g,
  // Ids of accounts, projects and requests: org-abc123, projects/1234.
  /\b(?:acct|cus|key|org|proj|req|sess|team|tok|user|usr|ws)[-_](?=[\w-]{0,64}\d)[\w-]{4,200}/gi,
  /\b(?:projects|organizations|accounts|users|teams)\/[\w-]{3,200}/gi
]

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Hex, base64, UUIDs and long numbers. Names of models and fields consist of shorter parts. */
const isOpaque = (word: string): boolean =>
  uuid.test(word) ||
  word.split(/[^A-Za-z0-9]/).some((part) => {
    if (/^\d+$/.test(part)) return part.length >= 12
    return part.length >= 16 && /\d/.test(part) && /[A-Za-z]/.test(part)
  })

/**
 * The message in one line of at most 500 characters, without URLs, host names, folders of the
 * system, keys and ids of accounts. For messages of errors that nobody expected. A message for
 * callers is that of {@link make}.
 *
 * @example
 * ```ts
 * import * as SafeMessage from "@model-gateway/offers/SafeMessage"
 *
 * SafeMessage.redact("cannot read https://cdn.example.com/a.png") // "cannot read <redacted>"
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const redact = (message: string): string => {
  const safe = patterns
    .reduce((text, pattern) => text.replace(pattern, removed), message)
    .replace(/[A-Za-z0-9_+/=~-]{12,}/g, (word) => (isOpaque(word) ? removed : word))
  const line = safe.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`
}

const unless = (hidden: RegExp, message: string): string | undefined => {
  if (hidden.test(message)) return undefined
  const line = redact(message)
  return line.replaceAll(removed, "").replace(/[^\p{L}\p{N}]+/gu, "") === "" ? undefined : line
}

/**
 * The part of a message that a caller may read, if the upstream's own code or the place that it
 * names says that it is about the input. So words such as "credits" or "quota", which the input may
 * contain, do not hide it. One that addresses the owner of the account is hidden all the same.
 *
 * @example
 * ```ts
 * import * as SafeMessage from "@model-gateway/offers/SafeMessage"
 *
 * SafeMessage.ofInput("documents.0.credits: extra fields not permitted") // the same
 * SafeMessage.ofInput("You do not have enough credits") // undefined
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const ofInput = (message: string): string | undefined => unless(surelyTheAccount, message)

/**
 * The part of an upstream's message that a caller may read: one line of at most 500 characters
 * without URLs, host names, keys and account ids. Undefined if its words do not speak of the input,
 * or say nothing. {@link ofInput} is for messages that are known to be about the input.
 *
 * `UpstreamHttp` applies it to the messages of failed calls. Adapters apply it to messages that
 * come with status 200, such as the error of a failed job.
 *
 * @example
 * ```ts
 * import * as SafeMessage from "@model-gateway/offers/SafeMessage"
 *
 * SafeMessage.make("cannot read https://cdn.example.com/a.png") // "cannot read <redacted>"
 * SafeMessage.make("Incorrect API key provided: sk-ab***cd") // undefined
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (message: string): string | undefined =>
  surelyTheAccount.test(message) ? undefined : unless(perhapsTheAccount, message)
