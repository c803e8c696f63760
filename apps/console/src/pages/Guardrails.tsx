const Guardrails = () => null

export default Guardrails
