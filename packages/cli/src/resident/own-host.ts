/** Servers of a runtime of one's own, with the face that those of a resident have. */
import { EventEmitter, on } from 'node:events';
import type { RuntimeApi, RuntimeEvents } from '@bulkhead/runtime';
import type { ResourceUpdate } from '@bulkhead/runtime/control/client';
import type { ToolHost } from './remote-host.js';

export function ownHost(runtime: RuntimeApi): ToolHost {
  return {
    ready: (options) => runtime.ready(options),
    tools: () => runtime.tools(),
    server: (name) => runtime.server(name),
    async updates(server, uri, signal) {
      const news = new EventEmitter<{ update: [ResourceUpdate] }>();
      // Listens from here on: the first update may come with the answer to the subscription.
      const updates = on(news, 'update', { signal });
      runtime.on('resource', (event: RuntimeEvents['resource'][0]) => {
        if (event.server !== server || event.uri !== uri) return;
        news.emit('update', { at: new Date().toISOString(), server, uri });
      });
      await runtime.server(server).subscribe(uri);
      return each(updates, signal);
    },
  };
}

async function* each(updates: AsyncIterable<unknown>, signal: AbortSignal): AsyncGenerator<ResourceUpdate> {
  try {
    for await (const [update] of updates as AsyncIterable<[ResourceUpdate]>) yield update;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
