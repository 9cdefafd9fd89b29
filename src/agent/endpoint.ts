import { isIP } from 'node:net';

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `host:port`; an IPv6 address is in brackets.
 * @throws {Error} anything else.
 */
export function parseEndpoint(text: string): Endpoint {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  const bad = !host || port < 1 || port > 65_535 || (match?.[1] && isIP(match[1]) !== 6);
  if (bad) throw new Error(`endpoint is not host:port: ${JSON.stringify(text)}`);
  return { host, port };
}
