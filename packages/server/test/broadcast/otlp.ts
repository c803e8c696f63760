/**
 * Decodes OTLP: `protobufjs` with the definitions of the protocol
 * (https://github.com/open-telemetry/opentelemetry-proto, opentelemetry/proto/trace/v1/trace.proto
 * and its imports), as far as traces need them. It shares no code with what encodes them.
 */
import { Schema } from "effect"
import protobuf from "protobufjs"

const definitions = `
syntax = "proto3";

message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; string schema_url = 3; }
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans { InstrumentationScope scope = 1; repeated Span spans = 2; string schema_url = 3; }
message InstrumentationScope {
  string name = 1; string version = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
}
message Span {
  enum SpanKind {
    SPAN_KIND_UNSPECIFIED = 0; SPAN_KIND_INTERNAL = 1; SPAN_KIND_SERVER = 2; SPAN_KIND_CLIENT = 3;
    SPAN_KIND_PRODUCER = 4; SPAN_KIND_CONSUMER = 5;
  }
  message Event {
    fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; uint32 dropped_attributes_count = 4;
  }
  message Link {
    bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; repeated KeyValue attributes = 4;
    uint32 dropped_attributes_count = 5; fixed32 flags = 6;
  }
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5;
  SpanKind kind = 6; fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; uint32 dropped_attributes_count = 10; repeated Event events = 11;
  uint32 dropped_events_count = 12; repeated Link links = 13; uint32 dropped_links_count = 14; Status status = 15;
  fixed32 flags = 16;
}
message Status {
  enum StatusCode { STATUS_CODE_UNSET = 0; STATUS_CODE_OK = 1; STATUS_CODE_ERROR = 2; }
  string message = 2; StatusCode code = 3;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`

const Request = protobuf.parse(definitions).root.lookupType("ExportTraceServiceRequest")

const Attributes = Schema.Array(
  Schema.Struct({ key: Schema.String, value: Schema.Record(Schema.String, Schema.Unknown) })
)

const Decoded = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Schema.Struct({ attributes: Attributes }),
      scopeSpans: Schema.Array(
        Schema.Struct({
          scope: Schema.Struct({ name: Schema.String }),
          spans: Schema.Array(
            Schema.Struct({
              traceId: Schema.Uint8Array,
              spanId: Schema.Uint8Array,
              parentSpanId: Schema.optionalKey(Schema.Uint8Array),
              name: Schema.String,
              kind: Schema.String,
              startTimeUnixNano: Schema.String,
              endTimeUnixNano: Schema.String,
              attributes: Attributes,
              status: Schema.Struct({
                code: Schema.optionalKey(Schema.String),
                message: Schema.optionalKey(Schema.String)
              })
            })
          )
        })
      )
    })
  )
})

const valuesOf = (attributes: typeof Attributes.Type) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

const hex = (bytes: Uint8Array | undefined) => (bytes === undefined ? "" : Buffer.from(bytes).toString("hex"))

/** The spans of a request's body. Throws if it is not one. */
export const decode = (bytes: Uint8Array) => {
  const message = Request.decode(bytes)
  const plain = Request.toObject(message, { longs: String, enums: String })
  return Schema.decodeUnknownSync(Decoded)(plain).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service: valuesOf(resource.attributes)["service.name"],
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        name: span.name,
        kind: span.kind,
        start: span.startTimeUnixNano,
        end: span.endTimeUnixNano,
        attributes: valuesOf(span.attributes),
        status: span.status.code ?? "STATUS_CODE_UNSET",
        message: span.status.message
      }))
    )
  )
}
