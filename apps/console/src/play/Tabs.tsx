/** Tabs: the arrow keys select the next one. */
import { useId } from "react"

export const Tabs = <Name extends string>({
  controls,
  label,
  onSelect,
  selected,
  tabs
}: {
  readonly label: string
  readonly tabs: ReadonlyArray<readonly [name: Name, title: string]>
  readonly selected: Name
  readonly onSelect: (name: Name) => void
  /** The id of what a tab shows. */
  readonly controls: (name: Name) => string
}) => {
  const id = useId()
  return (
    <div
      role="tablist"
      className="tabs"
      aria-label={label}
      onKeyDown={(event) => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0
        const at = tabs.findIndex(([name]) => name === selected)
        const next = tabs[(at + step + tabs.length) % tabs.length]
        if (step === 0 || next === undefined) return
        onSelect(next[0])
        document.getElementById(`${id}-${next[0]}`)?.focus()
      }}
    >
      {tabs.map(([name, title]) => (
        <button
          key={name}
          id={`${id}-${name}`}
          type="button"
          role="tab"
          aria-selected={name === selected}
          aria-controls={controls(name)}
          tabIndex={name === selected ? 0 : -1}
          onClick={() => onSelect(name)}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
