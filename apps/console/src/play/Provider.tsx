/** Chooses the only provider that may serve the request, if the model has several. */
import { SelectField } from "../parts/Fields.tsx"

export const ProviderField = ({
  onChange,
  providers,
  value
}: {
  readonly providers: ReadonlyArray<string>
  readonly value: string
  readonly onChange: (provider: string) => void
}) =>
  providers.length > 1 || value !== "" ? (
    <SelectField
      label="Provider"
      name="provider"
      value={value}
      options={[
        ["", "Any, in the operator's order"] as const,
        ...[...new Set([...providers, ...(value === "" ? [] : [value])])].map((name) => [name, name] as const)
      ]}
      onChange={onChange}
    />
  ) : null
