import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { systemClock } from '../adapters/clock/system-clock.ts';
import { certificateSha256 } from '../adapters/driver-kit/exchange.ts';
import { createTurnGroups } from '../adapters/driver-kit/turns.ts';
import { silentLog } from '../adapters/log/port.ts';
import { type Bmc, createBmc, type Wire } from '../adapters/provider/redfish/client/bmc.ts';
import {
  linkOf,
  linksOf,
  isObject,
  type Json,
  type Reply,
} from '../adapters/provider/redfish/client/errors.ts';
import {
  allowedResets,
  systemOf,
  systemPaths,
  type System,
} from '../adapters/provider/redfish/client/system.ts';
import { explain, isProviderError, UsageError } from '../domain/errors.ts';
import { providerName } from '../domain/ids.ts';

export interface ProbeOptions {
  /** `https://host[:port]`. */
  readonly url: string;
  readonly timeoutMs: number;
  /** Null: nobody logs in, and no credentials are sent. */
  readonly login: { readonly username: string; readonly password: string } | null;
  /** What the certificate must be; null: for a login an authority of the system has to vouch for it. */
  readonly certSha256: string | null;
}

/** What a BMC tells of itself. */
export interface Probe {
  readonly url: string;
  readonly certSha256: string;
  /** An authority of the system vouches for the certificate. */
  readonly isTrusted: boolean;
  readonly vendor: string;
  readonly product: string;
  readonly version: string;
  /** Null: nobody logged in. */
  readonly systems: readonly ProbedSystem[] | null;
  /** What it links to and does not show, and why. */
  readonly unread: readonly string[];
}
export interface ProbedSystem {
  readonly path: string;
  readonly serial: string | null;
  readonly sku: string | null;
  readonly uuid: string | null;
  readonly model: string;
  readonly power: string | null;
  readonly resets: readonly string[];
  readonly media: readonly string[];
}

/** Asks a BMC who it is. @throws {UsageError} the login may not be sent there. @throws {ProviderError} */
export async function probe(options: ProbeOptions): Promise<Probe> {
  const { url, timeoutMs, login } = options;
  const shown = await showCertificate(url, timeoutMs);
  const named = options.certSha256?.toLowerCase() ?? null;
  if (named !== null && named !== shown.sha256) {
    throw new UsageError(
      `the certificate of ${url} is not the one of --cert-sha256: its SHA-256 is ${shown.sha256}; ` +
        'compare it with what the BMC itself shows before you believe it',
    );
  }
  if (login && !shown.isTrusted && named === null) {
    throw new UsageError(
      `nobody vouches for the certificate of ${url}, whose SHA-256 is ${shown.sha256}; compare it with ` +
        'what the BMC itself shows, and give --cert-sha256 with it: only then is a password sent',
    );
  }
  const bmc = createBmc(
    {
      url,
      // What was shown is pinned: the same one answers all that follows.
      trust: { sha256: shown.sha256 },
      limits: { connectTimeoutMs: timeoutMs, timeoutMs },
      gapMs: 100,
      auth: 'auto',
      authPauseMs: 0,
      credentials: {
        username: login?.username ?? '',
        password: { read: () => login?.password ?? '' },
      },
    },
    {
      clock: systemClock,
      log: silentLog,
      name: providerName('probe'),
      userAgent: 'shepherd',
      turns: createTurnGroups({ each: { maxConcurrency: 1, gapMs: 0 } }, { clock: systemClock }),
    },
  );
  const ask = (signal: AbortSignal) =>
    bmc.inTurn({ signal }, async (wire) => {
      const root = await wire.root();
      const unread: string[] = [];
      const systems = login ? await systemsOf(bmc, noting(wire, unread)) : null;
      return {
        url,
        certSha256: shown.sha256,
        isTrusted: shown.isTrusted,
        vendor: textOf(root['Vendor']),
        product: textOf(root['Product']),
        version: textOf(root['RedfishVersion']),
        systems,
        unread,
      };
    });
  try {
    return await within(timeoutMs * REQUESTS, ask);
  } finally {
    await within(timeoutMs, bmc.logout);
  }
}

/** As many requests may take their whole time. */
const REQUESTS = 10;

async function within<T>(limitMs: number, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const timer = systemClock.setTimeout(() => late.abort(new Error('it took too long')), limitMs);
  try {
    return await task(late.signal);
  } finally {
    systemClock.clearTimeout(timer);
  }
}

const textOf = (value: unknown): string =>
  typeof value === 'string' && value !== '' ? value.slice(0, 200) : 'not told';

async function showCertificate(url: string, timeoutMs: number) {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    host,
    port: Number(port || 443),
    // Nothing is sent: it is only looked at.
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
  });
  try {
    await within(timeoutMs, (signal) => once(socket, 'secureConnect', { signal }));
    const certificate = socket.getPeerX509Certificate();
    if (!certificate) throw new UsageError(`${url} shows no certificate`);
    return { sha256: certificateSha256(certificate), isTrusted: socket.authorized };
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    const { code, cause: reason } = cause as NodeJS.ErrnoException;
    throw new UsageError(`${url} cannot be reached`, {
      cause: code === 'ABORT_ERR' ? reason : cause,
    });
  } finally {
    socket.destroy();
  }
}

/** Notes what cannot be read, and why: the rest is worth being shown. */
const noting = (wire: Wire, unread: string[]): Wire => ({
  ...wire,
  get: (path) =>
    wire.get(path).catch((error: unknown) => {
      if (isProviderError(error)) unread.push(explain(error));
      throw error;
    }),
});

/** Null: it cannot be read. */
const tried = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((error: unknown) => {
    if (!isProviderError(error) || error.kind === 'aborted') throw error;
    return null;
  });

const jsonOf = async (reading: Promise<Reply>): Promise<Json> => (await tried(reading))?.json ?? {};

async function systemsOf(bmc: Bmc, wire: Wire): Promise<ProbedSystem[]> {
  const found: ProbedSystem[] = [];
  for (const path of await systemPaths(wire)) {
    const reply = await tried(wire.get(path));
    if (!reply) continue;
    const system = systemOf(reply);
    const { serial, sku, uuid, power, reset } = system;
    found.push({
      path: system.path,
      serial,
      sku,
      uuid,
      model: [system.manufacturer, system.model].filter(Boolean).join(' ') || 'not told',
      power,
      resets: (reset && (await tried(allowedResets(bmc, wire, reset)))) ?? [],
      media: await mediaOf(wire, system),
    });
  }
  return found;
}

/** Of the system, or of its managers. */
async function mediaOf(wire: Wire, { json, managers }: System): Promise<string[]> {
  const owners: Json[] = [json];
  if (!linkOf(json['VirtualMedia'])) {
    for (const path of managers) owners.push(await jsonOf(wire.get(path)));
  }
  const media: string[] = [];
  for (const owner of owners) {
    const place = linkOf(owner['VirtualMedia']);
    if (place === null) continue;
    for (const path of linksOf((await jsonOf(wire.get(place)))['Members'])) {
      const device = (await tried(wire.get(path)))?.json;
      if (!isObject(device)) continue;
      const types = Array.isArray(device['MediaTypes']) ? device['MediaTypes'].join(', ') : '';
      media.push(`${textOf(device['Id'])} (${types})`);
    }
  }
  return media;
}

/** For a person. */
export function probeText({ url, certSha256, isTrusted, ...told }: Probe): string {
  const lines = [
    url,
    `  certificate  SHA-256 ${certSha256}`,
    `               ${isTrusted ? 'an authority of this system vouches for it' : 'nobody vouches for it: compare it with what the BMC itself shows'}`,
    `  vendor       ${told.vendor}, ${told.product}, Redfish ${told.version}`,
  ];
  if (!told.systems)
    return [...lines, '  No login was sent; --login shows its systems.'].join('\n');
  for (const system of told.systems) {
    lines.push(
      `  system       ${system.path}`,
      `    model      ${system.model}`,
      `    serial     ${system.serial ?? 'not told'}`,
      `    sku        ${system.sku ?? 'not told'}`,
      `    uuid       ${system.uuid ?? 'not told'}`,
      `    power      ${system.power ?? 'not told'}`,
      `    resets     ${system.resets.join(', ') || 'none'}`,
      `    media      ${system.media.join(', ') || 'none'}`,
    );
  }
  for (const what of told.unread) lines.push(`  not shown    ${what}`);
  return lines.join('\n');
}
