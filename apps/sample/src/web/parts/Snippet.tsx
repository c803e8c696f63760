/** Shows the example code of a panel. */
import { CopyButton } from "./CopyButton.tsx"

const token =
  /(?<comment>\/\/[^\n]*)|(?<string>"[^"\n]*"|`[^`]*`)|(?<keyword>\b(?:import|from|const|export|function|yield|return|new|type|declare)\b\*?)|(?<number>\b\d[\d_.]*\b)/g

const highlighted = (code: string) => {
  const parts: Array<React.ReactNode> = []
  let at = 0
  for (const match of code.matchAll(token)) {
    parts.push(code.slice(at, match.index))
    const [kind = ""] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? []
    parts.push(
      <span key={match.index} className={`code-${kind}`}>
        {match[0]}
      </span>
    )
    at = match.index + match[0].length
  }
  parts.push(code.slice(at))
  return parts
}

export const Snippet = ({ code, title }: { readonly code: string; readonly title: string }) => {
  const text = code.trim()
  return (
    <aside className="snippet" aria-label={`${title} in TypeScript`}>
      <header>
        <h3>In TypeScript</h3>
        <CopyButton label="Copy the code" text={text} />
      </header>
      {/* It scrolls, so the keyboard must be able to focus it. */}
      <pre tabIndex={0} role="region" aria-label="Code">
        <code>{highlighted(text)}</code>
      </pre>
    </aside>
  )
}
