/** A course of figures without axes. The figures stand beside it, so it has no text of its own. */
export const Sparkline = ({ values }: { readonly values: ReadonlyArray<number> }) => {
  const max = Math.max(...values, Number.MIN_VALUE)
  const points = values.map((value, index) => `${(index / (values.length - 1)) * 100},${28 - (value / max) * 26}`)
  return (
    <svg className="sparkline" viewBox="0 0 100 30" preserveAspectRatio="none" aria-hidden="true">
      <polygon points={`0,30 ${points.join(" ")} 100,30`} />
      <polyline points={points.join(" ")} />
    </svg>
  )
}
