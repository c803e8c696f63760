/** All facts of a guardrail, its keys, and what can be done with it. */
import { useChange, useMay, useRead } from "../../api/hooks.ts"
import { Id } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { count, credits } from "../../parts/format.ts"
import { ItemActions } from "../../parts/ItemActions.tsx"
import { Loaded } from "../../parts/Loaded.tsx"
import { Time } from "../../parts/Time.tsx"
import { ChangesLink } from "../../shell/Links.tsx"
import { useWorkspaceName } from "../../shell/WorkspacePicker.tsx"
import { AssignedKeys } from "./AssignedKeys.tsx"
import { EditGuardrail, type Guardrail } from "./GuardrailForm.tsx"
import { GuardrailLimit } from "./GuardrailLimit.tsx"

const Actions = ({ of, onDeleted }: { readonly of: Guardrail; readonly onDeleted: () => void }) => {
  const remove = useChange("DELETE /guardrails/:id")
  return (
    <ItemActions
      what="guardrail"
      name={of.name}
      edit={(close) => <EditGuardrail of={of} onClose={close} />}
      deletion={{
        change: remove,
        run: () => remove.mutate({ params: { id: of.id } }, { onSuccess: onDeleted }),
        effect: (
          <p>
            {of.key_count === 0
              ? "It has no keys."
              : `${of.key_count === 1 ? "Its key stays" : `Its ${count(of.key_count)} keys stay`}, without this limit: ${
                  of.key_count === 1 ? "it" : "they"
                } may then use every model and provider.`}
          </p>
        )
      }}
    />
  )
}

const Entries = ({
  all,
  allowed,
  ignored
}: {
  readonly allowed: ReadonlyArray<string> | null
  readonly ignored: ReadonlyArray<string> | null
  readonly all: string
}) => (
  <>
    {allowed === null ? (
      all
    ) : allowed.length === 0 ? (
      "None: every request is refused"
    ) : (
      <>
        Only <code>{allowed.join(", ")}</code>
      </>
    )}
    {ignored !== null && ignored.length > 0 && (
      <>
        , never <code>{ignored.join(", ")}</code>
      </>
    )}
  </>
)

const Facts = ({ of }: { readonly of: Guardrail }) => {
  const workspaceName = useWorkspaceName()
  return (
    <dl className="facts">
      {of.description !== null && (
        <>
          <dt>For</dt>
          <dd>{of.description}</dd>
        </>
      )}
      <dt>Limit</dt>
      <dd>
        <GuardrailLimit of={of} />
        {of.limit_usd !== null && of.limit_remaining !== null && (
          <p className="hint">{credits(of.limit_remaining)} credits are left.</p>
        )}
      </dd>
      <dt>Resets</dt>
      <dd>{of.resets_at === null ? "Never" : <Time at={of.resets_at} />}</dd>
      <dt>Spent</dt>
      <dd className="figures">
        {credits(of.usage_daily)} today, {credits(of.usage_weekly)} this week, {credits(of.usage_monthly)} this month,{" "}
        {credits(of.usage)} in all
      </dd>
      <dt>Models</dt>
      <dd>
        <Entries all="All models" allowed={of.allowed_models} ignored={of.ignored_models} />
      </dd>
      <dt>Providers</dt>
      <dd>
        <Entries all="All providers" allowed={of.allowed_providers} ignored={of.ignored_providers} />
      </dd>
      <dt>Listed in</dt>
      <dd>{of.workspace_id === null ? "No workspace" : workspaceName(of.workspace_id)}</dd>
      <dt>Id</dt>
      <dd>
        <Id id={of.id} what="the id" full />
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={of.created_at} />
        <ChangesLink target={of.id} />
      </dd>
    </dl>
  )
}

export const GuardrailDetails = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const guardrail = useRead("GET /guardrails/:id", { params: { id } })
  const mayChange = useMay("operator")
  return (
    <Dialog kind="side" title={guardrail.data?.data.name ?? "Guardrail"} onClose={onClose}>
      <Loaded value={guardrail} what="The guardrail" rows={12}>
        {({ data }) => (
          <>
            {mayChange && <Actions of={data} onDeleted={onClose} />}
            <Facts of={data} />
            <AssignedKeys of={data} />
          </>
        )}
      </Loaded>
    </Dialog>
  )
}
