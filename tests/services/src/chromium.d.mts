// For the tests that start a browser; tests/services/src/chromium.mjs itself runs before anything is built.

/** What playwright's `chromium.launch` takes. */
export interface LaunchOptions {
  readonly executablePath: string
  readonly headless: boolean
  readonly args: Array<string>
}

export const launchOptions: (...switches: ReadonlyArray<`--${string}`>) => LaunchOptions | undefined
