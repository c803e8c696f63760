// The navigation of the site: the lists of docs/README.md, with the pages that docs/decisions/README.md
// and docs/reference/providers.md list below their own.
import { readFileSync } from "node:fs"
import { posix } from "node:path"

const link = /\[([^\]]+)\]\(([^)\s]+\.md)\)/g

const plain = (text) => text.replaceAll(/[`*]/g, "")

/** The links of a text, as items of the sidebar. Paths are those of the site. */
const linksIn = (text, folder) =>
  [...text.matchAll(link)]
    .filter(([, , path]) => !posix.join(folder, path).startsWith(".."))
    .map(([, title, path]) => ({ text: plain(title), link: pageOf(posix.join(folder, path)) }))

/** The address of a page of docs. */
export const pageOf = (file) => `/${file.replace(/(^|\/)README\.md$/, "$1").replace(/\.md$/, "")}`

/** Pages of which only another page lists all. */
const lists = ["decisions/README.md", "reference/providers.md"]

/** An item of a list. One that begins with words and has several links is a group of them. */
const itemsOf = (item, docs) => {
  const links = linksIn(item, "")
  const [first] = links
  if (first === undefined) return []
  const before = /^[^[]+/.exec(item)?.[0].trim() ?? ""
  if (before !== "" && links.length > 1) {
    return [{ text: before.replace(/ from$/, ""), collapsed: true, items: links }]
  }
  return links.map((each) => {
    const list = lists.find((file) => pageOf(file) === each.link)
    if (list === undefined) return each
    const items = linksIn(readFileSync(`${docs}/${list}`, "utf8"), posix.dirname(list))
    const below = items.filter(
      ({ link: page }) => page.startsWith(`${posix.dirname(`${each.link}x`)}/`) && page !== each.link
    )
    const unique = [...new Map(below.map((page) => [page.link, page])).values()]
    return { ...each, collapsed: true, items: unique }
  })
}

/** The lists of a section: of the section itself, or one for each of its headings. */
const groupOf = (title, text, docs, collapsed) => ({
  text: title,
  collapsed,
  items: text
    .split(/^- /m)
    .slice(1)
    .flatMap((item) => itemsOf(item.replaceAll(/\s+/g, " "), docs))
})

/** The sidebar. `docs` is the folder of the pages. */
export const sidebar = (docs) =>
  readFileSync(`${docs}/README.md`, "utf8")
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const [title = "", ...lines] = section.split("\n")
      const [own = "", ...parts] = lines.join("\n").split(/^### /m)
      const group = groupOf(title, own, docs, false)
      const groups = parts.map((part) => {
        const [heading = "", ...rest] = part.split("\n")
        return groupOf(heading, rest.join("\n"), docs, false)
      })
      return { ...group, items: [...group.items, ...groups] }
    })
