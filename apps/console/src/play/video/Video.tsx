import type { TaskProps } from "../Playground.tsx"
const Video = (_: TaskProps) => null
export default Video
