/** A choice among a few values, with its label beside it. */
import { type ComponentProps, useId } from "react"
import { Select } from "../../parts/Select.tsx"

export const Choice = <Value extends string>({
  label,
  ...select
}: { readonly label: string } & ComponentProps<typeof Select<Value>>) => {
  const id = useId()
  return (
    <div className="choice">
      <label htmlFor={id}>{label}</label>
      <Select {...select} id={id} />
    </div>
  )
}
