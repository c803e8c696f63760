/** An amount as a part of a whole. */
interface Props {
  readonly label: string
  readonly value: number
  readonly max: number
  /** The same in words. */
  readonly text: string
  /** Whether to warn where it is nearly used up. */
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
