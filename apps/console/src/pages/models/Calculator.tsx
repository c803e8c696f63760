/** What a request would cost at each provider of a model. */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call } from "../../api/call.ts"
import type { Payload, Success } from "../../api/Contract.ts"
import { useRead } from "../../api/hooks.ts"
import { Badge } from "../../parts/Badge.tsx"
import { CheckField, SelectField, TextField } from "../../parts/Fields.tsx"
import { credits } from "../../parts/format.ts"
import { Loaded } from "../../parts/Loaded.tsx"
import { type Column, Table } from "../../parts/Table.tsx"
import { abilitiesOf, type Model, type Offer } from "./offers.ts"

type Request = Payload<"POST /estimate">
type Estimate = Success<"POST /estimate">["data"]
type Estimated = Estimate["offers"][number]

/** The request, when nothing was changed for a moment. */
const useSettled = (request: Request): Request => {
  const text = JSON.stringify(request)
  const [settled, setSettled] = useState({ text, request })
  useEffect(() => {
    if (text === settled.text) return
    const timer = setTimeout(() => setSettled({ text, request }), 300)
    return () => clearTimeout(timer)
  }, [text])
  return settled.request
}

interface Row {
  readonly provider: string
  /** Undefined: it would not serve the request. */
  readonly offer: Estimated | undefined
  readonly place: number
}

const columns = (cheapest: number): ReadonlyArray<Column<Row>> => [
  { key: "provider", title: "Provider", width: "minmax(6rem, 1fr)", cell: ({ provider }) => provider },
  {
    key: "cost",
    title: "At most, credits",
    width: "7rem",
    align: "right",
    cell: ({ offer }) => (offer === undefined ? "–" : <strong>{credits(offer.max_cost)}</strong>),
    sort: ({ offer }) => offer?.max_cost ?? Number.MAX_VALUE
  },
  {
    key: "place",
    title: "Tried",
    width: "5.5rem",
    cell: ({ offer, place }) => (offer === undefined ? "not offered" : `${place}.`)
  },
  {
    key: "note",
    title: "Note",
    width: "minmax(9rem, 2fr)",
    cell: ({ offer }) => {
      if (offer === undefined) return <span className="hint">does not support this request</span>
      const notes = [
        ...(offer.is_byok ? ["billed by the provider, with a provider key of yours"] : []),
        ...(offer.warnings ?? [])
      ]
      return (
        <span className="notes" title={notes.join(" ")}>
          {offer.max_cost === cheapest && <Badge tone="good">cheapest</Badge>} {notes.join(" ")}
        </span>
      )
    }
  }
]

const Answer = ({ estimate, providers }: { readonly estimate: Estimate; readonly providers: Model["providers"] }) => {
  const { max_cost, offers } = estimate
  const cheapest = Math.min(...offers.map((offer) => offer.max_cost))
  const rows = [
    ...offers.map((offer, index) => ({ provider: offer.provider, offer, place: index + 1 })),
    ...providers
      .filter((provider) => !offers.some((offer) => offer.provider === provider))
      .map((provider) => ({ provider, offer: undefined, place: 0 }))
  ]
  return (
    <>
      <Table
        label="What the request costs at each provider"
        columns={columns(rows.length > 1 && offers.some((offer) => offer.max_cost > cheapest) ? cheapest : Number.NaN)}
        rows={rows}
        rowKey={({ offer, provider }) => `${provider} ${offer?.is_byok ?? ""}`}
      />
      <p className="hint">
        The gateway tries the providers in this order. It reserves {credits(max_cost)} credits and charges what the
        request really costs.
      </p>
    </>
  )
}

const Result = ({ providers, request }: { readonly request: Request; readonly providers: Model["providers"] }) => {
  const payload = useSettled(request)
  const estimate = useQuery({
    queryKey: ["POST /estimate", payload],
    queryFn: ({ signal }) => call("POST /estimate", { payload }, signal),
    placeholderData: (before) => before
  })
  return (
    <div className="estimate" aria-live="polite">
      <Loaded value={estimate} what="The price" rows={providers.length + 1}>
        {({ data }) => <Answer estimate={data} providers={providers} />}
      </Loaded>
    </div>
  )
}

/** Undefined: it is empty or no figure. */
const figure = (text: string): number | undefined =>
  text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text)

const modelDefault = "" as const

const RerankForm = ({ model }: { readonly model: Model }) => {
  const [documents, setDocuments] = useState("100")
  const [words, setWords] = useState("200")
  const document = Array.from({ length: Math.min(figure(words) ?? 0, 5000) }, () => "word").join(" ")
  const length = Math.min(figure(documents) ?? 0, 1000)
  return (
    <>
      <div className="calculator">
        <TextField
          label="Documents"
          name="documents"
          type="number"
          value={documents}
          onChange={setDocuments}
          hint="At most 1,000 here"
        />
        <TextField
          label="Words in each"
          name="words"
          type="number"
          value={words}
          onChange={setWords}
          hint="At most 5,000 here"
        />
      </div>
      <Result
        providers={model.providers}
        request={{
          operation: "rerank",
          request: {
            model: model.id,
            query: "a question of six short words",
            documents: Array.from({ length }, () => document)
          }
        }}
      />
    </>
  )
}

const TranscriptionForm = ({ model }: { readonly model: Model }) => {
  const [minutes, setMinutes] = useState("10")
  return (
    <>
      <div className="calculator">
        <TextField label="Minutes of audio" name="minutes" type="number" value={minutes} onChange={setMinutes} />
      </div>
      <Result
        providers={model.providers}
        request={{ operation: "transcription", request: { model: model.id, seconds: (figure(minutes) ?? 0) * 60 } }}
      />
    </>
  )
}

const VideoForm = ({
  defaultDuration,
  model,
  offers
}: {
  readonly model: Model
  readonly offers: ReadonlyArray<Offer>
  readonly defaultDuration: number
}) => {
  const {
    aspect_ratios: ratios = [],
    generate_audio: hasAudio = false,
    max_duration: longest,
    resolutions = [],
    upscale: upscales = false
  } = abilitiesOf(offers)
  const [duration, setDuration] = useState(defaultDuration === 0 ? "" : String(defaultDuration))
  const [resolution, setResolution] = useState<(typeof resolutions)[number] | typeof modelDefault>(modelDefault)
  const [ratio, setRatio] = useState<(typeof ratios)[number] | typeof modelDefault>(modelDefault)
  const [audio, setAudio] = useState(hasAudio)
  const [factor, setFactor] = useState("2")
  const seconds = figure(duration)
  return (
    <>
      <div className="calculator">
        {upscales ? (
          <TextField label="Upscale factor" name="upscale_factor" type="number" value={factor} onChange={setFactor} />
        ) : (
          <TextField
            label="Seconds"
            name="duration"
            type="number"
            value={duration}
            onChange={setDuration}
            placeholder="default"
            hint={longest === undefined ? undefined : `At most ${longest}`}
          />
        )}
        {resolutions.length > 0 && (
          <SelectField
            label="Resolution"
            name="resolution"
            value={resolution}
            onChange={setResolution}
            options={[[modelDefault, "Default"], ...resolutions.map((value) => [value, value] as const)]}
          />
        )}
        {ratios.length > 0 && (
          <SelectField
            label="Aspect ratio"
            name="aspect_ratio"
            value={ratio}
            onChange={setRatio}
            options={[[modelDefault, "Default"], ...ratios.map((value) => [value, value] as const)]}
          />
        )}
        {hasAudio && <CheckField label="With audio" checked={audio} onChange={setAudio} />}
      </div>
      <Result
        providers={model.providers}
        request={{
          operation: "video",
          request: {
            model: model.id,
            prompt: "A video",
            ...(seconds !== undefined && !upscales && { duration: seconds }),
            ...(resolution !== modelDefault && { resolution }),
            ...(ratio !== modelDefault && { aspect_ratio: ratio }),
            ...(hasAudio && { generate_audio: audio }),
            ...(upscales && {
              upscale_factor: figure(factor) ?? 2,
              input_references: [{ type: "video_url", video_url: { url: "https://example.com/video.mp4" } }]
            })
          }
        }}
      />
    </>
  )
}

const VideoCalculator = ({ model, offers }: { readonly model: Model; readonly offers: ReadonlyArray<Offer> }) => {
  const videos = useRead("GET /videos/models")
  return (
    <Loaded value={videos} what="What the model can do" rows={4}>
      {({ data }) => (
        <VideoForm
          model={model}
          offers={offers}
          defaultDuration={data.find(({ id }) => id === model.id)?.default_duration ?? 0}
        />
      )}
    </Loaded>
  )
}

export const Calculator = ({ model, offers }: { readonly model: Model; readonly offers: ReadonlyArray<Offer> }) => {
  switch (model.kind) {
    case "rerank":
      return <RerankForm model={model} />
    case "transcription":
      return <TranscriptionForm model={model} />
    case "video":
      return <VideoCalculator model={model} offers={offers} />
  }
}
