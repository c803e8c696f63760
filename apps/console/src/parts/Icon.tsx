/** Icons: drawn lines in the color of the text. They are decoration, so a word stands beside each. */
const paths = {
  overview: "M3 3h7v9H3zM14 3h7v5h-7zM14 12h7v9h-7zM3 16h7v5H3z",
  requests: "M4 6h16M4 12h16M4 18h10",
  usage: "M4 20V10M10 20V4M16 20v-7M22 20H2",
  keys: "M15 9a4 4 0 1 1-3 3.9L4 21v-3l2-1v-2l2-1 4-3M16 8h.01",
  guardrails: "M12 3l8 3v6c0 5-3.5 8-8 9-4.500-1-8-4-8-9V6z",
  workspaces: "M3 7l9-4 9 4-9 4zM3 12l9 4 9-4M3 17l9 4 9-4",
  credits:
    "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM15 9.500C14 8 10 8 10 10.200c0 2.600 5 1.200 5 3.800 0 2.200-4 2.200-5.500.5M12 6.500v11",
  models: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM12 12l8-4.500M12 12v9M12 12L4 7.500",
  providers: "M4 5h16v5H4zM4 14h16v5H4zM8 7.500h.01M8 16.500h.01",
  videos: "M3 6h13v12H3zM16 10l5-3v10l-5-3",
  webhooks: "M8 4a4 4 0 0 1 3 6l-3 5M8 15a3 3 0 1 0 3 3h6M17 18a3 3 0 1 0-2-5l-3-5",
  destinations: "M4 12h14M13 6l6 6-6 6",
  provider_keys: "M5 11h14v9H5zM8 11V7a4 4 0 0 1 8 0v4",
  alerts: "M6 16V11a6 6 0 1 1 12 0v5l2 2H4zM10 21h4",
  audit: "M6 3h9l4 4v14H6zM9 12h7M9 16h7M9 8h3",
  system: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 2v4M12 18v4M2 12h4M18 12h4M5 5l3 3M16 16l3 3M5 19l3-3M16 8l3-3",
  play: "M7 4l13 8-13 8z",
  pause: "M8 5v14M16 5v14",
  microphone: "M12 3a3 3 0 0 0-3 3v6a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  docs: "M4 5c3-1 6-1 8 1 2-2 5-2 8-1v14c-3-1-6-1-8 1-2-2-5-2-8-1zM12 6v14",
  menu: "M4 6h16M4 12h16M4 18h16",
  close: "M5 5l14 14M19 5L5 19",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M4 12l5 6L20 6",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  failed: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 9l6 6M15 9l-6 6",
  ok: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8 12l3 3 5-6",
  waiting: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3 3",
  off: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8 12h8",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1 1M18 18l1 1M5 19l1-1M18 6l1-1",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 21c1-5 5-6 8-6s7 1 8 6",
  upload: "M12 15V4M7 9l5-5 5 5M4 20h16",
  download: "M12 4v11M7 11l5 5 5-5M4 20h16",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  plus: "M12 5v14M5 12h14",
  refresh: "M20 11A8 8 0 1 0 18 17M20 4v7h-7"
} as const

export type IconName = keyof typeof paths

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d={paths[name]} />
  </svg>
)
