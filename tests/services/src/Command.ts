// Runs what a person would type, to its end.
import { execFile } from "node:child_process"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../../", import.meta.url))

/** This project's own Node and pnpm come before the machine's. */
const PATH = `${join(root, "node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}`

/** How a command ended. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** A command that fails is an answer, one that cannot be started is an error. */
export const run = (command: string, args: ReadonlyArray<string>, { cwd, env }: Options): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const options = { cwd, env: { ...process.env, PATH, NO_COLOR: "1", ...env }, maxBuffer: 64 * 1024 * 1024 }
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve({ code: 0, stdout, stderr })
      else if (typeof error.code === "number") resolve({ code: error.code, stdout, stderr })
      else reject(error)
    })
  })

/** Its stdout; what it printed is the error where it does not end well. */
export const succeed = async (command: string, args: ReadonlyArray<string>, options: Options): Promise<string> => {
  const { code, stderr, stdout } = await run(command, args, options)
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}:\n${stdout}\n${stderr}`)
  return stdout
}
