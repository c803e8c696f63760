/** The fields of a form, all of them texts, so that a link and the history can have them. */
import { useCallback, useMemo, useState } from "react"
import type { Form } from "./link.ts"

/** `initial` replaces defaults of fields that the form has. */
export const useForm = <Fields extends Form>(defaults: Fields, initial: Form) => {
  const [form, setForm] = useState(() => {
    const given = Object.entries(initial).filter(([name]) => name in defaults)
    return { ...defaults, ...Object.fromEntries(given) }
  })
  const set = useCallback(
    (field: keyof Fields, value: string) => setForm((before) => ({ ...before, [field]: value })),
    []
  )
  return useMemo(() => ({ form, set, setForm }), [form, set])
}
