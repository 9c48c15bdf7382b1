/** Routes for what servers offer besides calls: resources and prompts, and news of a resource for as long as somebody listens. */
import type { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { ServerView } from '../api.js';
import type { ControlContext } from './app.js';
import { QUIET } from './event-feed.js';
import type { Offer, ResourceUpdate } from './protocol.js';
import { checked, offerRequest, parsedBody, updatesQuery } from './requests.js';
import { Subscriptions } from './subscriptions.js';

/** A comment this often keeps the connection of a quiet stream from looking dead. */
const HEARTBEAT_MS = 15_000;

export function offerRoutes(app: Hono, { runtime, options, feed }: ControlContext): void {
  const subscriptions = new Subscriptions();
  const active = () => options.onActivity?.();

  app.post('/v1/offers/:server', async (c) => {
    active();
    const offer = checked(offerRequest, parsedBody(await c.req.text()));
    return c.json(await ask(runtime.server(c.req.param('server')), offer, c.req.raw.signal));
  });

  // Answers once the server has taken the subscription; ends with the client or with the runtime.
  app.get('/v1/updates/:server', async (c) => {
    active();
    const { uri } = checked(updatesQuery, c.req.query());
    const view = runtime.server(c.req.param('server'));
    // Before the subscription: its first update may come with the answer to it.
    const events = feed.open(0);
    const leave = await subscriptions.join(view, uri).catch((error: unknown) => {
      events.close();
      throw error;
    });
    return streamSSE(c, async (sse) => {
      sse.onAbort(() => events.close());
      try {
        await sse.write(': here\n\n');
        for (;;) {
          const event = await events.next(HEARTBEAT_MS);
          if (event === undefined || sse.aborted) return;
          active();
          if (event === QUIET) await sse.write(': quiet\n\n');
          else if (event.event === 'resource' && event.data.server === view.name && event.data.uri === uri)
            await sse.writeSSE({
              data: JSON.stringify({ at: event.at, server: view.name, uri } satisfies ResourceUpdate),
            });
        }
      } finally {
        events.close();
        await leave();
      }
    });
  });
}

function ask(view: ServerView, offer: Offer, signal: AbortSignal): Promise<unknown> {
  switch (offer.ask) {
    case 'resources':
      return view.listResources({ signal });
    case 'templates':
      return view.listResourceTemplates({ signal });
    case 'read':
      return view.readResource(offer.uri, { signal });
    case 'prompts':
      return view.listPrompts({ signal });
    case 'prompt':
      return view.getPrompt(offer.prompt, offer.args, { signal });
  }
}
