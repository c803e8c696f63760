/** Guessing keys. */
import { randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import { type Answer, ask, jsonOf } from "../client.ts"
import { type Attack, atOnce, maxMillisOf, milliseconds, problemsOf, statusesOf, textOf } from "./attack.ts"

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** An unknown key with the right format and checksum. */
export const guess = (random: Uint8Array = randomBytes(32)): string => {
  const body = `mg_sk_${Array.from(random, (byte) => alphabet.charAt(byte % 62)).join("")}`
  let rest = crc32(body)
  let checksum = ""
  for (let digit = 0; digit < 6; digit++) {
    checksum = alphabet.charAt(rest % 62) + checksum
    rest = Math.floor(rest / 62)
  }
  return body + checksum
}

const guesses: Attack = {
  name: "guesses",
  title: "25 guesses at keys, then valid keys that the process has not seen, one of them ephemeral",
  bound: "guesses 401; valid keys 200 within 500 ms",
  run: async ({ another, gateway, newKey }) => {
    const { key } = await newKey()
    const parent = await newKey()
    const ephemeral = await ask(gateway.origin, {
      method: "POST",
      path: "/api/v1/keys/ephemeral",
      key: parent.key,
      body: {}
    })
    const other = await another()
    const current = (key: string) => ({ method: "GET", path: "/api/v1/key", key })
    const guessed = await atOnce(25, other.origin, () => current(guess()))
    const valid: Array<Answer> = []
    for (const one of [key, textOf(jsonOf(ephemeral), "key"), parent.key]) {
      valid.push(await ask(other.origin, current(one)))
    }
    return {
      figure:
        `guesses: ${statusesOf(guessed)} in ${milliseconds(maxMillisOf(guessed))}; ` +
        `valid keys: ${statusesOf(valid)} in ${milliseconds(maxMillisOf(valid))}`,
      problems: [
        ...problemsOf(guessed, [401], 5000),
        ...problemsOf(valid, [200], 500).map((problem) => `a valid key: ${problem}`)
      ]
    }
  }
}

export const access: ReadonlyArray<Attack> = [guesses]
