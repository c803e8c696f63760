import { assert, describe, it } from "@effect/vitest"
import { iso6391 } from "../src/LanguageCode.ts"

/** The languages of Whisper: https://github.com/openai/whisper/blob/main/whisper/tokenizer.py. */
const whisper =
  "en:english zh:chinese de:german es:spanish ru:russian ko:korean fr:french ja:japanese pt:portuguese tr:turkish " +
  "pl:polish ca:catalan nl:dutch ar:arabic sv:swedish it:italian id:indonesian hi:hindi fi:finnish vi:vietnamese " +
  "he:hebrew uk:ukrainian el:greek ms:malay cs:czech ro:romanian da:danish hu:hungarian ta:tamil no:norwegian " +
  "th:thai ur:urdu hr:croatian bg:bulgarian lt:lithuanian la:latin mi:maori ml:malayalam cy:welsh sk:slovak " +
  "te:telugu fa:persian lv:latvian bn:bengali sr:serbian az:azerbaijani sl:slovenian kn:kannada et:estonian " +
  "mk:macedonian br:breton eu:basque is:icelandic hy:armenian ne:nepali mn:mongolian bs:bosnian kk:kazakh " +
  "sq:albanian sw:swahili gl:galician mr:marathi pa:punjabi si:sinhala km:khmer sn:shona yo:yoruba so:somali " +
  "af:afrikaans oc:occitan ka:georgian be:belarusian tg:tajik sd:sindhi gu:gujarati am:amharic yi:yiddish lo:lao " +
  "uz:uzbek fo:faroese ht:haitian_creole ps:pashto tk:turkmen nn:nynorsk mt:maltese sa:sanskrit lb:luxembourgish " +
  "my:myanmar bo:tibetan tl:tagalog mg:malagasy as:assamese tt:tatar ln:lingala ha:hausa ba:bashkir jv:javanese " +
  "su:sundanese my:burmese ca:valencian nl:flemish ht:haitian lb:letzeburgesch ps:pushto pa:panjabi ro:moldavian " +
  "ro:moldovan si:sinhalese es:castilian zh:mandarin"

describe("iso6391", () => {
  it("maps the names that Whisper uses", () => {
    for (const pair of whisper.split(" ")) {
      const [code = "", name = ""] = pair.split(":")
      assert.deepStrictEqual([name, iso6391(name), iso6391(code)], [name, code, code])
    }
    assert.strictEqual(iso6391("English"), "en")
    assert.strictEqual(iso6391("Haitian Creole"), "ht")
  })

  it("maps locales, longer codes and codes that were replaced", () => {
    const expected = { "en-US": "en", pt_BR: "pt", "zh-Hant-TW": "zh", eng: "en", deu: "de", iw: "he", jw: "jv" }
    for (const [said, code] of Object.entries(expected)) assert.strictEqual(iso6391(said), code)
  })

  it("knows no code of languages without one, nor of other words", () => {
    for (const word of [
      "cantonese",
      "yue",
      "hawaiian",
      "haw",
      "multi",
      "zxx",
      "xx",
      "",
      "x",
      "<unknown>",
      "en\u0000"
    ]) {
      assert.isUndefined(iso6391(word), word)
    }
  })
})
