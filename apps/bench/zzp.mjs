import { fork } from "node:child_process"
const child = fork("./dist/client/peer.js")
child.once("message", ({port}) => console.log(`http://127.0.0.1:${port}`))
