import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What stands between a daemon and its provider. */
export interface LyingProxy {
  /** The provider's base URL by way of the proxy; stays the same. */
  readonly url: string;
  /** `noBackend`: everything is answered as a proxy does that has nothing behind it. */
  behave(how: 'pass' | 'noBackend'): void;
  /** Nobody listens any more. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

/** A reverse proxy on loopback in front of `target`. */
export async function startLyingProxy(target: string): Promise<LyingProxy> {
  const upstream = new URL(target);
  let behaviour: 'pass' | 'noBackend' = 'pass';
  const server = createServer((incoming, outgoing) => {
    if (behaviour === 'pass') return pass(upstream, incoming, outgoing);
    incoming.resume();
    outgoing.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' });
    outgoing.end('default backend - 404');
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}${upstream.pathname}`,
    behave: (how) => void (behaviour = how),
    async goAway() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
    comeBack: () => listen(port).then(() => undefined),
  };
}

function pass(upstream: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url, headers } = incoming;
  const { hostname, port } = upstream;
  const asked = request({ hostname, port, method, path: url, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(outgoing);
  });
  asked.on('error', () => outgoing.destroy());
  incoming.pipe(asked);
}
