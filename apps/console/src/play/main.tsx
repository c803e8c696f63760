/** The playground: starts the page. */
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { Playground } from "./Playground.tsx"

const root = document.getElementById("root")
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <Playground />
    </StrictMode>
  )
}
