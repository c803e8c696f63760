/** How to send a request: in the playground, or with a command. */
import { base } from "../api/http.ts"
import { CopyButton } from "./Copy.tsx"
import { Icon } from "./Icon.tsx"

export const FirstRequest = () => {
  const command = `curl ${new URL("../api/v1/rerank", base).href} \\
  -H "Authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "sandbox/bm25", "query": "pears", "documents": ["apples", "pears"]}'`
  return (
    <>
      <a className="button" href={new URL("../play", base).href}>
        <Icon name="play" />
        Send one in the playground
      </a>
      <div className="command">
        <pre tabIndex={0}>{command}</pre>
        <CopyButton text={command} label="Copy the command" />
      </div>
    </>
  )
}
