/** The fonts of title cards. */

// A font family can be loaded from one file only, and these families have a file per script.
const families = [
  ["noto-sans", ["latin", "latin-ext", "cyrillic", "cyrillic-ext", "greek", "greek-ext", "vietnamese", "devanagari"]],
  ["noto-sans-arabic", ["arabic"]],
  ["noto-sans-hebrew", ["hebrew"]]
] as const

/** Each script's font, in the order in which a letter is looked for. `file` is in a package. */
export const fonts = families.flatMap(([family, scripts]) =>
  scripts.map((script) => ({
    alias: `card ${family} ${script}`,
    file: `@fontsource/${family}/files/${family}-${script}-700-normal.woff2`
  }))
)
