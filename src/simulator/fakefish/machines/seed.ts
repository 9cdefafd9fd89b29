import { parse } from 'yaml';
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

export interface SeedSearch {
  readonly boot: Boot;
  readonly mac: string;
  /** What the site's images and its DHCP know of the seed server; null: nothing. */
  readonly seedUrl: string | null;
  readonly signal: AbortSignal;
}

/**
 * Where the seed of a boot is, with a slash at its end: by the token in the address of what was
 * booted, else by asking for the machine's MAC address. Null: what was booted is no installer for
 * this machine. @throws {Error} the seed server does not answer.
 */
export async function findSeed({ boot, mac, seedUrl, signal }: SeedSearch): Promise<string | null> {
  const address = boot.image ?? boot.httpBootUri;
  const token = address === null ? undefined : TOKEN.exec(address)?.[0];
  if (token !== undefined) return `${seedUrl ?? new URL(address!).origin}/s/${token}/`;
  if (seedUrl === null) return null;
  const reply = await fetch(`${seedUrl}/m/${mac}/ipxe`, { signal });
  const script = await reply.text();
  return reply.ok ? (SEED.exec(script)?.[0] ?? null) : null;
}

/** In the form of NoCloud. @throws {SeedRefused} @throws {Error} the seed server does not answer. */
export async function fetchSeed(seed: string, signal: AbortSignal): Promise<SeedData> {
  const meta = objectOf(await fetchText(`${seed}meta-data`, signal));
  const text = await fetchText(`${seed}user-data`, signal);
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
export async function report(
  seed: string,
  end: 'done' | 'failed',
  signal: AbortSignal,
): Promise<void> {
  const body = end === 'failed' ? 'the disk cannot be partitioned' : '';
  const reply = await fetch(`${seed}${end}`, { method: 'POST', body, signal });
  await reply.text();
  if (!reply.ok) throw new SeedRefused(`${end}: ${reply.status}`);
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const reply = await fetch(url, { signal });
  const text = await reply.text();
  if (reply.ok) return text;
  const path = new URL(url).pathname.split('/').at(-1);
  const message = `${path}: ${reply.status}`;
  throw reply.status < 500 ? new SeedRefused(message) : new Error(message);
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
