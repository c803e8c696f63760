import { expect, it } from "@effect/vitest"
import * as DeliveryPlaces from "../../src/webhooks/DeliveryPlaces.ts"

const make = () => DeliveryPlaces.make({ concurrency: 64, perWorkspace: 16, perHost: 4 })

/** The number of webhooks that may be sent to the receiver now. Each takes a place. */
const enterAll = (places: DeliveryPlaces.DeliveryPlaces, receiver: DeliveryPlaces.Receiver): number => {
  let count = 0
  while (places.hasRoom(receiver)) {
    places.enter(receiver)
    count++
  }
  return count
}

const receiver = (workspaceId: string, host = "h") => ({ workspaceId, host })

/** The places that a workspace takes with many receivers. */
const enterHosts = (places: DeliveryPlaces.DeliveryPlaces, workspaceId: string): number =>
  Array.from({ length: 100 }, (_, n) => enterAll(places, receiver(workspaceId, `h${n}`))).reduce((a, b) => a + b, 0)

it("one receiver gets a few places, and one workspace a part of them", () => {
  const places = make()
  expect(enterAll(places, receiver("w", "a"))).toBe(4)
  expect(enterHosts(places, "w")).toBe(12)
  expect(places.full().workspaces).toEqual(["w"])
  places.leave(receiver("w", "a"))
  expect(places.full().workspaces).toEqual([])
  expect(places.hasRoom(receiver("w", "a"))).toBe(true)
})

it("a workspace gets places of its own while all others are taken, up to the number of connections", () => {
  const places = make()
  for (let n = 0; n < 4; n++) expect(enterHosts(places, `w${n}`)).toBe(16)
  expect(enterHosts(places, "w0")).toBe(0)
  for (let n = 0; n < 96; n++) expect(enterHosts(places, `other${n}`)).toBe(2)
  expect(places.isFull()).toBe(true)
  expect(enterHosts(places, "late")).toBe(0)
  places.leave(receiver("other0", "h0"))
  expect(enterHosts(places, "late")).toBe(1)
})

it("a receiver that times out pauses, twice as long each time, and then gets one place until it answers", () => {
  const places = make()
  const slow = receiver("w", "slow")
  expect(enterAll(places, slow)).toBe(4)
  places.timedOut(slow, 1000)
  places.timedOut(slow, 1001)
  expect(places.pauseLeft(slow, 1000)).toBe(5000)
  expect(places.pauseLeft(receiver("another", "slow"), 1000)).toBe(0)
  expect(places.pauseLeft(slow, 6000)).toBe(0)
  for (let n = 0; n < 4; n++) places.leave(slow)
  expect(enterAll(places, slow)).toBe(1)
  expect(places.full().hosts).toEqual([["w", "slow"]])
  let now = 6000
  const pauses = Array.from({ length: 8 }, () => {
    places.timedOut(slow, now)
    const left = places.pauseLeft(slow, now)
    now += left
    return left / 1000
  })
  expect(pauses).toEqual([10, 20, 40, 80, 160, 300, 300, 300])
  places.inTime(slow)
  expect(enterAll(places, slow)).toBe(3)
  places.timedOut(slow, now)
  expect(places.pauseLeft(slow, now)).toBe(5000)
})
