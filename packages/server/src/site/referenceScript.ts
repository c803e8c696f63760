/**
 * The script of the reference page, which runs after that of the element: the filter of the menu,
 * the buttons that lead to the form of an operation, and a style that no page can reach otherwise.
 */
export const referenceScript = `// The button to copy covered the first lines of a sample. It has no part that a style sheet can name.
const sheet = new CSSStyleSheet()
sheet.replaceSync(
  ".toolbar-copy-btn { position: static; align-self: flex-end; margin: 0 0 4px } .toolbar-copy-btn + pre { padding-right: 8px }"
)
customElements.get("syntax-highlighter").elementStyles.push(sheet)

const menu = document.querySelector(".menu")
menu.querySelector("input").addEventListener("input", ({ target }) => {
  const words = target.value.toLowerCase().split(/\\s+/)
  for (const item of menu.querySelectorAll("li")) {
    item.hidden = !words.every((word) => item.textContent.toLowerCase().includes(word))
  }
})
menu.addEventListener("click", ({ target }) => {
  if (target.closest("a") !== null) menu.open = false
})

document.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-try]")
  if (button === null) return
  let place = button.closest("[slot]").assignedSlot
  while (place !== null && place.querySelector("[part~=btn-try]") === null) place = place.parentElement
  const execute = place?.querySelector("[part~=btn-try]")
  execute?.scrollIntoView({ block: "center" })
  execute?.focus({ preventScroll: true })
})
`
