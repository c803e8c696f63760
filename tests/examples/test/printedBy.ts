import { vi } from "vitest"

/**
 * What a program prints, a list for each call of `console.log`. The program runs in this process,
 * which has loaded its libraries already: a process of its own would take seconds. `setup.ts` sets
 * its environment.
 */
export const printedBy = async (
  program: () => Promise<unknown>,
  args: ReadonlyArray<string>
): Promise<ReadonlyArray<ReadonlyArray<unknown>>> => {
  const log = vi.spyOn(console, "log").mockReturnValue()
  const { argv } = process
  process.argv = [...argv.slice(0, 2), ...args]
  try {
    await program()
    return [...log.mock.calls]
  } finally {
    process.argv = argv
    log.mockRestore()
  }
}
