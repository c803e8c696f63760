/** Chooses the range of time that the pages show, in UTC. */
import { useState } from "react"
import { Dialog } from "../parts/Dialog.tsx"
import { TextField } from "../parts/Fields.tsx"
import { time } from "../parts/format.ts"
import { useFrameSearch, useSetFrame } from "./navigation.ts"
import { rangeLabels, rangeNames, rangeOf } from "./range.ts"

const own = "own"

/** The value of an input for a local time, which we read as UTC. */
const inputOf = (iso: string): string => iso.slice(0, 16)

const OwnRange = ({ onClose }: { readonly onClose: () => void }) => {
  const search = useFrameSearch()
  const range = rangeOf(search)
  const set = useSetFrame()
  const [from, setFrom] = useState(inputOf(range.from))
  const [to, setTo] = useState(inputOf(range.to ?? new Date().toISOString()))
  const isValid = from !== "" && to !== "" && from < to
  return (
    <Dialog title="Range of time" onClose={onClose}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault()
          void set({
            range: undefined,
            from: new Date(`${from}Z`).toISOString(),
            to: new Date(`${to}Z`).toISOString()
          })
          onClose()
        }}
      >
        <TextField label="From (UTC)" name="from" type="datetime-local" value={from} onChange={setFrom} required />
        <TextField
          label="To (UTC)"
          name="to"
          type="datetime-local"
          value={to}
          onChange={setTo}
          required
          hint={isValid ? undefined : "The end must be after the start."}
        />
        <footer>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!isValid}>
            Show
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

export const RangePicker = () => {
  const search = useFrameSearch()
  const set = useSetFrame()
  const [isOpen, setOpen] = useState(false)
  const range = rangeOf(search)
  return (
    <>
      <select
        aria-label="Range of time"
        value={search.from === undefined ? (search.range ?? "24h") : own}
        onChange={({ target }) => {
          const range = rangeNames.find((name) => name === target.value)
          if (range === undefined) setOpen(true)
          else void set({ range, from: undefined, to: undefined })
        }}
      >
        {rangeNames.map((name) => (
          <option key={name} value={name}>
            {rangeLabels[name]}
          </option>
        ))}
        <option value={own}>
          {search.from === undefined
            ? "Other range …"
            : `${time(range.from).slice(0, 16)} to ${range.to === undefined ? "now" : time(range.to).slice(0, 16)}`}
        </option>
      </select>
      {search.from !== undefined && (
        <button type="button" className="quiet" onClick={() => setOpen(true)}>
          Change
        </button>
      )}
      {isOpen && <OwnRange onClose={() => setOpen(false)} />}
    </>
  )
}
