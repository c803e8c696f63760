/** Assigns keys to a guardrail: a search, a choice of many, and a preview of who loses what. */
import { useState } from "react"
import { useChange, useRead } from "../../api/hooks.ts"
import { FilterText } from "../../parts/Filter.tsx"
import { count, counted } from "../../parts/format.ts"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { useGuardrails } from "../../parts/names.ts"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import type { Key } from "../keys/Key.tsx"
import type { Guardrail } from "./GuardrailForm.tsx"
import { Losses } from "./Losses.tsx"
import { unrestricted } from "./restriction.ts"

/** The keys that are listed at once. */
const listed = 100

export const AssignKeys = ({ of, onClose }: { readonly of: Guardrail; readonly onClose: () => void }) => {
  const [search, setSearch] = useState<string>()
  const [chosen, setChosen] = useState<ReadonlyMap<string, Key>>(new Map())
  const keys = useRead("GET /keys", { query: { search, limit: listed } })
  const guardrails = useGuardrails().data?.data ?? []
  const workspaceName = useWorkspaceName()
  const assign = useChange("POST /guardrails/:id/assignments/keys")
  const guardrailOf = ({ guardrail_id }: Key) => guardrails.find(({ id }) => id === guardrail_id)
  const set = (some: ReadonlyArray<Key>, isChosen: boolean) => {
    const next = new Map(chosen)
    for (const key of some) {
      if (isChosen) next.set(key.hash, key)
      else next.delete(key.hash)
    }
    setChosen(next)
  }
  const [first, ...others] = [...chosen.keys()]
  const moved = [...chosen.values()].filter(({ guardrail_id }) => guardrail_id !== null).length
  return (
    <FormDialog
      title={`Assign keys to ${of.name}`}
      action={`Assign ${counted(chosen.size, "key")}`}
      change={assign}
      disabled={first === undefined}
      onSubmit={() => {
        if (first === undefined) return
        assign.mutate({ params: { id: of.id }, payload: { key_hashes: [first, ...others] } }, { onSuccess: onClose })
      }}
      onClose={onClose}
    >
      <FilterText
        label="Search keys by name or label"
        placeholder="Name or label"
        value={search}
        onChange={setSearch}
      />
      <Loaded value={keys} what="The keys" rows={6}>
        {({ data, total_count }) => {
          const free = data.filter((key) => !key.is_management_key && key.guardrail_id !== of.id)
          return (
            <fieldset className="choices">
              <legend className="sr">Keys</legend>
              {free.length === 0 && <p className="hint">No ordinary key that is not assigned yet matches.</p>}
              {free.length > 1 && (
                <label className="check">
                  <input
                    type="checkbox"
                    checked={free.every(({ hash }) => chosen.has(hash))}
                    onChange={({ target }) => set(free, target.checked)}
                  />
                  All {count(free.length)} below
                </label>
              )}
              {free.map((key) => (
                <label key={key.hash} className="check">
                  <input
                    type="checkbox"
                    checked={chosen.has(key.hash)}
                    onChange={({ target }) => set([key], target.checked)}
                  />
                  <span>
                    {key.name}{" "}
                    <span className="hint">
                      {key.label}, {workspaceName(key.workspace_id)}
                      {key.guardrail_id !== null && `, has ${guardrailOf(key)?.name ?? "another guardrail"}`}
                    </span>
                  </span>
                </label>
              ))}
              {total_count > data.length && (
                <p className="hint">
                  These are of the first {count(data.length)} of {count(total_count)} keys. Search for the others.
                </p>
              )}
            </fieldset>
          )
        }}
      </Loaded>
      {moved > 0 && (
        <p className="hint">
          A key has at most one guardrail: {counted(moved, "key")} {moved === 1 ? "leaves" : "leave"} another one.
        </p>
      )}
      {chosen.size > 0 && (
        <Losses
          keys={[...chosen.values()].map((key) => ({
            hash: key.hash,
            name: key.name,
            before: guardrailOf(key) ?? unrestricted
          }))}
          after={of}
          total={chosen.size}
        />
      )}
    </FormDialog>
  )
}
