import { type IncomingMessage, request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text as textOfBody } from 'node:stream/consumers';
import { parse } from 'yaml';
import type { Network } from '../../kit/listen.ts';
import type { Boot } from '../power.ts';

/** 256 bits in base32. */
const TOKEN = /(?<![a-z2-7])[a-z2-7]{52}(?![a-z2-7])/;
const SEED = /https?:\/\/\S+?\/s\/[a-z2-7]{52}\//;

/** What an installer is to put on the disk. */
export interface SeedData {
  readonly hostname: string;
  /** `authorized_keys` lines. */
  readonly authorizedKeys: readonly string[];
  /** What the new system reads at its first boot. */
  readonly userdata: string;
}

/** The seed server refused, or said what nobody can use. A later attempt comes to the same. */
export class SeedRefused extends Error {}

/** Who asks. */
export interface Asker {
  /** The machine's own address. */
  readonly from: string;
  readonly signal: AbortSignal;
  /** TCP if absent. */
  readonly network?: Network | undefined;
}

export interface SeedSearch extends Asker {
  readonly boot: Boot;
  readonly mac: string;
  /** What the site's images and its DHCP know of the seed server; null: nothing. */
  readonly seedUrl: string | null;
}

/**
 * Where the seed of a boot is, with a slash at its end: by the token in the address of what was
 * booted, else by asking for the machine's MAC address. Null: what was booted is no installer for
 * this machine. @throws {Error} the seed server does not answer.
 */
export async function findSeed({
  boot,
  mac,
  seedUrl,
  ...asker
}: SeedSearch): Promise<string | null> {
  const address = boot.image ?? boot.httpBootUri;
  const token = address === null ? undefined : TOKEN.exec(address)?.[0];
  if (token !== undefined) return `${seedUrl ?? new URL(address!).origin}/s/${token}/`;
  if (seedUrl === null) return null;
  const { isOk, text } = await ask(`${seedUrl}/m/${mac}/ipxe`, asker);
  return isOk ? (SEED.exec(text)?.[0] ?? null) : null;
}

/** In the form of NoCloud. @throws {SeedRefused} @throws {Error} the seed server does not answer. */
export async function fetchSeed(seed: string, asker: Asker): Promise<SeedData> {
  const meta = objectOf(await fetchText(`${seed}meta-data`, asker));
  const text = await fetchText(`${seed}user-data`, asker);
  const hostname = textOf(meta['local-hostname']) ?? 'localhost';
  if (text.startsWith('#!')) {
    return { hostname, authorizedKeys: textsOf(meta['public-keys']), userdata: text };
  }
  if (!/^#cloud-config\s*$/m.test(text.split('\n', 1)[0] ?? '')) {
    throw new SeedRefused('the user data are neither a script nor a cloud-config');
  }
  const config = objectOf(text);
  return {
    hostname: textOf(config['hostname']) ?? hostname,
    authorizedKeys: textsOf(config['ssh_authorized_keys'] ?? meta['public-keys']),
    userdata: text,
  };
}

/** Tells how the installation ended. @throws {Error} it was not taken. */
export async function report(seed: string, end: 'done' | 'failed', asker: Asker): Promise<void> {
  const body = end === 'failed' ? 'the disk cannot be partitioned' : '';
  const { isOk, status } = await ask(`${seed}${end}`, asker, { method: 'POST', body });
  if (!isOk) throw new SeedRefused(`${end}: ${status}`);
}

async function fetchText(url: string, asker: Asker): Promise<string> {
  const { isOk, status, text } = await ask(url, asker);
  if (isOk) return text;
  const path = new URL(url).pathname.split('/').at(-1);
  const message = `${path}: ${status}`;
  throw status < 500 ? new SeedRefused(message) : new Error(message);
}

/** From the machine's own address where the seed server has such a one, too: 127.0.0.0/8 reaches nothing else. */
async function ask(url: string, asker: Asker, { method = 'GET', body = '' } = {}) {
  const { from, signal, network } = asker;
  const target = new URL(url);
  const { hostname: host, port } = target;
  const isHere = host.startsWith('127.') && network === undefined;
  const request = target.protocol === 'https:' ? secureRequest : plainRequest;
  const options = {
    ...{ method, signal },
    ...(network
      ? { createConnection: () => network.connect({ host, port: Number(port) }) }
      : { agent: false as const }),
    ...(isHere && { localAddress: from }),
  };
  const reply = await new Promise<IncomingMessage>((resolve, reject) =>
    request(target, options, resolve).on('error', reject).end(body),
  );
  const status = reply.statusCode ?? 0;
  return { isOk: status >= 200 && status < 300, status, text: await textOfBody(reply) };
}

function objectOf(yaml: string): Record<string, unknown> {
  const value: unknown = parse(yaml);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new SeedRefused('a seed that is no YAML object');
  }
  return value as Record<string, unknown>;
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
