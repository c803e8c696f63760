/** Loaded into a child process: answers the message `usage` with what the process has used. */
export interface Usage {
  /** Microseconds of all its threads, in user mode and in the kernel, as the kernel counts them. */
  readonly cpu: number
}

process.on("message", (message) => {
  if (message !== "usage") return
  const { system, user } = process.cpuUsage()
  const usage: Usage = { cpu: user + system }
  process.send?.(usage)
})
