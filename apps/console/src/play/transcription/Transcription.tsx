import type { TaskProps } from "../Playground.tsx"
const Transcription = (_: TaskProps) => null
export default Transcription
