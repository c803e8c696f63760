/** The proxies that operators put in front of the gateway. */
import { findProgram, forTests, fromDebian } from "./Program.ts"

const program = (name: "caddy" | "nginx", megabytes: number) =>
  fromDebian({
    name,
    title: name,
    purpose: "the tests behind a proxy",
    packages: [name],
    megabytes,
    // Debian has it where only root looks.
    find: () => findProgram(name, `../sbin/${name}`)
  })

export const nginx = program("nginx", 3)

export const caddy = program("caddy", 40)

/** Their paths. Undefined: the test is skipped. */
export const nginxProgram = (): string | undefined => forTests(nginx)

export const caddyProgram = (): string | undefined => forTests(caddy)
