/**
 * SIGHUP from the first moment of a process. Until somebody listens, Node would end the process,
 * and loading the program takes a moment.
 */
import { isatty } from "node:tty"

/** Whether standard input, output or error is a terminal. Those of a closed terminal are not. */
export const hasTerminal = (): boolean => [0, 1, 2].some((descriptor) => isatty(descriptor))

/** Whether this process was started in a terminal. */
export const hadTerminal = hasTerminal()

let isKept = false

const keep = (): void => {
  isKept = true
}

process.on("SIGHUP", keep)

/** From now on the listener gets it, and now if one has come before. */
export const listen = (listener: () => void): void => {
  process.on("SIGHUP", listener)
  process.off("SIGHUP", keep)
  if (isKept) listener()
}
