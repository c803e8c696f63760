/** The keys of accounts at providers that the workspace has, in the order in which they are tried. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { call } from "../api/call.ts"
import { useMay, useOffsetPages } from "../api/hooks.ts"
import { Icon } from "../parts/Icon.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { Problem } from "../parts/Problem.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { usePageSearch, useSetSearch } from "../shell/navigation.ts"
import { OfOneWorkspace, OneWorkspace, useOneWorkspace } from "../shell/WorkspacePicker.tsx"
import type { ProviderKey } from "./provider-keys/draft.ts"
import { CreateProviderKey } from "./provider-keys/ProviderKeyForm.tsx"
import { KeyState, nameOf, Outcome, ProviderKeyDetails, whenUsed } from "./provider-keys/ProviderKeyDetails.tsx"

/** The keys for a provider in the order in which they are tried: first the oldest of equal ones. */
const inOrder = (keys: ReadonlyArray<ProviderKey>): ReadonlyArray<ProviderKey> =>
  keys.toSorted((a, b) => a.sort_order - b.sort_order)

/** Changes the places of those keys whose place is not that in the list. */
const usePlaces = () => {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (keys: ReadonlyArray<ProviderKey>) => {
      for (const [place, { id, sort_order }] of keys.entries()) {
        if (sort_order !== place) await call("PATCH /byok/:id", { params: { id }, payload: { sort_order: place } })
      }
    },
    onSettled: () => queries.invalidateQueries()
  })
}

const swapped = (keys: ReadonlyArray<ProviderKey>, index: number): ReadonlyArray<ProviderKey> => [
  ...keys.slice(0, index),
  ...keys.slice(index, index + 2).toReversed(),
  ...keys.slice(index + 2)
]

const restrictionOf = ({ allowed_api_key_hashes, allowed_models, allowed_user_ids }: ProviderKey): string => {
  const parts = [
    ...(allowed_models === null ? [] : [`${allowed_models.length} models`]),
    ...(allowed_api_key_hashes === null ? [] : [`${allowed_api_key_hashes.length} keys`]),
    ...(allowed_user_ids === null ? [] : [`${allowed_user_ids.length} users`])
  ]
  return parts.length === 0 ? "all requests" : `only ${parts.join(", ")}`
}

const Provider = ({ keys, name }: { readonly name: string; readonly keys: ReadonlyArray<ProviderKey> }) => {
  const { id } = usePageSearch("provider-keys")
  const set = useSetSearch("provider-keys")
  const mayChange = useMay("admin")
  const places = usePlaces()
  const ordered = inOrder(keys)
  const placeOf = (key: ProviderKey) => ordered.findIndex((other) => other.id === key.id)
  const mover = (key: ProviderKey, direction: "up" | "down") => {
    const place = placeOf(key)
    const upper = direction === "up" ? place - 1 : place
    return (
      <button
        type="button"
        className="quiet"
        aria-label={`Try ${nameOf(key)} ${direction === "up" ? "earlier" : "later"}`}
        disabled={places.isPending || upper < 0 || upper + 1 >= ordered.length}
        onClick={() => places.mutate(swapped(ordered, upper))}
      >
        <Icon name={direction} />
      </button>
    )
  }
  const columns: ReadonlyArray<Column<ProviderKey>> = [
    { key: "name", title: "Name", width: "minmax(9rem, 1fr)", cell: nameOf },
    { key: "place", title: "Tried", width: "4rem", cell: (key) => `${placeOf(key) + 1}.` },
    { key: "state", title: "State", width: "7rem", cell: ({ disabled }) => <KeyState disabled={disabled} /> },
    { key: "label", title: "Key", width: "8rem", cell: ({ label }) => <code>{label}</code> },
    {
      key: "use",
      title: "Used",
      width: "minmax(13rem, 1fr)",
      cell: (key) => <span title={whenUsed(key)}>{whenUsed(key)}</span>
    },
    { key: "for", title: "For", width: "7.5rem", cell: restrictionOf },
    {
      key: "used",
      title: "Last used",
      width: "6rem",
      cell: ({ last_used_at }) => last_used_at != null && <Time at={last_used_at} ago />
    },
    { key: "outcome", title: "Last outcome", width: "minmax(9rem, 1fr)", cell: (key) => <Outcome of={key} /> },
    ...(mayChange && ordered.length > 1
      ? [
          {
            key: "order",
            title: "Order",
            width: "5.5rem",
            cell: (key: ProviderKey) => (
              <>
                {mover(key, "up")}
                {mover(key, "down")}
              </>
            )
          }
        ]
      : [])
  ]
  return (
    <section className="loaded" aria-label={name}>
      <h2>{name}</h2>
      {places.error !== null && <Problem what="The order was not changed" error={places.error} />}
      <Table
        label={`Provider keys of ${name}, in the order in which they are tried`}
        columns={columns}
        rows={ordered}
        rowKey={(key) => key.id}
        selected={id}
        onOpen={(key) => void set({ id: key.id })}
      />
    </section>
  )
}

const ProviderKeys = (): ReactNode => {
  const { id } = usePageSearch("provider-keys")
  const set = useSetSearch("provider-keys")
  const workspace = useOneWorkspace()
  const mayCreate = useMay("admin")
  const [isCreating, setCreating] = useState(false)
  // A workspace has at most 100.
  const keys = useOffsetPages(
    "GET /byok",
    { query: { workspace_id: workspace?.id, limit: 100 } },
    { enabled: workspace !== undefined }
  )
  const providers = [...Map.groupBy(keys.rows ?? [], ({ provider }) => provider)].toSorted(([a], [b]) =>
    a.localeCompare(b)
  )
  const create = mayCreate && (
    <button type="button" className="primary" disabled={workspace === undefined} onClick={() => setCreating(true)}>
      <Icon name="plus" />
      Store provider key
    </button>
  )
  return (
    <>
      <div className="bar">
        <OneWorkspace />
        <span className="end">{create}</span>
      </div>
      <OfOneWorkspace>
        <Loaded value={keys} what="The provider keys" rows={4}>
          {() =>
            providers.length === 0 ? (
              <Empty title="The workspace has no key of a provider: its requests use those of the gateway.">
                {create}
                <p>
                  Over HTTP: <code>POST /api/v1/byok</code>
                </p>
              </Empty>
            ) : (
              providers.map(([name, keys]) => <Provider key={name} name={name} keys={keys} />)
            )
          }
        </Loaded>
      </OfOneWorkspace>
      {id !== undefined && keys.rows !== undefined && (
        <ProviderKeyDetails of={keys.rows.find((key) => key.id === id)} onClose={() => void set({ id: undefined })} />
      )}
      {isCreating && workspace !== undefined && (
        <CreateProviderKey workspace={workspace} onClose={() => setCreating(false)} />
      )}
    </>
  )
}

export default ProviderKeys
