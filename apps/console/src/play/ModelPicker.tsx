/** Chooses a model: by name, provider, price or what it can do. Simulators of errors are apart. */
import { type KeyboardEvent, useState } from "react"
import { Dialog } from "../parts/Dialog.tsx"
import { Icon } from "../parts/Icon.tsx"
import { simulatedStatus } from "../parts/simulators.ts"
import { abilitiesOf, type Kind, type Model, priceOf, search } from "./shared/models.ts"
import { useAccess, useModel, useModels } from "./shared/useModels.ts"

/** The arrow keys go from model to model. */
const move = (event: KeyboardEvent<HTMLElement>) => {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0
  if (step === 0) return
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>("input, .picks button")]
  const at = stops.findIndex((stop) => stop === document.activeElement)
  stops[Math.max(0, Math.min(stops.length - 1, at + step))]?.focus()
  event.preventDefault()
}

const Choices = ({
  chosen,
  models,
  onChoose
}: {
  readonly models: ReadonlyArray<Model>
  readonly chosen: string
  readonly onChoose: (id: string) => void
}) => (
  <ul className="picks">
    {models.map((model) => (
      <li key={model.id}>
        <button type="button" aria-pressed={model.id === chosen} onClick={() => onChoose(model.id)}>
          <span className="choice-name">
            <strong>{model.name}</strong>
            <code>{model.id}</code>
          </span>
          <span className="hint">
            {[model.providers.join(", "), priceOf(model), ...abilitiesOf(model)].filter(Boolean).join(" · ")}
          </span>
        </button>
      </li>
    ))}
  </ul>
)

const Picker = ({
  chosen,
  kind,
  onChoose,
  onClose
}: {
  readonly kind: Kind
  readonly chosen: string
  readonly onChoose: (id: string) => void
  readonly onClose: () => void
}) => {
  const all = useModels(kind)
  const [text, setText] = useState("")
  const { models, simulators } = search(all, text)
  return (
    <Dialog title="Choose a model" onClose={onClose}>
      <div className="picker" onKeyDown={move}>
        <input
          type="search"
          aria-label="Search models"
          placeholder="Name, provider or ability"
          value={text}
          autoFocus
          onChange={({ target }) => setText(target.value)}
        />
        <Choices models={models} chosen={chosen} onChoose={onChoose} />
        {simulators.length > 0 && (
          <details open={text !== "" || simulatedStatus(chosen) !== undefined}>
            <summary>Test errors ({simulators.length})</summary>
            <p className="hint">Each of these answers every request with one error, so that you can test a program.</p>
            <Choices models={simulators} chosen={chosen} onChoose={onChoose} />
          </details>
        )}
        {models.length + simulators.length === 0 && (
          <p className="hint" role="status">
            {all.length === 0 ? "Enter a key to see the models." : "No model has all these words."}
          </p>
        )}
      </div>
    </Dialog>
  )
}

export const ModelPicker = ({
  kind,
  label = "Model",
  onChange,
  value
}: {
  readonly kind: Kind
  readonly label?: string
  readonly value: string
  readonly onChange: (id: string) => void
}) => {
  const [isOpen, setOpen] = useState(false)
  const model = useModel(value, kind)
  const models = useModels(kind)
  const access = useAccess()
  const isUnknown = model === undefined && models.length > 0 && access.label !== undefined
  return (
    <div className="field">
      <span className="field-label" aria-hidden="true">
        {label}
      </span>
      <button type="button" className="model-button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <span className="sr">{label}: </span>
        <span className="choice-name">
          {model !== undefined && <strong>{model.name}</strong>}
          <code>{value}</code>
        </span>
        <Icon name="down" />
      </button>
      {model !== undefined && (
        <p className="hint">{[priceOf(model), ...abilitiesOf(model)].filter(Boolean).join(" · ")}</p>
      )}
      {isUnknown && <p className="issue">The gateway does not offer this model to the key. Choose another one.</p>}
      {isOpen && (
        <Picker
          kind={kind}
          chosen={value}
          onChoose={(id) => {
            onChange(id)
            setOpen(false)
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </div>
  )
}
