/** Video jobs by state, with their progress. Reads again while some are in progress. */
import { type ReactNode, useMemo, useState } from "react"
import { usePages, useRead } from "../api/hooks.ts"
import { StatusBadge } from "../parts/Badge.tsx"
import { credits, duration, percent, shortId } from "../parts/format.ts"
import { FilterSelect } from "../parts/Filter.tsx"
import { FilterKey } from "../parts/FilterKey.tsx"
import { Empty, Loaded } from "../parts/Loaded.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { Time } from "../parts/Time.tsx"
import { KeyLink } from "../shell/Links.tsx"
import { usePageSearch, useScope, useSetSearch } from "../shell/navigation.ts"
import { useWorkspaceName } from "../shell/WorkspacePicker.tsx"
import { isFinal, type ListedVideo, statuses } from "./videos/jobs.tsx"
import { VideoDetails } from "./videos/VideoDetails.tsx"
import "./videos.css"

const columnsOf = (workspaceName: (id: string) => string): ReadonlyArray<Column<ListedVideo>> => [
  { key: "id", title: "Video", width: "8.75rem", cell: ({ id }) => <code>{shortId(id)}</code> },
  {
    key: "status",
    title: "Status",
    width: "9.5rem",
    cell: ({ progress, status }) => (
      <>
        <StatusBadge status={status} /> {!isFinal(status) && progress !== undefined && percent(progress)}
      </>
    ),
    sort: ({ status }) => status
  },
  {
    key: "model",
    title: "Model",
    width: "minmax(6.5rem, 1.25fr)",
    cell: ({ model }) => <span title={model}>{model}</span>,
    sort: ({ model }) => model ?? ""
  },
  {
    key: "key",
    title: "Key",
    width: "minmax(8.25rem, 1fr)",
    cell: ({ key_hash, key_name }) => key_hash !== undefined && <KeyLink hash={key_hash} name={key_name} />,
    sort: ({ key_name }) => key_name ?? ""
  },
  {
    key: "workspace",
    title: "Workspace",
    width: "minmax(5.5rem, 1fr)",
    cell: ({ workspace_id }) => (workspace_id === undefined ? "" : workspaceName(workspace_id))
  },
  {
    key: "created",
    title: "Submitted (UTC)",
    width: "9.75rem",
    cell: ({ created_at }) => created_at !== undefined && <Time at={created_at} />,
    sort: ({ created_at }) => created_at ?? ""
  },
  {
    key: "took",
    title: "Took",
    width: "4.5rem",
    align: "right",
    cell: ({ created_at, finished_at }) =>
      created_at !== undefined && finished_at != null ? duration(Date.parse(finished_at) - Date.parse(created_at)) : "",
    sort: ({ created_at, finished_at }) =>
      finished_at == null ? 0 : Date.parse(finished_at) - Date.parse(created_at ?? finished_at)
  },
  {
    key: "cost",
    title: "Credits",
    width: "4.5rem",
    align: "right",
    cell: ({ usage }) => (usage?.cost == null ? "" : credits(usage.cost)),
    sort: ({ usage }) => usage?.cost ?? 0
  },
  {
    key: "error",
    title: "Error",
    width: "minmax(7rem, 1.5fr)",
    cell: ({ error }) => <span title={error}>{error}</span>
  }
]

const Videos = (): ReactNode => {
  const { id, key, model, status } = usePageSearch("videos")
  const set = useSetSearch("videos")
  const { range, workspace } = useScope()
  const workspaceName = useWorkspaceName()
  const models = useRead("GET /models", { query: { output_modalities: "video" } })
  const [isRunning, setRunning] = useState(false)
  const jobs = usePages(
    "GET /videos",
    {
      workspace_id: workspace ?? "all",
      status: statuses.find((known) => known === status),
      model,
      key_hash: key,
      from: range.from,
      to: range.to,
      limit: 100
    },
    { refetchInterval: isRunning && 3000 }
  )
  const running = jobs.rows?.some((job) => !isFinal(job.status)) ?? false
  if (running !== isRunning) setRunning(running)
  const columns = useMemo(() => columnsOf(workspaceName), [workspaceName])
  const isFiltered = status !== undefined || model !== undefined || key !== undefined
  return (
    <>
      <div className="bar">
        <FilterSelect
          label="Status"
          all="All states"
          value={status}
          options={statuses.map((name) => [name, name.replaceAll("_", " ")] as const)}
          onChange={(status) => void set({ status })}
        />
        <FilterSelect
          label="Model"
          all="All models"
          value={model}
          options={models.data?.data.map((known) => [known.id, known.id] as const) ?? []}
          onChange={(model) => void set({ model })}
        />
        <FilterKey value={key} onChange={(key) => void set({ key })} />
        {running && <span className="hint end">Reads again every 3 seconds while a video is in progress.</span>}
      </div>
      <Loaded value={jobs} what="The videos">
        {() =>
          jobs.rows?.length === 0 && !jobs.hasNextPage ? (
            <Empty
              title={isFiltered ? "No video of this time matches the filters." : "No video was submitted in this time."}
            >
              {isFiltered ? (
                <button type="button" onClick={() => void set({ status: undefined, model: undefined, key: undefined })}>
                  Show all videos
                </button>
              ) : (
                <p>
                  Choose a longer time at the top, or list them with <code>model-gateway videos list</code>
                </p>
              )}
            </Empty>
          ) : (
            <Table
              label="Videos"
              columns={columns}
              rows={jobs.rows ?? []}
              rowKey={(job) => job.id}
              selected={id}
              onOpen={(job) => void set({ id: job.id })}
              more={{
                hasMore: jobs.hasNextPage,
                isReading: jobs.isFetchingNextPage,
                read: () => jobs.fetchNextPage()
              }}
            />
          )
        }
      </Loaded>
      {id !== undefined && (
        <VideoDetails
          key={id}
          id={id}
          listed={jobs.rows?.find((job) => job.id === id)}
          onClose={() => void set({ id: undefined })}
        />
      )}
    </>
  )
}

export default Videos
