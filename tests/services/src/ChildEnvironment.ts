/** What a process that a test starts gets of the test's own environment. No settings. */
export const childEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: process.env["PATH"],
  NO_COLOR: "1",
  // Tests read the keys of the first run.
  MODEL_GATEWAY_FIRST_KEYS: "stdout",
  // Else each process compiles a thousand modules again. vitest.shared.ts sets it.
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"]
})
