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

it("returns rows as objects, and their values as arrays", () => {
  const database = new DatabaseSync(":memory:")
  database.exec("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)")
  const statement = prepareStatement(database, "SELECT b, a FROM t ORDER BY a")
  const objects = [
    { b: "x", a: 1 },
    { b: null, a: 2 }
  ]
  expect(statement.returnsRows).toBe(true)
  expect(statement.all()).toEqual(objects)
  expect(statement.arrays()).toEqual([
    ["x", 1],
    [null, 2]
  ])
  expect(statement.all()).toEqual(objects)
  expect(prepareStatement(database, "DELETE FROM t").returnsRows).toBe(false)
  database.close()
})

it("follows the columns of a table that changes while the statement is prepared", () => {
  const database = new DatabaseSync(":memory:")
  database.exec("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x')")
  const all = prepareStatement(database, "SELECT * FROM t")
  const some = prepareStatement(database, "SELECT a, b FROM t")
  expect(all.arrays()).toEqual([[1, "x"]])
  database.exec("DROP TABLE t; CREATE TABLE t (c REAL, b TEXT, a INTEGER); INSERT INTO t VALUES (0.5, 'y', 2)")
  expect(all.all()).toEqual([{ c: 0.5, b: "y", a: 2 }])
  expect(all.arrays()).toEqual([[0.5, "y", 2]])
  expect(some.all()).toEqual([{ a: 2, b: "y" }])
  database.close()
})
