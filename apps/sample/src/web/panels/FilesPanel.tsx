/** Uploads, lists and deletes files. */
import { UploadProgress } from "@model-gateway/browser"
import { type Files, Gateway } from "@model-gateway/core"
import { Effect } from "effect"
import { useEffect, useState } from "react"
import { size } from "../../Texts.ts"
import { Dropzone } from "../parts/Dropzone.tsx"
import { Field } from "../parts/Field.tsx"
import { Panel } from "../parts/Panel.tsx"
import { TaskProblem } from "../parts/ProblemNote.tsx"
import { TaskForm } from "../parts/TaskForm.tsx"
import { snippets } from "../Snippets.ts"
import { useTask } from "../useTask.ts"

const shapes: ReadonlyArray<Files.DeletionShape> = ["native", "compat_a", "compat_b"]

const list = Effect.flatMap(Gateway.Gateway, (gateway) => gateway.listFiles({ limit: 100 }))

interface Props {
  readonly active: boolean
  readonly signedIn: boolean
}

export const FilesPanel = ({ active, signedIn }: Props) => {
  const upload = useTask<Files.File>("file")
  const listing = useTask<Files.FileList>("file")
  const deletion = useTask<Files.Deletion>("file")
  const [file, setFile] = useState<File>()
  const [purpose, setPurpose] = useState("notes")
  const [uploaded, setUploaded] = useState<number>()
  const [shape, setShape] = useState<Files.DeletionShape>("native")
  const [files, setFiles] = useState<ReadonlyArray<Files.File>>()

  const { run: runListing } = listing
  const stored = upload.state._tag === "Done" ? upload.state.value.id : undefined
  const deleted = deletion.state._tag === "Done" ? deletion.state.value.id : undefined
  useEffect(() => {
    if (active && signedIn) runListing(list)
  }, [active, signedIn, stored, deleted, runListing])
  useEffect(() => {
    if (listing.state._tag === "Done") setFiles(listing.state.value.data)
  }, [listing.state])

  const choose = (next: File) => {
    upload.dismiss()
    setFile(next)
  }

  const submit = () => {
    if (file === undefined) return upload.reject("Choose a file first.")
    setUploaded(0)
    upload.run(
      Effect.flatMap(Gateway.Gateway, (gateway) => gateway.uploadFile({ file, purpose })).pipe(
        UploadProgress.withUploadProgress(({ loaded, total }) => setUploaded(total === undefined ? 0 : loaded / total))
      )
    )
  }

  return (
    <Panel
      id="files"
      title="Files"
      lead="Uploads, lists and permanently deletes files. You choose the shape of the confirmation."
      code={snippets.files}
      active={active}
    >
      <TaskForm
        task={upload}
        label="Upload"
        onSubmit={submit}
        running={Math.round((uploaded ?? 0) * 100) === 100 ? "Storing …" : "Uploading …"}
        done={({ id }) => `Stored as ${id}`}
        cancelled="Cancelled: nothing was stored"
        progress={uploaded}
      >
        <Dropzone label="Drop a file here, or choose one" hint="Any kind, up to 2 GB." file={file} onFile={choose} />
        <p className="chosen">
          {file === undefined ? (
            <span className="hint">No file yet.</span>
          ) : (
            <>
              <strong>{file.name}</strong> <span className="hint">{size(file.size)}</span>
            </>
          )}
        </p>
        <Field label="Purpose" hint="What the file is for.">
          {(ids) => (
            <input
              {...ids}
              required
              maxLength={64}
              value={purpose}
              onChange={(event) => setPurpose(event.target.value)}
            />
          )}
        </Field>
      </TaskForm>
      <div className="outcome">
        <div className="card">
          <div className="row spread">
            <h3 id="stored-files" tabIndex={-1}>
              Stored files
            </h3>
            <button type="button" className="small" onClick={() => runListing(list)}>
              Refresh
            </button>
          </div>
          <fieldset className="choice">
            <legend>Shape of the confirmation</legend>
            {shapes.map((each) => (
              <label key={each}>
                <input
                  type="radio"
                  name="shape"
                  value={each}
                  checked={shape === each}
                  onChange={() => setShape(each)}
                />
                <code>{each}</code>
              </label>
            ))}
          </fieldset>
          <TaskProblem task={listing} />
          <TaskProblem task={deletion} />
          <Stored
            files={signedIn ? files : undefined}
            busy={deletion.running}
            onDelete={(id) => {
              document.getElementById("stored-files")?.focus()
              deletion.run(Effect.flatMap(Gateway.Gateway, (gateway) => gateway.deleteFile(id, { shape })))
            }}
          />
          <div className="confirmation" role="status">
            {deletion.state._tag === "Done" ? (
              <>
                <p>
                  Deleted. Confirmation in the <code>{deletion.state.value._shape}</code> shape:
                </p>
                <pre>{JSON.stringify(deletion.state.value, null, 2)}</pre>
              </>
            ) : null}
          </div>
        </div>
      </div>
    </Panel>
  )
}

interface StoredProps {
  readonly files: ReadonlyArray<Files.File> | undefined
  readonly busy: boolean
  readonly onDelete: (id: string) => void
}

const Stored = ({ busy, files, onDelete }: StoredProps) => {
  if (files === undefined) return <p className="hint">Sign in to see your files.</p>
  if (files.length === 0) return <p className="hint">No files yet. Upload one above.</p>
  return (
    <ul className="files" aria-labelledby="stored-files">
      {files.map((file) => (
        <li key={file.id}>
          <div>
            <strong>{file.filename}</strong>
            <p className="hint">
              {size(file.size_bytes)} · {file.purpose} · {new Date(file.created_at).toLocaleString()}
            </p>
          </div>
          <button
            type="button"
            className="danger small"
            aria-label={`Delete ${file.filename}`}
            aria-disabled={busy}
            onClick={() => {
              if (!busy && confirm(`Delete ${file.filename}? This cannot be undone.`)) onDelete(file.id)
            }}
          >
            Delete
          </button>
        </li>
      ))}
    </ul>
  )
}
