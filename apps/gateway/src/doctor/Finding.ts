/** What `doctor` finds. */

/** The result of one check. */
export interface Finding {
  /** The name of the check, for programs. */
  readonly check: string
  /** `skipped`: there is nothing to check, or it could not be checked. */
  readonly status: "ok" | "problem" | "skipped"
  /** One sentence. */
  readonly message: string
  /** The command that fixes the problem or says more about it. */
  readonly command?: string
}

export const ok = (check: string, message: string): Finding => ({ check, status: "ok", message })

export const skipped = (check: string, message: string): Finding => ({ check, status: "skipped", message })

export const problem = (check: string, message: string, command?: string): Finding => ({
  check,
  status: "problem",
  message,
  ...(command === undefined ? {} : { command })
})
