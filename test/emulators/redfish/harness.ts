import { once } from 'node:events';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { onTestFinished } from 'vitest';
import { startRedfishEmulator } from '../../../emulators/redfish/emulator.ts';
import type { RedfishFaultRule } from '../../../emulators/redfish/faults.ts';
import type {
  RedfishEmulator,
  RedfishEmulatorOptions,
} from '../../../emulators/redfish/options.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';

const START_MS = Date.UTC(2026, 0, 1);
export const ROOT = '/redfish/v1';
export const SESSIONS = `${ROOT}/SessionService/Sessions`;

export interface RedfishReply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Empty if the body is not an object. */
  readonly body: Record<string, unknown>;
}

export interface RedfishRequest {
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

/** An emulator with stopped time, and its client. */
export async function startBmcs(options: Partial<RedfishEmulatorOptions> = {}) {
  const fake = await startRedfishEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(START_MS),
    ...options,
  });
  onTestFinished(() => fake.close());
  return { fake, ...clientOf(fake) };
}

function clientOf(fake: RedfishEmulator) {
  const { username, password } = fake.credentials;
  const basic = (secret: string) =>
    `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`;
  const headersOf = (auth: RedfishRequest['auth'] = 'basic'): OutgoingHttpHeaders => {
    if (auth === 'none') return {};
    if (typeof auth === 'object') return { 'x-auth-token': auth.token };
    return { authorization: basic(auth === 'basic' ? password : 'wrong') };
  };
  async function ask(
    method: string,
    path: string,
    asked: RedfishRequest = {},
  ): Promise<RedfishReply> {
    const { body, headers, auth, bmc = 0, signal } = asked;
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const type = sent !== undefined && { 'content-type': 'application/json' };
    const outgoing = request(`${fake.bmcs()[bmc]!.url}${path}`, {
      ...{ method, agent: false, rejectUnauthorized: false },
      headers: { ...headersOf(auth), ...type, ...headers },
      ...(signal && { signal }),
    });
    outgoing.end(sent);
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    const received = await text(incoming);
    const status = incoming.statusCode ?? 0;
    return { status, headers: incoming.headers, text: received, body: json(received) };
  }
  const fault = async (
    effect: RedfishFaultRule['effect'],
    rest: Omit<RedfishFaultRule, 'effect'> = {},
  ) => fake.addFault({ ...rest, effect });
  const path = fake.bmcs()[0]!.systems[0]!.path;
  const reset = (type: string) =>
    ask('POST', `${path}/Actions/ComputerSystem.Reset`, { body: { ResetType: type } });
  const login = (end = '') =>
    ask('POST', `${SESSIONS}${end}`, {
      auth: 'none',
      body: { UserName: username, Password: password },
    });
  const system = async () => (await ask('GET', path)).body;
  const override = (boot: object) => ask('PATCH', path, { body: { Boot: boot } });
  /** On, POST finished, and the operating system running. */
  const start = async () => {
    fake.reset('system-1', 'On');
    await fake.advance(62_000);
  };
  return { ask, fault, path, reset, login, system, override, start };
}

export type Bmcs = Awaited<ReturnType<typeof startBmcs>>;

/** The last parts of the message ids of a refusal. */
export const messagesOf = ({ body }: RedfishReply): string[] => {
  const { error } = body as { error?: { '@Message.ExtendedInfo'?: { MessageId: string }[] } };
  return (error?.['@Message.ExtendedInfo'] ?? []).map(({ MessageId: id }) => id.split('.').at(-1)!);
};
