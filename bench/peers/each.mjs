/**
 * For peers that are one client per server: connects them side by side, each by itself, so that a server that never
 * answers keeps nobody else waiting.
 */

/**
 * @param connectOne `(name, spec) => client`, whose promise settles when the client can make calls
 * @returns the clients of the awaited servers by name, and `close` for all of them
 */
export async function connectEach(servers, { awaited, onReady }, connectOne, closeOne) {
  const clients = new Map();
  const waits = Object.entries(servers).map(async ([name, spec]) => {
    const client = await connectOne(name, spec);
    clients.set(name, client);
    onReady(name);
  });
  const names = Object.keys(servers);
  for (const wait of waits) wait.catch(() => {}); // those not awaited end with their host
  await Promise.all(waits.filter((_, i) => awaited.includes(names[i])));
  return {
    clients,
    close: () => Promise.all([...clients.values()].map((client) => closeOne(client))),
  };
}
