/** The keys of a guardrail, and their removal from it. */
import { useState } from "react"
import { useChange, useMay, useOffsetPages } from "../../api/hooks.ts"
import { count, counted } from "../../parts/format.ts"
import { FormDialog } from "../../parts/FormDialog.tsx"
import { Empty, Loaded } from "../../parts/Loaded.tsx"
import { Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"
import { KeyLink } from "../../shell/Links.tsx"
import { AssignKeys } from "./AssignKeys.tsx"
import type { Guardrail } from "./GuardrailForm.tsx"

const RemoveKeys = ({
  chosen,
  of,
  onClose,
  onRemoved
}: {
  readonly of: Guardrail
  /** Names by hash. */
  readonly chosen: ReadonlyMap<string, string>
  readonly onClose: () => void
  readonly onRemoved: () => void
}) => {
  const remove = useChange("POST /guardrails/:id/assignments/keys/remove")
  const [first, ...others] = [...chosen.keys()]
  return (
    <FormDialog
      title={`Remove keys from ${of.name}`}
      action={`Remove ${counted(chosen.size, "key")}`}
      dangerous
      change={remove}
      onSubmit={() => {
        if (first === undefined) return
        remove.mutate({ params: { id: of.id }, payload: { key_hashes: [first, ...others] } }, { onSuccess: onRemoved })
      }}
      onClose={onClose}
    >
      <p>These keys stay, and may then use every model and provider, up to their own limits:</p>
      <ul className="choices">
        {[...chosen].map(([hash, name]) => (
          <li key={hash}>{name}</li>
        ))}
      </ul>
    </FormDialog>
  )
}

export const AssignedKeys = ({ of }: { readonly of: Guardrail }) => {
  const mayChange = useMay("operator")
  const keys = useOffsetPages("GET /guardrails/:id/assignments/keys", { params: { id: of.id }, query: { limit: 100 } })
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map())
  const [open, setOpen] = useState<"assign" | "remove">()
  const close = () => setOpen(undefined)
  const toggle = (hash: string, name: string) => {
    const next = new Map(chosen)
    if (!next.delete(hash)) next.set(hash, name)
    setChosen(next)
  }
  const assign = mayChange && (
    <button type="button" onClick={() => setOpen("assign")}>
      Assign keys
    </button>
  )
  return (
    <section className="card">
      <div className="bar">
        <h3>Keys{keys.total === undefined ? "" : ` (${count(keys.total)})`}</h3>
        <span className="end bar">
          {chosen.size > 0 && (
            <button type="button" className="danger" onClick={() => setOpen("remove")}>
              Remove {count(chosen.size)}
            </button>
          )}
          {keys.total !== 0 && assign}
        </span>
      </div>
      <Loaded value={keys} what="The keys of the guardrail" rows={3}>
        {() =>
          keys.total === 0 ? (
            <Empty title="The guardrail limits no key yet.">
              {assign}
              <code>model-gateway guardrails assign {of.id} &lt;hash&gt;</code>
            </Empty>
          ) : (
            <Table
              label="Keys of the guardrail"
              rows={keys.rows ?? []}
              rowKey={({ key_hash }) => key_hash}
              more={keys.more}
              columns={[
                ...(mayChange
                  ? [
                      {
                        key: "choose",
                        title: "Choose",
                        width: "3.5rem",
                        cell: ({ key_hash, key_name }: { readonly key_hash: string; readonly key_name: string }) => (
                          <input
                            type="checkbox"
                            aria-label={`Choose ${key_name}`}
                            checked={chosen.has(key_hash)}
                            onChange={() => toggle(key_hash, key_name)}
                          />
                        )
                      }
                    ]
                  : []),
                {
                  key: "name",
                  title: "Name",
                  width: "minmax(9rem, 1fr)",
                  cell: ({ key_hash, key_name }) => <KeyLink hash={key_hash} name={key_name} />
                },
                { key: "label", title: "Key", width: "8rem", cell: ({ key_label }) => <code>{key_label}</code> },
                {
                  key: "assigned",
                  title: "Assigned",
                  width: "6rem",
                  cell: ({ created_at }) => <Time at={created_at} ago />
                }
              ]}
            />
          )
        }
      </Loaded>
      {open === "assign" && <AssignKeys of={of} onClose={close} />}
      {open === "remove" && (
        <RemoveKeys
          of={of}
          chosen={chosen}
          onClose={close}
          onRemoved={() => {
            setChosen(new Map())
            close()
          }}
        />
      )}
    </section>
  )
}
