import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { withTimeLimit } from '../adapters/clock/port.ts';
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
  /** Null: send no credentials. */
  readonly login: { readonly username: string; readonly password: string } | null;
  /** SHA-256 that the certificate must have; null: a login needs a certificate that this system trusts. */
  readonly certSha256: string | null;
}

/** What a BMC reports about itself. */
export type Probe = Awaited<ReturnType<typeof probe>>;

/** Asks a BMC who it is. @throws {UsageError} the password must not be sent there. @throws {ProviderError} */
export async function probe(options: ProbeOptions) {
  const { url, timeoutMs, login } = options;
  const shown = await showCertificate(url, timeoutMs);
  const named = options.certSha256?.toLowerCase() ?? null;
  if (named !== null && named !== shown.sha256) {
    throw new UsageError(
      `the certificate of ${url} does not match --cert-sha256: its SHA-256 is ${shown.sha256}; ` +
        'compare it with the certificate that the BMC itself shows before you trust it',
    );
  }
  if (login && !shown.isTrusted && named === null) {
    throw new UsageError(
      `no trusted authority signed the certificate of ${url}, whose SHA-256 is ${shown.sha256}; compare it ` +
        'with the certificate that the BMC itself shows, and give it as --cert-sha256',
    );
  }
  const bmc = createBmc(
    {
      url,
      // Pins the certificate, so that the same BMC answers all requests.
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
        /** This system trusts the authority of the certificate. */
        isTrusted: shown.isTrusted,
        vendor: textOf(root['Vendor']),
        product: textOf(root['Product']),
        version: textOf(root['RedfishVersion']),
        /** Null without a login. */
        systems,
        /** Links that could not be read, and why. */
        unread,
      };
    });
  try {
    return await within(timeoutMs * REQUESTS, ask);
  } finally {
    await within(timeoutMs, bmc.logout);
  }
}

/** This many requests may take their full time. */
const REQUESTS = 10;

const within = <T>(limitMs: number, task: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withTimeLimit(systemClock, { ms: limitMs }, task);

const textOf = (value: unknown): string =>
  typeof value === 'string' && value !== '' ? value.slice(0, 200) : 'unknown';

async function showCertificate(url: string, timeoutMs: number) {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({
    host,
    port: Number(port || 443),
    // No data is sent: only the certificate is looked at.
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

/** Notes links that cannot be read, and goes on with the others. */
const noting = (wire: Wire, unread: string[]): Wire => ({
  ...wire,
  get: (path) =>
    wire.get(path).catch((error: unknown) => {
      if (isProviderError(error)) unread.push(explain(error));
      throw error;
    }),
});

/** Null if it cannot be read. */
const tried = <T>(reading: Promise<T>): Promise<T | null> =>
  reading.catch((error: unknown) => {
    if (!isProviderError(error) || error.kind === 'aborted') throw error;
    return null;
  });

const jsonOf = async (reading: Promise<Reply>): Promise<Json> => (await tried(reading))?.json ?? {};

async function systemsOf(bmc: Bmc, wire: Wire) {
  const found = [];
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
      model: [system.manufacturer, system.model].filter(Boolean).join(' ') || 'unknown',
      power,
      resets: (reset && (await tried(allowedResets(bmc, wire, reset)))) ?? [],
      media: await mediaOf(wire, system),
    });
  }
  return found;
}

/** Virtual media of the system, or of its managers. */
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

/** Formats the result for a person. */
export function probeText({ url, certSha256, isTrusted, ...told }: Probe): string {
  const lines = [
    url,
    `  certificate  SHA-256 ${certSha256}`,
    `               ${isTrusted ? 'signed by an authority that this system trusts' : 'not trusted: compare it with the certificate that the BMC itself shows'}`,
    `  vendor       ${told.vendor}, ${told.product}, Redfish ${told.version}`,
  ];
  if (!told.systems)
    return [...lines, '  No login was sent. --login shows the systems.'].join('\n');
  for (const system of told.systems) {
    lines.push(
      `  system       ${system.path}`,
      `    model      ${system.model}`,
      `    serial     ${system.serial ?? 'unknown'}`,
      `    sku        ${system.sku ?? 'unknown'}`,
      `    uuid       ${system.uuid ?? 'unknown'}`,
      `    power      ${system.power ?? 'unknown'}`,
      `    resets     ${system.resets.join(', ') || 'none'}`,
      `    media      ${system.media.join(', ') || 'none'}`,
    );
  }
  for (const what of told.unread) lines.push(`  not shown    ${what}`);
  return lines.join('\n');
}
