// The chart and the manifests of deploy/: rendered by Helm and kubectl, checked against the
// published schemas, and against the rules of the Pod Security Standard "restricted".
import { helmPrograms } from "@model-gateway/test-services/Helm"
import { execFileSync, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { at, keysOf, type Manifest, parseManifests, problemsOf } from "./support/Manifest.ts"

const deploy = join(import.meta.dirname, "..", "..", "..", "deploy")
const chart = join(deploy, "helm", "model-gateway")
const set = (...values: ReadonlyArray<string>) => values.flatMap((value) => ["--set", value])
const bucket = set("settings.objectStoreUrl=s3://my-bucket?region=eu-central-1")
const sqlite = set(
  "persistence.enabled=true",
  "persistence.storageClassName=fast",
  "replicas=1",
  "settings.databaseUrl=null",
  "settings.redisUrl=null"
)
const optional = set(
  "autoscaling.enabled=true",
  "serviceMonitor.enabled=true",
  "serviceMonitor.labels.release=prometheus",
  "networkPolicy.enabled=true",
  "networkPolicy.from[0].podSelector.matchLabels.app=proxy",
  "networkPolicy.egress[0].ports[0].port=443",
  "imagePullSecrets[0].name=registry",
  "env[0].name=AWS_SHARED_CREDENTIALS_FILE",
  "env[0].value=/run/secrets/model-gateway/s3-credentials",
  "nodeSelector.disk=fast",
  "tolerations[0].key=dedicated",
  "tolerations[0].operator=Exists",
  "podAnnotations.team=search",
  "serviceAccount.annotations.role=gateway",
  "service.annotations.zone=a"
)

const variants: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["the defaults", bucket],
  ["everything that is optional", [...bucket, ...optional]],
  ["one pod with SQLite on a volume", sqlite]
]

describe.skipIf(helmPrograms() === undefined)("the chart", () => {
  const { helm, kubectl } = helmPrograms() ?? { helm: "", kubectl: "" }
  const template = (...args: ReadonlyArray<string>) =>
    spawnSync(helm, ["template", "model-gateway", chart, "--namespace", "model-gateway", ...args], { encoding: "utf8" })
  const render = (...args: ReadonlyArray<string>): ReadonlyArray<Manifest> => {
    const { status, stderr, stdout } = template(...args)
    if (status !== 0) throw new Error(stderr)
    return parseManifests(stdout)
  }

  it("passes Helm's lint", () => {
    expect(spawnSync(helm, ["lint", "--strict", chart, ...bucket], { encoding: "utf8" })).toMatchObject({ status: 0 })
  })

  it.each(variants)("has manifests of the published schemas with %s", (_, args) => {
    const manifests = render(...args)
    expect(manifests.length).toBeGreaterThan(4)
    expect(manifests.flatMap((each) => problemsOf(each).map((problem) => `${each.kind}: ${problem}`))).toEqual([])
  })

  it.each(variants)('has pods that the standard "restricted" admits with %s', (_, args) => {
    const pods = render(...args).flatMap((each) => at(each, "spec.template.spec") ?? [])
    expect(pods.length).toBeGreaterThan(0)
    for (const pod of pods) {
      expect(at(pod, "securityContext")).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: "RuntimeDefault" }
      })
      expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false })
      const volumes = at(pod, "volumes")
      const kinds = Array.isArray(volumes) ? volumes.flatMap(keysOf) : []
      expect(
        kinds.filter((kind) => !["name", "configMap", "secret", "emptyDir", "persistentVolumeClaim"].includes(kind))
      ).toEqual([])
      expect(at(pod, "containers.0.securityContext")).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] }
      })
    }
  })

  it("gives a pod the time that it takes to stop", () => {
    const [deployment] = render(...bucket, ...set("shutdown.delaySeconds=5,shutdown.timeoutSeconds=300")).filter(
      ({ kind }) => kind === "Deployment"
    )
    expect(at(deployment, "spec.template.spec.terminationGracePeriodSeconds")).toBe(325)
    expect(at(deployment, "spec.template.spec.containers.0.args")).toEqual([
      "serve",
      "--shutdown-delay=5 seconds",
      "--shutdown-timeout=300 seconds",
      "--migrate=never"
    ])
  })

  it("makes another migration job for another image or pod, and none for SQLite", () => {
    const jobs = (...args: ReadonlyArray<string>) =>
      render(...args)
        .filter(({ kind }) => kind === "Job")
        .map(({ metadata }) => metadata.name)
    const first = jobs(...bucket)
    expect(first).toHaveLength(1)
    expect(jobs(...bucket, ...set("replicas=3"))).toEqual(first)
    expect(jobs(...bucket, ...set("image.tag=0.2.0"))).not.toEqual(first)
    expect(jobs(...bucket, ...set("secretName=other"))).not.toEqual(first)
    expect(jobs(...bucket, ...set("migrations=serve"))).toEqual([])
    expect(jobs(...sqlite)).toEqual([])
  })

  it("has a page whose commands delete the migration job of the version before, and nothing else", () => {
    const page = readFileSync(join(deploy, "../docs/operate/kubernetes.md"), "utf8")
    const [, label = "", value = ""] = /^kubectl delete job .*--selector (\S+)=(\S+)\nkubectl apply/m.exec(page) ?? []
    const deleted = parseManifests(readFileSync(join(deploy, "kubernetes", "model-gateway.yaml"), "utf8")).filter(
      ({ metadata }) => Reflect.get(Object(metadata["labels"]), label) === value
    )
    expect(deleted.map(({ kind }) => kind)).toEqual(["Job"])
  })

  it.each([
    ["a bucket is missing", [], "set settings.objectStoreUrl"],
    [
      "several pods would have SQLite",
      [...bucket, ...set("settings.databaseUrl=null")],
      "more than one pod needs settings.databaseUrl"
    ],
    [
      "several pods would share a volume",
      [...bucket, ...set("persistence.enabled=true")],
      "persistence.enabled needs replicas: 1"
    ],
    ["a value is misspelled", [...bucket, ...set("replcas=3")], "additional properties 'replcas' not allowed"],
    ["a value is out of bounds", [...bucket, ...set("replicas=0")], "replicas"]
  ])("refuses values where %s", (_, args, message) => {
    const { status, stderr } = template(...args)
    expect(status).not.toBe(0)
    expect(stderr).toContain(message)
  })

  it("is what deploy/kubernetes was rendered from (--update renders it again)", async () => {
    const { stdout } = template("--values", join(deploy, "kubernetes", "values.yaml"))
    await expect(stdout).toMatchFileSnapshot(join(deploy, "kubernetes", "model-gateway.yaml"))
  })

  it("has manifests that kubectl puts into one namespace, which refuses other pods", () => {
    const manifests = parseManifests(
      execFileSync(kubectl, ["kustomize", join(deploy, "kubernetes")], { encoding: "utf8" })
    )
    expect(manifests.flatMap(problemsOf)).toEqual([])
    const [namespace, ...rest] = manifests.toSorted(
      (a, b) => Number(b.kind === "Namespace") - Number(a.kind === "Namespace")
    )
    expect(at(namespace, "metadata.labels")).toEqual({ "pod-security.kubernetes.io/enforce": "restricted" })
    expect(new Set(rest.map((each) => at(each, "metadata.namespace")))).toEqual(new Set(["model-gateway"]))
  })

  it("has the version of the gateway", () => {
    const versionOf = (path: string) => /"version": "(.*)"/.exec(readFileSync(path, "utf8"))?.[1]
    const text = readFileSync(join(chart, "Chart.yaml"), "utf8")
    expect(/^appVersion: (.*)$/m.exec(text)?.[1]).toBe(versionOf(join(deploy, "..", "apps/gateway/package.json")))
  })
})

it("notices an unknown field, a wrong type and a missing one", () => {
  const service = (spec: unknown): Manifest => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a", labels: { any: "label" } },
    spec
  })
  expect(problemsOf(service({ ports: [{ port: 80 }] }))).toEqual([])
  expect(problemsOf(service({ ports: [{ port: 80 }], selectr: { a: "b" } }))).toEqual([
    ".spec.selectr is unknown",
    ".spec.selectr.a is unknown"
  ])
  expect(problemsOf(service({ ports: [{ port: "80" }] }))).toHaveLength(1)
  expect(problemsOf(service({ ports: [{ name: "http" }] }))).toHaveLength(1)
})
