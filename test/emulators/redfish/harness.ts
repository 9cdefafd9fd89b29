import { once } from 'node:events';
import { request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { startRedfishEmulator } from '../../../emulators/redfish/emulator.ts';
import type { Network } from '../../../src/adapters/network/port.ts';
import type { FaultRule } from '../../../emulators/redfish/fault-rules.ts';
import type {
  RedfishEmulator,
  RedfishEmulatorOptions,
} from '../../../emulators/redfish/options.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';

export const START_MS = Date.UTC(2026, 0, 1);
export const ROOT = '/redfish/v1';
export const SESSIONS = `${ROOT}/SessionService/Sessions`;

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Empty when the body is not an object. */
  readonly body: Record<string, unknown>;
  /** SHA-256 of the certificate that was shown. */
  readonly certSha256: string;
}

export interface Asked {
  readonly body?: unknown;
  readonly headers?: OutgoingHttpHeaders;
  /** Default: Basic. */
  readonly auth?: 'none' | 'basic' | 'wrong' | { readonly token: string };
  readonly bmc?: number;
  readonly signal?: AbortSignal;
}

const json = (value: string): Record<string, unknown> => {
  try {
    return JSON.parse(value) as Record<string, unknown>;
  } catch {
    return {};
  }
};

/** An emulator in time that stands still, and a client of it. */
export async function startFish(options: Partial<RedfishEmulatorOptions> = {}) {
  const fake = await startRedfishEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(START_MS),
    ...options,
  });
  onTestFinished(() => fake.close());
  return { fake, ...clientOf(fake) };
}

/** @param network over which the BMCs are reached; TLS if absent. */
export function clientOf(fake: RedfishEmulator, network?: Network) {
  const { username, password } = fake.credentials;
  const basic = (secret: string) =>
    `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`;
  const headersOf = (auth: Asked['auth'] = 'basic'): OutgoingHttpHeaders => {
    if (auth === 'none') return {};
    if (typeof auth === 'object') return { 'x-auth-token': auth.token };
    return { authorization: basic(auth === 'basic' ? password : 'wrong') };
  };
  async function ask(method: string, path: string, asked: Asked = {}): Promise<Reply> {
    const { body, headers, auth, bmc = 0, signal } = asked;
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const url = new URL(`${fake.bmcs()[bmc]!.url}${path}`);
    const { hostname: host } = url;
    const outgoing = (network ? plainRequest : request)(network ? plain(url) : url, {
      method,
      ...(network
        ? { createConnection: () => network.connect({ host, port: Number(url.port) }) }
        : { agent: false, rejectUnauthorized: false }),
      headers: {
        ...headersOf(auth),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(signal && { signal }),
    });
    outgoing.end(sent);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const { socket } = incoming as unknown as {
      socket: { getPeerCertificate?(): { fingerprint256: string } };
    };
    const shown = socket.getPeerCertificate?.().fingerprint256 ?? '';
    const certSha256 = shown.replaceAll(':', '').toLowerCase();
    const received = await text(incoming);
    const status = incoming.statusCode ?? 0;
    return { status, headers: incoming.headers, text: received, body: json(received), certSha256 };
  }
  const fault = (effect: FaultRule['effect'], rest: Omit<FaultRule, 'effect'> = {}) =>
    fake.addFault({ ...rest, effect });
  const path = fake.bmcs()[0]!.systems[0]!.path;
  const reset = (type: string, asked: Asked = {}) =>
    ask('POST', `${path}/Actions/ComputerSystem.Reset`, { body: { ResetType: type }, ...asked });
  const login = (asked: Asked = {}) =>
    ask('POST', SESSIONS, {
      auth: 'none',
      body: { UserName: username, Password: password },
      ...asked,
    });
  const system = async () => (await ask('GET', path)).body;
  const override = (boot: object) => ask('PATCH', path, { body: { Boot: boot } });
  /** On, POST over, and the operating system running. */
  const start = async () => {
    fake.reset('system-1', 'On');
    await fake.advance(62_000);
  };
  return { ask, fault, path, reset, login, system, override, start };
}

export const DISC = `${ROOT}/Managers/BMC/VirtualMedia/Cd`;
export const IMAGE = 'https://images.test/installer.iso';
export const insert = ({ ask }: Fish, body: object = {}) =>
  ask('POST', `${DISC}/Actions/VirtualMedia.InsertMedia`, { body: { Image: IMAGE, ...body } });
export const eject = ({ ask }: Fish) => ask('POST', `${DISC}/Actions/VirtualMedia.EjectMedia`);

const plain = (url: URL): URL => new URL(url.href.replace(/^https:/, 'http:'));

export type Fish = Awaited<ReturnType<typeof startFish>>;

/** The last parts of the message ids of a refusal. */
export const messagesOf = ({ body }: Reply): string[] => {
  const { error } = body as { error?: { '@Message.ExtendedInfo'?: { MessageId: string }[] } };
  return (error?.['@Message.ExtendedInfo'] ?? []).map(({ MessageId: id }) => id.split('.').at(-1)!);
};
