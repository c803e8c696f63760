/** The release before this commit, from its tag. */
import { run, root, succeed } from "@model-gateway/test-services/Command"
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"

/**
 * Its tag. Undefined: this commit has none before it, or the clone has no history (`git clone
 * --depth`).
 */
export const previousRelease = async (): Promise<string | undefined> => {
  const newestFirst = ["--merged", "HEAD", "--no-contains", "HEAD", "--sort=-version:refname"]
  const { code, stdout } = await run("git", ["tag", "--list", "@model-gateway/gateway@*", ...newestFirst], {
    cwd: root
  })
  return code === 0 ? stdout.split("\n").find((tag) => tag !== "") : undefined
}

/**
 * Sets the release up in a folder of its own, and packs its executable with its own tools, which
 * takes minutes. Returns the path of the tarball.
 */
export const packRelease = async (tag: string, to: string): Promise<string> => {
  // Not in the temporary folder of the tests, which is in memory.
  const folder = mkdtempSync("/var/tmp/model-gateway-release-")
  const tree = join(folder, "tree")
  try {
    await succeed("git", ["worktree", "add", "--detach", tree, tag], { cwd: root })
    await succeed("npm", ["run", "setup"], { cwd: tree })
    const tarball = join(to, "release.tgz")
    await succeed(join(tree, "node_modules/.bin/pnpm"), ["pack", "--out", tarball], { cwd: join(tree, "apps/gateway") })
    return tarball
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await run("git", ["worktree", "prune"], { cwd: root })
  }
}
