import { expect, it } from "vitest"
import * as WorkerMetrics from "../src/WorkerMetrics.ts"

it("the metrics of several workers are one page, where each sample names its worker and families are whole", () => {
  const first = `# HELP a_total Of "a" {x}
# TYPE a_total counter
a_total 1
# HELP b Of b
# TYPE b histogram
b_bucket{kind="x",le="+Inf"} 2
b_sum{kind="x"} 3
`
  const second = `# HELP b Of b, as a later version says it
# TYPE b histogram
b_bucket{kind="x",le="+Inf"} 5
# HELP c Of c
# TYPE c gauge
c{text="}, a 1"} 0.5
`
  const page = WorkerMetrics.merge([
    { worker: 1, text: first },
    { worker: 2, text: second }
  ])
  expect(page).toBe(`# HELP a_total Of "a" {x}
# TYPE a_total counter
a_total{worker="1"} 1
# HELP b Of b
# TYPE b histogram
b_bucket{worker="1",kind="x",le="+Inf"} 2
b_sum{worker="1",kind="x"} 3
b_bucket{worker="2",kind="x",le="+Inf"} 5
# HELP c Of c
# TYPE c gauge
c{worker="2",text="}, a 1"} 0.5
`)
})
