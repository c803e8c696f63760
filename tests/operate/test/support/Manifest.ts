// Checks manifests of Kubernetes against the schemas that Kubernetes and the Prometheus Operator
// publish.
import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1"
import { Deployment } from "kubernetes-models/apps/v1"
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2"
import { Job } from "kubernetes-models/batch/v1"
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1"
import { ConfigMap, Namespace, PersistentVolumeClaim, Service, ServiceAccount } from "kubernetes-models/v1"
import { parseAllDocuments } from "yaml"

type Fields = Readonly<Record<string, unknown>>

export interface Manifest extends Fields {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Fields & { readonly name: string }
}

const models = [
  ConfigMap,
  Deployment,
  HorizontalPodAutoscaler,
  Job,
  Namespace,
  NetworkPolicy,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
  ServiceMonitor
]

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null

const isManifest = (value: unknown): value is Manifest =>
  isFields(value) &&
  typeof value["apiVersion"] === "string" &&
  typeof value["kind"] === "string" &&
  isFields(value["metadata"]) &&
  typeof value["metadata"]["name"] === "string"

export const parseManifests = (text: string): ReadonlyArray<Manifest> =>
  parseAllDocuments(text).map((document) => {
    for (const error of document.errors) throw new Error(`not YAML: ${error.message}`)
    const value: unknown = document.toJS()
    if (!isManifest(value)) throw new Error(`not a manifest:\n${String(document)}`)
    return value
  })

/** The value at a path such as `spec.template.spec`. Undefined if there is none. */
export const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, key) => (isFields(inner) ? inner[key] : undefined), value)

export const keysOf = (value: unknown): ReadonlyArray<string> => (isFields(value) ? Object.keys(value) : [])

/** The object, and the paths of the fields that were read of it. */
const watched = (value: object, read: Set<string>, path = ""): object =>
  new Proxy(value, {
    get: (target, key) => {
      const inner: unknown = Reflect.get(target, key)
      const innerPath = `${path}.${String(key)}`
      read.add(innerPath)
      return isFields(inner) ? watched(inner, read, innerPath) : inner
    }
  })

const pathsOf = (value: unknown, path = ""): ReadonlyArray<string> =>
  isFields(value)
    ? Object.entries(value).flatMap(([key, inner]) => [`${path}.${key}`, ...pathsOf(inner, `${path}.${key}`)])
    : []

/**
 * What the schema of its kind says against it. The schemas allow unknown fields, which the API
 * server drops: a typo. A validator reads each field that it knows, so one that it does not read is
 * unknown.
 */
export const problemsOf = (manifest: Manifest): ReadonlyArray<string> => {
  const Model = models.find((model) => model.apiVersion === manifest.apiVersion && model.kind === manifest.kind)
  if (Model === undefined) return [`no schema for ${manifest.kind} of ${manifest.apiVersion}`]
  const read = new Set<string>()
  try {
    Model.prototype.validate.call(watched(manifest, read))
  } catch (error) {
    return [String(error)]
  }
  return pathsOf(manifest)
    .filter((path) => !read.has(path))
    .map((path) => `${path} is unknown`)
}
