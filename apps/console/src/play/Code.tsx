/** The request of the form as a program, in five ways. */
import { useId, useState } from "react"
import { base } from "../api/http.ts"
import { CopyButton } from "../parts/Copy.tsx"
import { type CodeCall, type Language, languages, programOf } from "./shared/programs.ts"
import { Tabs } from "./Tabs.tsx"

export const Code = ({ call }: { readonly call: CodeCall }) => {
  const id = useId()
  const [language, setLanguage] = useState<Language>("curl")
  const program = programOf(language, call)
  return (
    <section className="card code" aria-label="Code">
      <Tabs label="Languages" tabs={languages} selected={language} onSelect={setLanguage} controls={() => id} />
      <div id={id} role="tabpanel" className="code-panel" aria-label={language}>
        <CopyButton text={program} label="Copy the program" />
        <pre tabIndex={0}>{program}</pre>
      </div>
      <p className="hint">
        It reads <code>MODEL_GATEWAY_BASE_URL</code> (here <code>{new URL("api/v1", base).href}</code>) and{" "}
        <code>MODEL_GATEWAY_API_KEY</code>. {call.note}
      </p>
    </section>
  )
}
