// The site is the pages of docs as they are. Links that leave docs lead to the repository.
import { copyFileSync, globSync, mkdirSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"
import { sidebar } from "../navigation.mjs"

const docs = fileURLToPath(new URL("../../docs", import.meta.url))

const repository = "https://github.com/model-gateway/model-gateway"

/** The anchor of a heading, as GitHub makes it: links to it are written for both. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-")

/** A link of a page. Undefined: it stays as it is. */
const outside = (href, page) => {
  if (/^[a-z]+:|^#/.test(href)) return undefined
  const [path = "", anchor] = href.split("#")
  const target = posix.normalize(posix.join("docs", posix.dirname(page), path))
  if (target.startsWith("docs/")) return undefined
  return `${repository}/blob/main/${target}${anchor === undefined ? "" : `#${anchor}`}`
}

export default defineConfig({
  srcDir: "../docs",
  outDir: "dist",
  title: "Model Gateway",
  description: "Many AI providers through one HTTP API: how to start, call, operate and extend it",
  lang: "en",
  cleanUrls: true,
  rewrites: (page) => page.replace(/(^|\/)README\.md$/, "$1index.md"),
  head: [["link", { rel: "icon", href: "data:," }]],
  themeConfig: {
    search: { provider: "local" },
    sidebar: sidebar(docs),
    outline: [2, 3],
    nav: [{ text: "Repository", link: repository }],
    docFooter: { prev: false, next: false },
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
    externalLinkIcon: true
  },
  markdown: {
    anchor: { slugify },
    config: (md) => {
      md.core.ruler.push("repository-links", ({ env, tokens }) => {
        const page = posix.relative(docs, env.path)
        for (const { children } of tokens) {
          for (const token of children ?? []) {
            const href = token.type === "link_open" ? outside(token.attrGet("href") ?? "", page) : undefined
            if (href !== undefined) token.attrSet("href", href)
          }
        }
      })
    }
  },
  vite: {
    plugins: [
      {
        // The pages are outside of this folder, and so of what is installed in it.
        name: "resolve-from-site",
        enforce: "pre",
        resolveId(id, importer) {
          return importer?.startsWith(docs) === true && /^vue(?:\/|$)/.test(id)
            ? this.resolve(id, fileURLToPath(import.meta.url), { skipSelf: true })
            : undefined
        }
      }
    ]
  },
  // Pages link to them: they are no pages.
  buildEnd: ({ outDir }) => {
    for (const file of globSync("**/*.json", { cwd: docs })) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true })
      copyFileSync(join(docs, file), join(outDir, file))
    }
  }
})
