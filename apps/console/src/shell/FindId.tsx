/** Takes any id and goes to what it identifies. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { pageOfId } from "../console/pages.ts"
import { Icon } from "../parts/Icon.tsx"
import { pathOf } from "./navigation.ts"
import { frameSearch } from "./search.ts"

export const FindId = () => {
  const [id, setId] = useState("")
  const [unknown, setUnknown] = useState(false)
  const navigate = useNavigate()
  return (
    <form
      className="find"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const page = pageOfId(id.trim())
        setUnknown(page === undefined)
        if (page === undefined) return
        setId("")
        void navigate({
          to: pathOf(page),
          search: (before: object) => ({ ...frameSearch({ ...before }), id: id.trim() })
        })
      }}
    >
      <Icon name="search" />
      <input
        type="search"
        aria-label="Find by id"
        placeholder="Find by id: req_, gen_, video_, evt_, key hash"
        value={id}
        aria-invalid={unknown}
        onChange={({ target }) => {
          setId(target.value)
          setUnknown(false)
        }}
      />
      {unknown && (
        <p role="alert" className="issue">
          An id starts with req_, gen_, video_ or evt_, or is that of a generation or the hash of a key.
        </p>
      )}
    </form>
  )
}
