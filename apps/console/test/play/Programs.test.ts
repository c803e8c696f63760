// Every program that the playground shows, from its forms, run against the executable.
import { wav } from "@model-gateway/sandbox/DtmfTone"
import { type Empty, startEmpty } from "@model-gateway/test-filled/Filled"
import { execFile, spawnSync } from "node:child_process"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Rerank from "../../src/play/rerank/request.ts"
import { type CodeCall, type Language, languages, programOf } from "../../src/play/shared/programs.ts"
import * as Transcription from "../../src/play/transcription/request.ts"
import * as Video from "../../src/play/video/request.ts"

// Inside the package, so that imports resolve as a user's do.
const folder = join(import.meta.dirname, "../../test-results/programs")

const hasRequests = spawnSync("python3", ["-c", "import requests"]).status === 0

/** Texts that a careless program would break: quotes of all kinds, a dollar, a line break. */
const hard = `It's a "test" of $HOME, \`date\` and \\n\nin two lines`

const calls: ReadonlyArray<readonly [name: string, call: CodeCall, answer: RegExp]> = [
  [
    "rerank",
    Rerank.codeOf({ ...Rerank.defaults, query: hard, top_n: "1", provider: "sandbox" }, ["apples", { text: hard }]),
    /relevance_score/
  ],
  [
    "transcription",
    Transcription.codeOf({ ...Transcription.defaults, language: "en" }, "my dialed number.wav"),
    /555 0199/
  ],
  ["video", Video.codeOf({ ...Video.defaults, prompt: hard, duration: "1", resolution: "480p", seed: "7" }), /video_/]
]

const commands: { readonly [L in Language]: (file: string) => readonly [command: string, ...args: Array<string>] } = {
  curl: (file) => ["bash", "--norc", file],
  python: (file) => ["python3", file],
  fetch: (file) => [process.execPath, file],
  promises: (file) => [process.execPath, file],
  effect: (file) => [process.execPath, file]
}

const extensions: { readonly [L in Language]: string } = {
  curl: "sh",
  python: "py",
  fetch: "mts",
  promises: "mts",
  effect: "mts"
}

describe("a program of the playground", () => {
  let gateway: Empty
  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, "my dialed number.wav"), wav("555 0199"))
    gateway = await startEmpty()
  })
  afterAll(() => gateway.stop())

  const run = async (language: Language, name: string, call: CodeCall) => {
    const file = join(folder, `${name}-${language}.${extensions[language]}`)
    writeFileSync(file, programOf(language, call))
    const [command, ...args] = commands[language](file)
    return promisify(execFile)(command, args, {
      cwd: folder,
      env: {
        PATH: process.env["PATH"],
        MODEL_GATEWAY_BASE_URL: `${gateway.origin}/api/v1`,
        MODEL_GATEWAY_API_KEY: gateway.key
      }
    })
  }

  for (const [language, title] of languages) {
    const isMissing = language === "python" && !hasRequests
    it.skipIf(isMissing).each(calls)(`in ${title} makes the request of the form: %s`, async (name, call, answer) => {
      const { stdout } = await run(language, name, call)
      expect(stdout).toMatch(answer)
    })
  }
})
