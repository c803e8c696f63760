/** The ephemeral keys of a key that are still valid. */
import { useRead } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { count } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { Table } from "../../parts/Table.tsx"
import { Time } from "../../parts/Time.tsx"

export const EphemeralKeys = ({ hash }: { readonly hash: string }) => {
  const keys = useRead("GET /keys", { query: { parent_hash: hash, limit: 100 } })
  return (
    <section className="card">
      <h3>Ephemeral keys</h3>
      <Loaded value={keys} what="The ephemeral keys" rows={2}>
        {({ data, total_count }) =>
          total_count === 0 ? (
            <p className="hint">None that is still valid. Programs create them with POST /keys/ephemeral.</p>
          ) : (
            <>
              {total_count > data.length && (
                <p className="hint">
                  The newest {count(data.length)} of {count(total_count)}.
                </p>
              )}
              <Table
                label="Ephemeral keys"
                rows={data}
                rowKey={(key) => key.hash}
                columns={[
                  {
                    key: "hash",
                    title: "Hash",
                    width: "minmax(9rem, 1fr)",
                    cell: (key) => <Id id={key.hash} what="the hash" />
                  },
                  { key: "created", title: "Created", width: "7rem", cell: (key) => <Time at={key.created_at} ago /> },
                  {
                    key: "expires",
                    title: "Expires",
                    width: "7rem",
                    cell: (key) => (key.expires_at === null ? "Never" : <Time at={key.expires_at} ago />)
                  },
                  {
                    key: "operations",
                    title: "Operations",
                    width: "minmax(8rem, 1fr)",
                    cell: (key) => key.operations?.join(", ") ?? "All of its parent"
                  }
                ]}
              />
            </>
          )
        }
      </Loaded>
    </section>
  )
}
