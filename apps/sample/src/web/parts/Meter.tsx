/** A bar that shows how much of a maximum is used. */
interface Props {
  readonly label: string
  readonly value: number
  readonly max: number
  /** The value as text. */
  readonly text: string
  /** Whether to highlight more than 90 %. */
  readonly limited?: boolean
}

export const Meter = ({ label, limited = false, max, text, value }: Props) => {
  const share = max > 0 ? Math.max(0, Math.min(1, value / max)) : 0
  return (
    <div className="meter">
      <span className="meter-label">{label}</span>
      <span className="meter-text">{text}</span>
      <div
        className={limited && share > 0.9 ? "bar bar-high" : "bar"}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={value}
        aria-valuetext={text}
      >
        <div style={{ width: `${share * 100}%` }} />
      </div>
    </div>
  )
}
