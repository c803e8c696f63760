/** Switches between light and dark. Default: the system's setting. */
import { useEffect, useState } from "react"

type Theme = "light" | "dark"

const storageKey = "model-gateway-theme"

const chosen = (): Theme | undefined => {
  try {
    const value = localStorage.getItem(storageKey)
    return value === "light" || value === "dark" ? value : undefined
  } catch {
    return undefined
  }
}

const dark = matchMedia("(prefers-color-scheme: dark)")

export const ThemeToggle = () => {
  const [theme, setTheme] = useState(chosen)
  const [system, setSystem] = useState<Theme>(dark.matches ? "dark" : "light")
  useEffect(() => {
    const follow = () => setSystem(dark.matches ? "dark" : "light")
    dark.addEventListener("change", follow)
    return () => dark.removeEventListener("change", follow)
  }, [])
  useEffect(() => {
    if (theme === undefined) return
    document.documentElement.dataset["theme"] = theme
    try {
      localStorage.setItem(storageKey, theme)
    } catch {
      // Without storage, the choice is kept until the page is closed.
    }
  }, [theme])
  const other = (theme ?? system) === "dark" ? "light" : "dark"
  const name = other === "dark" ? "Dark theme" : "Light theme"
  return (
    <button type="button" className="quiet" aria-label={name} title={name} onClick={() => setTheme(other)}>
      {other === "dark" ? "☾" : "☀"} <span className="words">{name}</span>
    </button>
  )
}
