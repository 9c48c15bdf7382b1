// comlink ships the types of its Node adapter beside the `.js` name only.
declare module 'comlink/dist/esm/node-adapter.mjs' {
  import type { MessagePort } from 'node:worker_threads';
  export default function nodeEndpoint(port: MessagePort): import('comlink').Endpoint;
}
