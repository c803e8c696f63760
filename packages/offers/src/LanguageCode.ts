/**
 * The ISO 639-1 code of a language, from the names and codes that upstreams use.
 *
 * Some upstreams spell languages out ("english"), others use locales ("en-US") or ISO 639-3
 * ("eng").
 *
 * @since 0.1.0
 */

/** Names that differ from those of the Unicode locale data. Mostly Whisper's. */
const otherNames: Readonly<Record<string, string>> = {
  bengali: "bn",
  castilian: "es",
  flemish: "nl",
  haitian: "ht",
  letzeburgesch: "lb",
  mandarin: "zh",
  maori: "mi",
  moldavian: "ro",
  moldovan: "ro",
  myanmar: "my",
  nynorsk: "nn",
  panjabi: "pa",
  pushto: "ps",
  sinhalese: "si",
  tagalog: "tl",
  valencian: "ca"
}

const english = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" })

/** The code that is not deprecated, such as `he` for `iw`. */
const current = (code: string): string => {
  const [canonical = code] = Intl.getCanonicalLocales(code)
  return /^[a-z]{2}$/.test(canonical) ? canonical : code
}

const letters = Array.from({ length: 26 }, (_, at) => String.fromCharCode(97 + at))

const codes: ReadonlyMap<string, string> = new Map([
  ...letters
    .flatMap((first) => letters.map((second) => first + second))
    .flatMap((code) => {
      const name = english.of(code)
      return name === undefined ? [] : [[name.toLowerCase(), current(code)] as const]
    }),
  ...Object.entries(otherNames)
])

const ofCode = (code: string): string | undefined => {
  if (!/^[a-z]{2,3}$/.test(code)) return undefined
  const [canonical = code] = Intl.getCanonicalLocales(code)
  if (/^[a-z]{2}$/.test(canonical)) return english.of(canonical) === undefined ? undefined : canonical
  return code.length === 2 && english.of(code) !== undefined ? code : undefined
}

/**
 * The ISO 639-1 code of a language's English name, code or locale. Undefined if it has none.
 *
 * @example
 * ```ts
 * import * as LanguageCode from "@model-gateway/offers/LanguageCode"
 *
 * LanguageCode.iso6391("english") // "en"
 * LanguageCode.iso6391("pt-BR") // "pt"
 * LanguageCode.iso6391("cantonese") // undefined
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const iso6391 = (language: string): string | undefined => {
  const word = language.trim().toLowerCase()
  return codes.get(word.replaceAll("_", " ")) ?? ofCode(word.split(/[-_]/, 1)[0] ?? "")
}
