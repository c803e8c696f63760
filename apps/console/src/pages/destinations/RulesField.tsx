/** Edits the filter rules of a destination: in fields, or as JSON. */
import { useState } from "react"
import { AreaField, CheckField, issueOf } from "../../parts/Fields.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Select } from "../../parts/Select.tsx"
import {
  fields,
  type Group,
  isNumber,
  needsValue,
  newGroup,
  newRule,
  operatorsOf,
  problemOfRules,
  type Rule,
  type Rules,
  rulesOf,
  toJson,
  withField
} from "./rules.ts"
import "./rules.css"

const RuleFields = ({
  name,
  onChange,
  onRemove,
  rule
}: {
  /** Such as "rule 2 of group 1". */
  readonly name: string
  readonly rule: Rule
  readonly onChange: (rule: Rule) => void
  readonly onRemove: () => void
}) => (
  <li className="rule">
    <Select
      aria-label={`Field, ${name}`}
      value={rule.field}
      options={fields}
      onChange={(field) => onChange(withField(rule, field))}
    />
    <Select
      aria-label={`Comparison, ${name}`}
      value={rule.operator}
      options={operatorsOf(rule.field)}
      onChange={(operator) => onChange({ ...rule, operator })}
    />
    {needsValue(rule.operator) && (
      <input
        type={isNumber(rule.field) ? "number" : "text"}
        step="any"
        aria-label={`Value, ${name}`}
        value={rule.value}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => onChange({ ...rule, value: target.value })}
      />
    )}
    <button type="button" className="quiet" aria-label={`Remove ${name}`} onClick={onRemove}>
      <Icon name="close" />
    </button>
  </li>
)

const replaced = <A,>(items: ReadonlyArray<A>, at: number, item: A): ReadonlyArray<A> => items.with(at, item)

const removed = <A,>(items: ReadonlyArray<A>, at: number): ReadonlyArray<A> => items.toSpliced(at, 1)

const GroupFields = ({
  group: { logic, rules },
  number,
  onChange,
  onRemove
}: {
  /** Counted from 1. */
  readonly number: number
  readonly group: Group
  readonly onChange: (group: Group) => void
  readonly onRemove: () => void
}) => (
  <fieldset className="rules">
    <legend>{number === 1 ? "Send an event that matches" : "Or an event that matches"}</legend>
    {rules.length > 1 && (
      <Select
        aria-label={`Which rules of group ${number}`}
        value={logic}
        options={[
          ["and", "all of these rules"],
          ["or", "at least one of these rules"]
        ]}
        onChange={(logic) => onChange({ logic, rules })}
      />
    )}
    <ul className="lines">
      {rules.map((rule, at) => (
        <RuleFields
          key={at}
          name={`rule ${at + 1} of group ${number}`}
          rule={rule}
          onChange={(next) => onChange({ logic, rules: replaced(rules, at, next) })}
          onRemove={() => (rules.length === 1 ? onRemove() : onChange({ logic, rules: removed(rules, at) }))}
        />
      ))}
    </ul>
    <div className="bar">
      <button type="button" className="quiet" onClick={() => onChange({ logic, rules: [...rules, newRule] })}>
        <Icon name="plus" />
        Add a rule
      </button>
    </div>
  </fieldset>
)

export const RulesField = ({
  error,
  json,
  onChange
}: {
  /** The rules as JSON. Empty: none. */
  readonly json: string
  readonly onChange: (json: string) => void
  readonly error: Error | null
}) => {
  // Its fields keep what was typed, such as a number that is not finished.
  const [rules, setRules] = useState(() => rulesOf(json))
  const change = (next: Rules) => {
    setRules(next)
    onChange(toJson(next))
  }
  const problem = problemOfRules(json)
  if (rules === undefined) {
    const asForm = rulesOf(json)
    return (
      <div className="field">
        <AreaField
          label="Filter rules (JSON)"
          name="filter_rules"
          rows={8}
          value={json}
          onChange={onChange}
          placeholder='{"groups":[{"rules":[{"field":"total_cost","operator":"gt","value":0.1}]}]}'
          error={error}
          hint={problem ?? "An event is sent if it matches at least one group. Empty: all are sent."}
        />
        <div className="bar">
          <button type="button" className="quiet" disabled={asForm === undefined} onClick={() => setRules(asForm)}>
            Edit in fields
          </button>
          {asForm === undefined && problem === undefined && (
            <span className="hint">These rules have something that the fields do not have.</span>
          )}
        </div>
      </div>
    )
  }
  const { groups, isEnabled } = rules
  const issue = issueOf(error, "filter_rules")
  return (
    <fieldset className="field">
      <legend className="field-label">Filter rules</legend>
      {groups.length === 0 && <p className="hint">None: every event is sent.</p>}
      {groups.map((group, at) => (
        <GroupFields
          key={at}
          number={at + 1}
          group={group}
          onChange={(next) => change({ isEnabled, groups: replaced(groups, at, next) })}
          onRemove={() => change({ isEnabled, groups: removed(groups, at) })}
        />
      ))}
      {groups.length > 0 && (
        <CheckField
          label="Apply these rules"
          checked={isEnabled}
          onChange={(isEnabled) => change({ isEnabled, groups })}
        />
      )}
      {(issue ?? problem) !== undefined && <p className={issue === undefined ? "hint" : "issue"}>{issue ?? problem}</p>}
      <div className="bar">
        <button type="button" onClick={() => change({ isEnabled, groups: [...groups, newGroup] })}>
          <Icon name="plus" />
          {groups.length === 0 ? "Add a rule" : "Add an alternative"}
        </button>
        <button type="button" className="quiet" onClick={() => setRules(undefined)}>
          Edit as JSON
        </button>
      </div>
    </fieldset>
  )
}
