import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** The address cannot be listened on. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Port 0 takes a free one. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
}

/** The address with a real port, as a URL. @throws {ListenError} */
export async function listen(app: FastifyInstance, { host, port }: ListenAt): Promise<string> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw new ListenError(`cannot listen on ${host}:${port}; choose another with --listen`, {
      cause: error,
    });
  }
  const { address, family, port: taken } = app.server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}
