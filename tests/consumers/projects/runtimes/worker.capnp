using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "worker", worker = .worker),
    # The gateway may be on this machine; by default a worker reaches public addresses only.
    (name = "internet", network = (allow = ["public", "private"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "worker")]
);

const worker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "src/workerd.mjs"),
    (name = "program.js", esModule = embed "dist/program.js")
  ],
  compatibilityDate = "2026-11-01",
  bindings = [
    (name = "MODEL_GATEWAY_BASE_URL", fromEnvironment = "MODEL_GATEWAY_BASE_URL"),
    (name = "MODEL_GATEWAY_API_KEY", fromEnvironment = "MODEL_GATEWAY_API_KEY"),
    (name = "GATEWAY_ORIGIN", fromEnvironment = "GATEWAY_ORIGIN"),
    (name = "RUNTIME", fromEnvironment = "RUNTIME"),
    (name = "MODEL_GATEWAY_MANAGEMENT_KEY", fromEnvironment = "MODEL_GATEWAY_MANAGEMENT_KEY"),
    (name = "CALLBACK_URL", fromEnvironment = "CALLBACK_URL"),
    (name = "WEBHOOK_SECRET", fromEnvironment = "WEBHOOK_SECRET")
  ]
);
