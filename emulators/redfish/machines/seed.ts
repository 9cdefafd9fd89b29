import { type IncomingMessage, request as sendRequest } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Network } from '../../kit/listen.ts';

/** 256 bits in base32. */
const TOKEN = /(?<![a-z2-7])[a-z2-7]{52}(?![a-z2-7])/;

/** An installer's input. */
export interface SeedData {
  readonly hostname: string;
  /** `authorized_keys` lines. */
  readonly authorizedKeys: readonly string[];
  /** Input of the new system's first boot. */
  readonly userdata: string;
}

/** The seed server refused, or sent unusable data. A retry gives the same result. */
export class SeedRefused extends Error {}

/** Who asks. */
export interface Asker {
  /** The machine's own address. */
  readonly from: string;
  readonly signal: AbortSignal;
  /** Default TCP. */
  readonly network?: Network | undefined;
}

/**
 * The installer's seed URL with a trailing slash, by the token in the address that it was booted
 * from. Null: it is no installer.
 */
export function seedOf(address: string): string | null {
  const token = TOKEN.exec(address)?.[0];
  return token === undefined ? null : `${new URL(address).origin}/s/${token}/`;
}

const CONFIG = z.object({ hostname: z.string(), ssh_authorized_keys: z.array(z.string()) });

/** In the form of NoCloud. @throws {SeedRefused} @throws {Error} the seed server does not answer. */
export async function fetchSeed(seed: string, asker: Asker): Promise<SeedData> {
  await ask(`${seed}meta-data`, asker);
  const userdata = await ask(`${seed}user-data`, asker);
  const config = CONFIG.safeParse(parse(userdata));
  if (!userdata.startsWith('#cloud-config\n') || !config.success) {
    throw new SeedRefused('the user data are no cloud-config');
  }
  const { hostname, ssh_authorized_keys: authorizedKeys } = config.data;
  return { hostname, authorizedKeys, userdata };
}

/** Reports the end of the installation. @throws {Error} the report was not accepted. */
export const report = (seed: string, asker: Asker) => ask(`${seed}done`, asker, 'POST');

/**
 * Uses the machine's own address if the seed server has a loopback address, because 127.0.0.0/8
 * reaches nothing else.
 */
async function ask(url: string, asker: Asker, method = 'GET'): Promise<string> {
  const { from, signal, network } = asker;
  const { hostname: host, port, pathname } = new URL(url);
  const options = {
    ...{ method, signal },
    ...(network
      ? { createConnection: () => network.connect({ host, port: Number(port) }) }
      : { agent: false as const, ...(host.startsWith('127.') && { localAddress: from }) }),
  };
  const reply = await new Promise<IncomingMessage>((resolve, reject) =>
    sendRequest(url, options, resolve).on('error', reject).end(),
  );
  const status = reply.statusCode ?? 0;
  const text = await textOf(reply);
  if (status < 300) return text;
  const message = `${pathname.split('/').at(-1)}: ${status}`;
  throw status < 500 ? new SeedRefused(message) : new Error(message);
}
