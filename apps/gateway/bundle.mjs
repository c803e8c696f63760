// Makes the folder that is published, `bundle`: the executable with all of its libraries, except
// the one with native code. It is the last step of the build, and what clones and tests start, too.
// Decision 22 has the reasons and the figures.
//
// The test of a rolling upgrade makes a later version by `bundle`: with another number and
// migration.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { rolldown } from "rolldown"

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "../..")
const sandbox = join(root, "packages/sandbox")
const { fonts } = await import(pathToFileURL(join(sandbox, "dist/internal/titleCardFonts.js")).href)
const fromSandbox = createRequire(join(sandbox, "package.json"))
const readJson = (path) => JSON.parse(readFileSync(path, "utf8"))

/** Installed beside the executable: native code, in a package for each platform. */
const native = "@napi-rs/canvas"

/** WebAssembly and its loader in one file, which is copied as it is. */
const encoder = "h264-mp4-encoder"

/**
 * The modules of this repository that look for a file beside them, the place that they name, and
 * the one that they name in the bundle. All modules of the bundle are in `dist`.
 */
const moved = {
  "apps/gateway/dist/Settings.js": [`"../page"`, `"../page"`],
  "apps/gateway/dist/Version.js": [`"../package.json"`, `"../package.json"`],
  "packages/mcp/dist/internal/version.js": [`"../../package.json"`, `"../package.json"`],
  "packages/offers/dist/internal/audioThread.js": ["`./audioWorker.", "`./audioWorker."],
  "packages/sandbox/dist/TitleCard.js": ["`./internal/titleCardWorker.", "`./titleCardWorker."],
  // It looks for a package, which is beside the bundle.
  "packages/sandbox/dist/internal/canvas.js": ["createRequire(import.meta.url)", "createRequire(import.meta.url)"],
  "packages/sandbox/dist/internal/titleCardLettering.js": [
    "resolve(file)",
    `resolve(file.replace(/.*\\//, "./fonts/"))`
  ],
  // Imported, so that the bundle contains it.
  "packages/sandbox/dist/internal/titleCardMp4.js": [`createRequire(import.meta.url)("mediabunny")`, "mediabunny"],
  "packages/server/dist/site/Docs.js": [`"../../assets/`, `"./assets/`]
}

const replaceOnce = (code, before, after, path) => {
  if (code.split(before).length !== 2) throw new Error(`apps/gateway/bundle.mjs: ${before} is not once in ${path}`)
  return code.replace(before, () => after)
}

const places = {
  name: "places",
  transform: {
    filter: { id: /\.js$/, code: /import\.meta|createRequire/ },
    handler: (code, id) => {
      // The bundler has a module of its own, whose name is no path.
      if (id.includes("node_modules") || !isAbsolute(id)) return null
      const path = relative(root, id).split(sep).join("/")
      const places = moved[path]
      if (places === undefined) throw new Error(`apps/gateway/bundle.mjs does not say where ${path} finds its files.`)
      const [before, after] = places
      const replaced = replaceOnce(code, before, after, path)
      return after === "mediabunny" ? `import * as mediabunny from "mediabunny"\n${replaced}` : replaced
    }
  }
}

/**
 * Of undici, only what the gateway uses. Its index also loads mocks, caches, WebSockets and a
 * `fetch`, at every start.
 */
const partsOfUndici = {
  name: "parts-of-undici",
  transform: {
    filter: { id: /platform-node\/dist\/Undici\.js$/ },
    handler: () => ({
      moduleSideEffects: true,
      code: `
      import Agent from "undici/lib/dispatcher/agent.js"
      import Dispatcher from "undici/lib/dispatcher/dispatcher.js"
      import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js"
      import Pool from "undici/lib/dispatcher/pool.js"
      import methods from "undici/lib/api/index.js"
      import { FormData } from "undici/lib/web/fetch/formdata.js"
      Object.assign(Dispatcher.prototype, methods)
      export { Agent, EnvHttpProxyAgent, FormData, Pool }`
    })
  }
}

/**
 * An `import` of `node:http` reads everything that the module exports. For three of its names Node
 * then loads its own `fetch`, which takes 50 ms. Nothing here uses them.
 */
const httpWithoutFetch = {
  name: "http-without-fetch",
  resolveId: {
    filter: { id: /^(?:node:)?http$/ },
    handler: (_id, _importer, { kind }) => (kind === "require-call" ? null : "\0http-without-fetch")
  },
  load: {
    filter: { id: /^\0http-without-fetch$/ },
    handler: () => {
      const loadsFetch = ["CloseEvent", "MessageEvent", "WebSocket"]
      const names = Object.keys(createRequire(import.meta.url)("node:http")).filter(
        (name) => !loadsFetch.includes(name)
      )
      return `const http = process.getBuiltinModule("node:http");\nexport const { ${names.join(", ")} } = http;\nexport default http;\n`
    }
  }
}

/**
 * Node keeps a text with one character above Latin-1 in two bytes a character. With all characters
 * beyond ASCII escaped, the largest files take half the memory. Such characters are in texts and
 * regular expressions only.
 */
const ascii = {
  name: "ascii",
  generateBundle: (_options, files) => {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue
      const escaped = /\\[^\0-\x7f]/.exec(file.code)
      if (escaped !== null) throw new Error(`apps/gateway/bundle.mjs: ${escaped[0]} in ${file.name} cannot be escaped`)
      file.code = file.code.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    }
  }
}

const outside = {
  name: "outside",
  resolveId: {
    filter: { id: /^[^./]/ },
    handler: (id) => {
      if (id === native) return { id, external: true }
      if (id === encoder) return { id: `./${encoder}.cjs`, external: "relative" }
      return null
    }
  }
}

/** The folder of the library that a file comes from. */
const inLibrary = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/

/** The licenses of what may be in it. OFL-1.1 is that of the fonts. */
const allowed = ["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "OFL-1.1"]

const notice = (folder) => {
  const { license, name, version } = readJson(join(folder, "package.json"))
  if (!allowed.includes(license)) throw new Error(`apps/gateway/bundle.mjs: ${name} has the license ${license}`)
  const texts = readdirSync(folder)
    .filter((file) => /^(?:licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(folder, file), "utf8").trim())
  const source = `https://www.npmjs.com/package/${name}/v/${version}`
  return [
    `## ${name} ${version}`,
    `${license}. Source: <${source}>`,
    ...texts.map((text) => `\`\`\`\`\n${text}\n\`\`\`\``)
  ]
}

const own = readJson(join(here, "package.json"))

/**
 * Writes the package into the folder `to`, which it empties first. `plugins` are further ones of
 * rolldown.
 */
export const bundle = async ({ to = join(here, "bundle"), version = own.version, plugins = [] } = {}) => {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to)

  const build = await rolldown({
    input: {
      main: join(here, "dist/main.js"),
      audioWorker: join(root, "packages/offers/dist/internal/audioWorker.js"),
      titleCardWorker: join(sandbox, "dist/internal/titleCardWorker.js")
    },
    platform: "node",
    // Some libraries have a form for bundlers beside one that finds its modules only at run time.
    resolve: { mainFields: ["module", "main"] },
    plugins: [outside, httpWithoutFetch, places, partsOfUndici, ...plugins, ascii]
  })
  const { output } = await build.write({
    dir: join(to, "dist"),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    comments: { annotation: false, jsdoc: false, legal: false }
  })
  await build.close()

  const copy = (from, name) => cpSync(from, join(to, name), { recursive: true })
  copy(fromSandbox.resolve(encoder), `dist/${encoder}.cjs`)
  for (const { file } of fonts) copy(fromSandbox.resolve(file), `dist/fonts/${basename(file)}`)
  copy(join(root, "packages/server/assets"), "dist/assets")
  copy(join(root, "apps/sample/dist/web"), "page/sample")
  const application = join(root, "apps/console/dist/web")
  // Not the manifest of its build.
  cpSync(application, join(to, "page/application"), {
    recursive: true,
    filter: (from) => !basename(from).startsWith(".")
  })
  copy(join(here, "README.md"), "README.md")
  copy(join(root, "LICENSE"), "LICENSE")
  // Not the list of the folder, whose links lead to a clone, nor what was made in a clone to try
  // it.
  const deploy = join(root, "deploy")
  const notPacked = ["README.md", "compose/secrets", "prometheus/metrics-token"].map((name) => join(deploy, name))
  cpSync(deploy, join(to, "deploy"), { recursive: true, filter: (from) => !notPacked.includes(from) })

  const { description, engines, homepage, license, name, optionalDependencies, publishConfig, repository, type } = own
  const manifest = {
    name,
    version,
    description,
    license,
    homepage,
    repository,
    type,
    engines,
    bin: { "model-gateway": "./dist/main.js" },
    optionalDependencies,
    publishConfig: { access: publishConfig.access }
  }
  writeFileSync(join(to, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`)

  /** The folders of the libraries that a file of the bundle comes from. */
  const libraries = new Set()
  const add = (file) => {
    const [folder] = inLibrary.exec(file) ?? []
    if (folder !== undefined) libraries.add(folder)
  }
  for (const chunk of output) if (chunk.type === "chunk") chunk.moduleIds.forEach(add)
  for (const file of [encoder, ...fonts.map(({ file }) => file)]) add(fromSandbox.resolve(file))

  writeFileSync(
    join(to, "THIRD-PARTY-NOTICES.md"),
    [
      "# Libraries that the executable contains",
      "`dist/assets/openapi-explorer.LICENSE` is the license of the API reference's script.",
      ...Array.from(libraries, notice).toSorted().flat()
    ].join("\n\n") + "\n"
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundle()
