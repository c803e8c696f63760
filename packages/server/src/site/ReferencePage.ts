/**
 * The page of the API reference. The custom element `openapi-explorer` shows the OpenAPI document;
 * this page adds the colors and a table of the errors of each operation.
 */
import type { Preset } from "@model-gateway/core/WireNames"
import { Schema } from "effect"

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** A description as HTML: escaped, with `code`. */
const inline = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

const advice: Readonly<Record<string, string>> = {
  400: "Correct the fields that <code>error.metadata.issues</code> lists.",
  401: "Check the key. Do not retry.",
  402: "Add credits, or raise the limit that the message names.",
  403: "Use a key of the required kind, or change the guardrail.",
  404: "Check the identifier and the workspace.",
  413: "Send a smaller body.",
  429: "Retry after the seconds in <code>Retry-After</code>.",
  500: "Retry, with the same <code>Idempotency-Key</code> if the operation has one. Report the value of <code>x-request-id</code> if it lasts.",
  502: "Retry, with the same <code>Idempotency-Key</code> if the operation has one, or choose another model.",
  503: "Retry after the seconds in <code>Retry-After</code>.",
  504: "Retry with the same <code>Idempotency-Key</code>, or send shorter audio.",
  524: "Retry, with the same <code>Idempotency-Key</code> if the operation has one, or choose another model.",
  529: "Retry after the seconds in <code>Retry-After</code>, or choose another model."
}

const errorsOf = (errors: ReadonlyArray<readonly [status: string, description: string]>): string => {
  if (errors.length === 0) return ""
  const rows = errors.map(
    ([status, description]) =>
      `<tr><th scope="row">${status}</th><td>${inline(description)}</td><td>${advice[status] ?? ""}</td></tr>`
  )
  return `<details class="errors"><summary>Errors: ${errors.map(([status]) => status).join(", ")}</summary>
<table><thead><tr><th scope="col">Status</th><th scope="col">Meaning</th><th scope="col">What to do</th></tr></thead><tbody>
${rows.join("\n")}
</tbody></table></details>`
}

/** What this page reads of the OpenAPI document. */
const Document = Schema.Struct({
  info: Schema.Struct({ title: Schema.String, version: Schema.String }),
  paths: Schema.Record(
    Schema.String,
    Schema.Record(
      Schema.String,
      Schema.Struct({
        summary: Schema.optionalKey(Schema.String),
        responses: Schema.Record(Schema.String, Schema.Struct({ $ref: Schema.optionalKey(Schema.String) }))
      })
    )
  ),
  components: Schema.Struct({
    responses: Schema.Record(Schema.String, Schema.Struct({ description: Schema.String }))
  })
})

/** The element's id of an operation, which is also the name of its slot and its route. */
const idOf = (method: string, path: string): string => `${method}-${path.replaceAll(/[\s#:?&={}-]+/g, "-")}`

/** The tasks of the playground. */
const tasks: Readonly<Record<string, string>> = {
  "post-/rerank": "rerank",
  "post-/audio/transcriptions": "transcription",
  "post-/videos": "video"
}

const tryOf = (id: string, hasPlayground: boolean): string => {
  const task = hasPlayground ? tasks[id] : undefined
  const link = task === undefined ? "" : ` <a href="play?operation=${task}">Open the playground</a>`
  return `<p class="try"><button type="button" data-try>Try it</button>${link}</p>`
}

/** The element computes with these colors, and reads only colors without functions. */
const computed = ["purple", "red", "orange", "yellow", "green", "blue", "gray"]
  .map((name) => `@property --${name} { syntax: "<color>"; inherits: true; initial-value: #545d6b; }`)
  .join("\n")

/** The colors have a contrast of at least 4.5 to 1, in light and in dark. */
const style = `
${computed}
:root { color-scheme: light dark; }
body { margin: 0; display: flex; flex-direction: column; background: light-dark(#ffffff, #171b21); }
@media (min-width: 768px) { body { height: 100vh; } openapi-explorer { flex: 1; min-height: 0; } }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; padding: .5rem 1rem;
  border-bottom: 1px solid light-dark(#dce0e6, #2b323c); background: light-dark(#f5f6f8, #0f1216);
  color: light-dark(#171b22, #e7eaef); font: 15px/1.4 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.1rem; }
header a, .menu a, .try a { color: light-dark(#2252cc, #8fb2ff); }
header nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; }
/* On phones the element has no navigation. */
.menu { display: none; }
@media (max-width: 767.98px) {
  html { scroll-padding-top: 3.5rem; }
  header a { padding: .15rem 0; }
  .menu { display: block; position: sticky; top: 0; z-index: 2; padding: 0 1rem; font: 15px/1.4 system-ui, sans-serif;
    border-bottom: 1px solid light-dark(#dce0e6, #2b323c); background: light-dark(#f5f6f8, #0f1216); color: light-dark(#171b22, #e7eaef); }
  .menu summary { padding: .6rem 0; font-weight: 600; cursor: pointer; }
  .menu input { box-sizing: border-box; width: 100%; padding: .5rem; border: 1px solid light-dark(#7d8796, #6d7887); border-radius: 6px;
    background: light-dark(#ffffff, #11151a); color: inherit; font: inherit; }
  .menu ul { margin: .5rem 0 0; padding: 0; max-height: 60vh; overflow: auto; list-style: none; }
  .menu li a { display: block; padding: .6rem 0; border-top: 1px solid light-dark(#dce0e6, #2b323c); text-decoration: none; }
  .menu code { display: block; color: light-dark(#454d59, #bcc4cf); font: 13px ui-monospace, "DejaVu Sans Mono", monospace; }
}
.try { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin: 1rem 0; font: 15px/1.5 system-ui, sans-serif; }
.try button { min-height: 36px; padding: 0 1rem; border: 0; border-radius: 6px; background: light-dark(#2252cc, #8fb2ff);
  color: light-dark(#ffffff, #0c1a3a); font: inherit; font-weight: 600; cursor: pointer; }
.try button:hover { background: light-dark(#1b45b0, #a9c4ff); }
openapi-explorer {
  --bg: light-dark(#ffffff, #171b21); --bg2: light-dark(#f5f6f8, #11151a); --bg3: light-dark(#eceff3, #1f252d);
  --light-bg: light-dark(#eceff3, #1f252d);
  --fg: light-dark(#171b22, #e7eaef); --fg2: light-dark(#2c333d, #d5dae1); --fg3: light-dark(#454d59, #bcc4cf);
  --light-fg: light-dark(#545d6b, #a4adba); --placeholder-color: light-dark(#5d6674, #97a1ae);
  --border-color: light-dark(#c3c9d2, #3a434f); --light-border-color: light-dark(#dce0e6, #2b323c);
  --input-bg: light-dark(#ffffff, #11151a); --hover-color: light-dark(#f0f2f5, #1f252d);
  --primary-color: light-dark(#2252cc, #8fb2ff); --primary-btn-text-color: light-dark(#ffffff, #0c1a3a);
  --secondary-color: light-dark(#2252cc, #8fb2ff);
  --header-bg: light-dark(#f5f6f8, #0f1216); --header-fg: light-dark(#171b22, #e7eaef);
  --header-color-darker: light-dark(#ffffff, #171b21); --header-color-border: light-dark(#7d8796, #6d7887);
  --nav-bg-color: light-dark(#f5f6f8, #0f1216); --nav-text-color: light-dark(#2c333d, #d5dae1);
  --nav-hover-bg-color: light-dark(#e8eefd, #1c2744); --nav-hover-text-color: light-dark(#1b45b0, #a9c4ff);
  --nav-hover-scrollbar-color: light-dark(#7d8796, #6d7887);
  --code-fg: light-dark(#2c333d, #d5dae1); --inline-code-fg: light-dark(#8a3208, #f2b078);
  --code-property-color: light-dark(#7a35b8, #cda4f5); --code-keyword-color: light-dark(#1b45b0, #a9c4ff);
  --code-operator-color: light-dark(#6b4a1c, #e0c08a); --code-border-color: transparent;
  --green: light-dark(#19784a, #5cd39a); --blue: light-dark(#1b5fa8, #7db8f5); --orange: light-dark(#a2480b, #f2b078);
  --red: light-dark(#b3261e, #ff9f97); --purple: light-dark(#7a35b8, #cda4f5); --yellow: light-dark(#7a5a00, #e6c65c);
  --gray: light-dark(#545d6b, #a4adba); --pink: light-dark(#a81d63, #ff9ccb); --white: light-dark(#ffffff, #171b21);
  --light-green: light-dark(#edf7f1, #16261e); --light-blue: light-dark(#ecf3fb, #162433);
  --light-orange: light-dark(#fbf1ea, #2b2016); --light-red: light-dark(#fdeeec, #331b1a);
  --light-purple: light-dark(#f5eefb, #251b30); --light-yellow: light-dark(#fbf6e4, #29240f);
  --light-gray: light-dark(#f0f2f5, #1f252d);
  --font-regular: system-ui, sans-serif; --font-mono: ui-monospace, "DejaVu Sans Mono", monospace;
  --font-size-regular: 16px; --font-size-small: 14px; --font-size-mono: 14px; --border-radius: 6px;
}
/* The element gives these the color of their background when they are pointed at. */
openapi-explorer::part(btn-try):is(:hover, :focus-visible):enabled,
openapi-explorer::part(btn-fill--resp):is(:hover, :focus-visible):enabled { color: var(--primary-btn-text-color); }
/* On phones the element hides the descriptions of fields. */
@media (max-width: 575px) {
  openapi-explorer::part(schema-key) { width: 36%; } openapi-explorer::part(schema-type) { width: 18%; }
  openapi-explorer::part(schema-description) { display: block; width: 46%; }
}
.errors { margin: 1rem 0; font: 15px/1.5 system-ui, sans-serif; color: light-dark(#171b22, #e7eaef); }
.errors summary { cursor: pointer; font-weight: 600; }
.errors table { border-collapse: collapse; margin-top: .5rem; width: 100%; }
.errors th, .errors td { border-top: 1px solid light-dark(#dce0e6, #2b323c); padding: .4rem .75rem .4rem 0; text-align: left; vertical-align: top; }
.errors code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; color: light-dark(#8a3208, #f2b078); }
`

export interface Options {
  readonly wireNames: Preset
  /** The version of the program. */
  readonly version: string | undefined
  /** Which pages are served beside this one. */
  readonly pages: { readonly playground: boolean; readonly console: boolean }
}

/**
 * The page for an OpenAPI document, which it loads from `openapi.json` beside it, whatever path the
 * service is served below. It shows the version of the program and that of the API, and says what
 * its TypeScript samples need if the words on the wire are not the neutral ones.
 */
export const make = (document: unknown, { pages, version, wireNames }: Options): string => {
  const { components, info, paths } = Schema.decodeUnknownSync(Document)(document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, summary = path }]) => ({
      id: idOf(method, path),
      line: `${method.toUpperCase()} ${path}`,
      summary,
      errors: Object.entries(responses).flatMap(([status, { $ref }]) => {
        const response = components.responses[$ref?.split("/").at(-1) ?? ""]
        return response === undefined ? [] : [[status, response.description] as const]
      })
    }))
  )
  const links = [
    ...(pages.playground ? ['<a href="play">Playground</a>'] : []),
    ...(pages.console ? ['<a href="console/">Console</a>'] : []),
    '<a href="openapi.json">OpenAPI document</a>'
  ]
  const items = operations.map(
    ({ id, line, summary }) =>
      `<li><a href="#?route=${escaped(id)}">${escaped(summary)}<code>${escaped(line)}</code></a></li>`
  )
  const slots = operations.map(
    ({ errors, id }) => `<div slot="${escaped(id)}">${tryOf(id, pages.playground)}${errorsOf(errors)}</div>`
  )
  const hint =
    wireNames === "neutral"
      ? ""
      : `\n<span>The TypeScript samples need <code>MODEL_GATEWAY_WIRE_NAMES=${wireNames}</code> in the environment.</span>`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(info.title)} API reference</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<script type="module" src="docs/openapi-explorer.js"></script>
<script type="module" src="docs/page.js"></script>
</head>
<body>
<header>
<h1>${escaped(info.title)} API</h1>
<span>${version === undefined ? "" : `Gateway ${escaped(version)}, `}API ${escaped(info.version)}</span>
<nav aria-label="Pages">${links.join("\n")}</nav>${hint}
</header>
<details class="menu">
<summary>Operations</summary>
<input type="search" aria-label="Search operations" placeholder="Search">
<ul>
${items.join("\n")}
</ul>
</details>
<openapi-explorer spec-url="openapi.json" hide-server-selection hide-components>
${slots.join("\n")}
</openapi-explorer>
</body>
</html>
`
}
