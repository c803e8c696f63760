/** Draws a chart with uPlot. */
import { useEffect, useRef } from "react"
import uPlot from "uplot"
import "./plot.css"
import { type ChartProps, colorOf } from "./Chart.tsx"
import { time } from "./format.ts"

const height = 220

const cssColor = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const dayFormat = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", timeZone: "UTC" })

/** Texts of the time axis, in UTC: hours with the day below the first one and midnight, or days. */
const timesAt = (splits: ReadonlyArray<number>, step: number): Array<string> => {
  if (step >= 86_400) return splits.map((at) => dayFormat.format(at * 1000))
  return splits.map((at, index) => {
    const clock = new Date(at * 1000).toISOString().slice(11, 16)
    return index === 0 || at % 86_400 === 0 ? `${clock}\n${dayFormat.format(at * 1000)}` : clock
  })
}

/** The distances of texts on the time axis, in seconds. */
const increments = [60, 300, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000]

/** The sums of each series and those before it, so that bars stand on each other. */
const stacked = (series: ChartProps["series"], length: number): Array<Array<number>> => {
  const sums = Array.from({ length }, () => 0)
  return series.map(({ values }) => sums.map((sum, index) => (sums[index] = sum + (values[index] ?? 0))))
}

const draw = (
  element: HTMLElement,
  { format, kind, onRange, series, times }: ChartProps,
  onHover: (index: number | undefined) => void
): uPlot => {
  const isBars = kind === "bars"
  const seconds = times.map((at) => at / 1000)
  const columns: Array<Array<number | null>> = isBars
    ? stacked(series, times.length).toReversed()
    : series.map(({ values }) => [...values])
  const colors = series.map((one, index) => cssColor(`--series-${colorOf(one, index)}`))
  const ordered = isBars ? colors.toReversed() : colors
  // A bar stands on all of its interval, so that what is dragged over is what is meant.
  const bars = uPlot.paths.bars?.({ size: [0.85, 120], align: 1 })
  const step = (seconds[1] ?? 0) - (seconds[0] ?? 0) || 3600
  const axis = { stroke: cssColor("--muted-solid"), grid: { stroke: cssColor("--line-solid"), width: 1 } }
  const plot = new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      cursor: { y: false, drag: { x: onRange !== undefined, setScale: false } },
      scales: {
        x: { range: (_, min, max) => [min, isBars ? max + step : max] },
        y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] }
      },
      axes: [
        {
          ...axis,
          incrs: increments.filter((increment) => increment >= step),
          values: (_, splits, __, ___, increment) => timesAt(splits, increment)
        },
        { ...axis, size: 64, values: (_, values) => values.map(format) }
      ],
      series: [
        {},
        ...ordered.map((stroke): uPlot.Series => ({
          stroke,
          width: isBars ? 0 : 2,
          points: { show: !isBars && times.length < 100, size: 4 },
          ...(isBars && { fill: stroke }),
          ...(isBars && bars !== undefined && { paths: bars })
        }))
      ],
      hooks: {
        setCursor: [
          (self) => {
            const { idx, left = -1 } = self.cursor
            if (idx == null || left < 0) return onHover(undefined)
            const at = self.posToVal(left, "x")
            onHover(isBars ? seconds.findLastIndex((start) => start <= at) : idx)
          }
        ],
        setSelect: [
          (self) => {
            const { left, width } = self.select
            if (width < 4 || onRange === undefined) return
            // All of the intervals that were touched, so that the bars stay what they were.
            const first = seconds[0] ?? 0
            const from = Math.floor((self.posToVal(left, "x") - first) / step)
            const to = Math.ceil((self.posToVal(left + width, "x") - first) / step)
            onRange((first + from * step) * 1000, Math.min((first + to * step) * 1000, Date.now()))
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          }
        ]
      }
    },
    [seconds, ...columns],
    element
  )
  return plot
}

const Plot = (props: ChartProps) => {
  const element = useRef<HTMLDivElement>(null)
  const tip = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    const place = element.current
    if (place === null) return
    const { format, series, times } = props
    const onHover = (index: number | undefined) => {
      const at = index === undefined ? undefined : times[index]
      if (tip.current === null) return
      tip.current.textContent =
        at === undefined || index === undefined
          ? ""
          : [
              `${time(new Date(at).toISOString()).slice(0, 16)} UTC`,
              ...series.flatMap(({ name, values }) => {
                const value = values[index]
                return value == null || (value === 0 && series.length > 1) ? [] : [`${name}: ${format(value)}`]
              })
            ].join(" · ")
    }
    let plot = draw(place, props, onHover)
    const again = () => {
      plot.destroy()
      plot = draw(place, props, onHover)
    }
    const resized = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height }))
    resized.observe(place)
    // The canvas has the colors of the theme in it.
    const theme = new MutationObserver(again)
    theme.observe(document.documentElement, { attributeFilter: ["data-theme"] })
    const system = matchMedia("(prefers-color-scheme: dark)")
    system.addEventListener("change", again)
    return () => {
      system.removeEventListener("change", again)
      theme.disconnect()
      resized.disconnect()
      plot.destroy()
    }
  }, [props])
  const total = props.series.reduce((sum, { values }) => sum + values.reduce<number>((a, b) => a + (b ?? 0), 0), 0)
  return (
    <>
      <div
        ref={element}
        className="plot"
        role="img"
        aria-label={`${props.label}. ${props.series.length} series, ${props.times.length} intervals, ${
          props.kind === "bars" ? `${props.format(total)} in all` : "see the table for the figures"
        }`}
      />
      <p ref={tip} className="tip figures" aria-hidden="true" />
    </>
  )
}

export default Plot
