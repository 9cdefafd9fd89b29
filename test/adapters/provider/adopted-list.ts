import { createServer } from 'node:http';
import type { MemoryNetwork } from '../../doubles/memory-network.ts';
import { publicKeyLine } from './driver-stand.ts';

export const HOST_KEY = publicKeyLine(5);

/** An entry of a list of adopted servers. */
export const adoptedEntry = (id: string, change: object = {}) => ({
  ...{ ID: id, HostKey: HOST_KEY },
  ...change,
});

/** Serves a list of adopted servers at an address of the network. */
export function serveAdopted(network: MemoryNetwork, ...first: object[]) {
  let entries: readonly object[] = first;
  const page = createServer((_, reply) => reply.end(JSON.stringify(entries)));
  const { host, port } = network.listen(page, { host: '127.0.0.1', port: 0 });
  return {
    /** Value of `adopt`. */
    url: `http://${host}:${port}/servers.json`,
    /** Replaces the list. */
    write: (...next: object[]) => void (entries = next),
  };
}
