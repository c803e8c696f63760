import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as FairShare from "../src/FairShare.ts"

/** Asks for an amount and notes in `granted` when it has it. */
const ask = (share: FairShare.FairShare, owner: string, amount: number, granted: Array<string>, name = owner) => {
  const ticket = share.enter(owner, amount)
  Effect.runFork(Effect.map(ticket.granted, () => void granted.push(name)))
  return ticket
}

it("gives one owner no more than its share, however much is free", () => {
  const share = FairShare.make({ capacity: 10, perOwner: 4 })
  const granted: Array<string> = []
  ask(share, "a", 3, granted)
  ask(share, "a", 3, granted)
  ask(share, "b", 4, granted)
  expect(granted).toEqual(["a", "b"])
})

it("serves waiting owners in turn, not in the order of their requests", () => {
  const share = FairShare.make({ capacity: 2, perOwner: 2 })
  const granted: Array<string> = []
  const first = ask(share, "a", 2, granted, "a0")
  const tickets = [1, 2, 3].map((n) => ask(share, "a", 2, granted, `a${n}`))
  const other = ask(share, "b", 2, granted, "b1")
  first.leave()
  tickets[0]?.leave()
  other.leave()
  tickets[1]?.leave()
  expect(granted).toEqual(["a0", "a1", "b1", "a2", "a3"])
})

it("lets a request for more than a share take the whole share", () => {
  const share = FairShare.make({ capacity: 10, perOwner: 4 })
  const granted: Array<string> = []
  const ticket = ask(share, "a", 100, granted)
  ask(share, "a", 1, granted, "again")
  expect(granted).toEqual(["a"])
  ticket.leave()
  expect(granted).toEqual(["a", "again"])
})

it("forgets a request that leaves while it waits", () => {
  const share = FairShare.make({ capacity: 1, perOwner: 1 })
  const granted: Array<string> = []
  const first = ask(share, "a", 1, granted)
  ask(share, "b", 1, granted).leave()
  ask(share, "c", 1, granted)
  first.leave()
  expect(granted).toEqual(["a", "c"])
})

it("gives back an amount once, however often a ticket leaves", () => {
  const share = FairShare.make({ capacity: 1, perOwner: 1 })
  const granted: Array<string> = []
  const ticket = ask(share, "a", 1, granted)
  ticket.leave()
  ticket.leave()
  ask(share, "b", 1, granted)
  ask(share, "c", 1, granted)
  expect(granted).toEqual(["a", "b"])
})

it.effect("gives back what an interrupted effect acquired or waited for", () =>
  Effect.gen(function* () {
    const share = FairShare.make({ capacity: 1, perOwner: 1 })
    const running = yield* Effect.forkChild(share.withAmount("a", 1)(Effect.never), { startImmediately: true })
    const waiting = yield* Effect.forkChild(share.withAmount("b", 1)(Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(waiting)
    yield* Fiber.interrupt(running)
    expect(yield* share.withAmount("c", 1)(Effect.succeed("done"))).toBe("done")
  })
)
