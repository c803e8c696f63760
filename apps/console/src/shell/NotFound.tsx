import { Empty } from "../parts/Loaded.tsx"
import { PageLink } from "./PageLink.tsx"

export const NotFound = () => (
  <Empty title="The console has no page at this address.">
    <PageLink page="overview">Go to the overview</PageLink>
  </Empty>
)
