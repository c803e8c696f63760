import type { TaskProps } from "../Playground.tsx"
const Errors = (_: TaskProps) => null
export default Errors
