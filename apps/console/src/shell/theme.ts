/** The theme: that of the system until the person chooses one. */
import { useState } from "react"

type Theme = "light" | "dark"

const key = "model-gateway-theme"

// Browsers can forbid storage. The choice then ends with the page.
const stored = (): string | null => {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

const systemTheme = (): Theme => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")

const apply = (theme: Theme | undefined) => {
  if (theme !== undefined) document.documentElement.dataset["theme"] = theme
}

const initial = stored()
const chosen: Theme | undefined = initial === "light" || initial === "dark" ? initial : undefined
apply(chosen)

export const useTheme = () => {
  const [theme, setTheme] = useState<Theme>(chosen ?? systemTheme())
  const toggle = () => {
    const next = theme === "dark" ? "light" : "dark"
    apply(next)
    setTheme(next)
    try {
      localStorage.setItem(key, next)
    } catch {
      // The page has the theme already.
    }
  }
  return { theme, toggle }
}
