import { Schema } from "effect"
import { expect, it } from "vitest"
import { database, run } from "./Commands.ts"
import { folder, serve } from "./Executable.ts"

const decode = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ expires_at: Schema.String, role: Schema.String, url: Schema.String }))
)

/** Signs in as the page does, with the token of a link. */
const signIn = async (origin: string, link: string) => {
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token")
  return fetch(`${origin}/console/session`, {
    method: "POST",
    headers: { origin, "x-model-gateway-console": "1", "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ token })
  })
}

it("console link signs in once, with its role and workspace, at the address that the settings name", async () => {
  const dataDir = folder()
  const gateway = await serve(dataDir)
  await run(["workspaces", "create", "acme", "--data-dir", dataDir])
  const port = new URL(gateway.origin).port
  const printed = await run(["console", "link", "--port", port, "--data-dir", dataDir])
  expect(printed.stdout).toMatch(new RegExp(`^${gateway.origin}/console/#token=[\\w-]{43}\\n$`))
  expect(printed.stderr).toMatch(/^It signs in once, with the role viewer, until .*Z\.\n$/)
  const first = await signIn(gateway.origin, printed.stdout)
  expect([first.status, await first.json()]).toMatchObject([200, { kind: "link", role: "viewer", workspace_ids: null }])
  expect((await signIn(gateway.origin, printed.stdout)).status).toBe(401)

  const flags = ["--role", "operator", "--workspace", "acme", "--expires", "1h", "--json"]
  const settings = ["--console-public-url", "https://gateway.example", "--data-dir", dataDir]
  const { stdout } = await run(["console", "link", ...flags, ...settings])
  const { expires_at, role, url } = decode(stdout)
  expect(url).toMatch(/^https:\/\/gateway\.example\/console\/#token=/)
  expect([role, Math.round((Date.parse(expires_at) - Date.now()) / 60_000)]).toEqual(["operator", 60])
  const restricted = await (await signIn(gateway.origin, url)).text()
  expect(restricted).toMatch(/"workspace_ids":\["[\da-f-]{36}"\]/)

  const operator = async (...args: ReadonlyArray<string>) => (await run([...args, "--data-dir", dataDir])).stdout
  const listed = await operator("console", "sessions")
  expect(listed).toMatch(/one-time link of \S+ +link +operator +127\.0\.0\.1 /)
  const [id = ""] = listed.match(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/) ?? []
  expect(await operator("console", "end", id)).toBe("Ended 1 session.\n")
  const again = await run(["console", "end", id, "--data-dir", dataDir])
  expect([again.code, again.stderr]).toEqual([1, "There is no such session.\n"])
  expect(await operator("console", "end", "--all")).toBe("Ended 1 session.\n")
  expect(await operator("console", "sessions")).toBe("Nobody is signed in to the console.\n")
  const audit = await operator("audit", "list")
  for (const action of ["createConsoleLink", "signIn", "endConsoleSession", "endConsoleSessions"]) {
    expect(audit).toMatch(new RegExp(` ${action} `))
  }
})

it("console link refuses what makes no link, and console end what is neither one session nor all", async () => {
  const dataDir = await database()
  for (const args of [[], ["a", "--all"]]) {
    const { code, stderr } = await run(["console", "end", ...args, "--data-dir", dataDir])
    expect([code, stderr.includes("Name either a session or --all.")]).toEqual([2, true])
  }
  const refused = async (...flags: ReadonlyArray<string>) => {
    const { code, stderr, stdout } = await run(["console", "link", "--data-dir", dataDir, ...flags])
    expect([code, stdout]).toEqual([2, ""])
    return stderr
  }
  expect(await refused("--role", "admin", "--workspace", "acme")).toContain(
    "--workspace needs --role viewer or operator"
  )
  expect(await refused("--workspace", "nowhere")).toContain('There is no workspace "nowhere".')
  for (const expires of ["0m", "25h", "5 minutes", "-1m"]) {
    expect(await refused(`--expires=${expires}`)).toContain("--expires")
  }
})

it("the first run prints a link for an admin where it prints its keys, if there is a console", async () => {
  const gateway = await serve(folder(), ["--first-keys", "stdout"])
  const [, link = ""] = await gateway.prints(/within the next hour:\s+(http\S+#token=\S+)/)
  expect(link.startsWith(`${gateway.origin}/console/`)).toBe(true)
  expect(await (await signIn(gateway.origin, link)).json()).toMatchObject({ role: "admin" })
  const without = await serve(folder(), ["--first-keys", "stdout", "--console", "off"])
  await without.prints(/Try it:/)
  without.signal("SIGTERM")
  expect((await without.ended).stdout).not.toContain("#token=")
})

it("serve refuses a console that people cannot sign in to as the settings say", async () => {
  const refused = async (...flags: ReadonlyArray<string>) => {
    const { code, stderr, stdout } = await run(["serve", "--port", "0", "--data-dir", folder(), ...flags])
    expect([code, stdout]).toEqual([1, ""])
    return stderr
  }
  expect(await refused("--console-oidc-issuer", "https://login.example")).toContain(
    "--console-oidc-issuer needs --console-oidc-client-id and --console-public-url."
  )
  const oidc = ["--console-oidc-issuer", "https://login.example", "--console-oidc-client-id", "gateway"]
  expect(await refused(...oidc, "--console-public-url", "http://gateway.example")).toContain(
    "--console-public-url must be an https URL, except at localhost: a browser would not keep a sign-in by --console-oidc-issuer."
  )
  expect(await refused("--console-proxy-user-header", "x-forwarded-user")).toContain(
    "--console-proxy-user-header needs --trusted-proxies: the header is believed of these only."
  )
})

it("serve offers the ways to sign in that the settings name", async () => {
  const oidc = ["--console-oidc-issuer", "http://127.0.0.1:1", "--console-oidc-client-id", "gateway"]
  const proxy = ["--console-proxy-user-header", "X-Forwarded-User", "--trusted-proxies", "127.0.0.1"]
  const gateway = await serve(folder(), [...oidc, ...proxy, "--console-public-url", "http://localhost"])
  const headers = { "x-forwarded-user": "ada", connection: "close" }
  const response = await fetch(`${gateway.origin}/console/session`, { headers })
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { session: null, ways: [{ kind: "proxy" }, { kind: "oidc" }, { kind: "key" }, { kind: "link" }] }
  ])
})
