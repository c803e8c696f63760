import Link from "next/link"

export default function About() {
  return (
    <main>
      <h1>About</h1>
      <p>
        To leave <Link href="/">the other page</Link> ends its uploads.
      </p>
    </main>
  )
}
