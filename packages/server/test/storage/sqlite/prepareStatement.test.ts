import { DatabaseSync } from "node:sqlite"
import { expect, it } from "vitest"
import { prepareStatement } from "../../../src/storage/sqlite/prepareStatement.ts"

// CI runs it on Node 22.19, too, which binds numbered parameters by name only.
it("binds parameters by position, whether they are numbered or not", () => {
  const database = new DatabaseSync(":memory:")
  expect(prepareStatement(database, "SELECT ?2 AS b, ?1 AS a, ?2 AS c").all("x", 2)).toEqual([{ b: 2, a: "x", c: 2 }])
  expect(prepareStatement(database, "SELECT ? AS a, ? AS b").all("x", 2)).toEqual([{ a: "x", b: 2 }])
  database.exec("CREATE TABLE t (a INTEGER)")
  expect(prepareStatement(database, "INSERT INTO t VALUES (?1), (?1)").run(1).changes).toBe(2)
  database.close()
})
