import { onTestFinished } from 'vitest';
import { startLatitudeEmulator } from '../../../emulators/latitude/emulator.ts';
import type { FaultRule } from '../../../emulators/latitude/fault-rules.ts';
import type {
  LatitudeEmulator,
  LatitudeEmulatorOptions,
} from '../../../emulators/latitude/options.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { judge } from './field-table.ts';

export const START_MS = Date.UTC(2026, 0, 1);
export const SECOND = 1_000;
export const MINUTE = 60_000;

export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly attributes: Record<string, unknown>;
}
export interface Problem {
  readonly code: string;
  readonly status: string;
  readonly detail: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
  readonly meta: { readonly retry_after?: number };
}
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Empty when the body is not a document with one resource. */
  readonly data: Resource;
  readonly list: readonly Resource[];
  readonly meta: { readonly stats?: { readonly total: { readonly count: number } } };
  readonly errors: readonly Problem[];
}
export interface Asked {
  readonly body?: unknown;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  /** Faults spoil what the field table would judge. */
  readonly unjudged?: boolean;
}

/** An emulator in time that stands still, and a client of it. */
export async function startLatitude(options: Partial<LatitudeEmulatorOptions> = {}) {
  const fake = await startLatitudeEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(START_MS),
    ...options,
  });
  onTestFinished(() => fake.close());
  return { fake, ...clientOf(fake) };
}

export const PLACE = {
  plan: 'c3-small-x86',
  site: 'ASH',
  operating_system: 'ubuntu_24_04_x64_lts',
};

export function clientOf(fake: LatitudeEmulator) {
  async function ask(method: string, path: string, asked: Asked = {}): Promise<Reply> {
    const { body, token = fake.token, headers, signal, unjudged } = asked;
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
    const reply = await fetch(`${fake.url}${path}`, {
      method,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(sent !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
      ...(signal && { signal }),
    });
    const text = await reply.text();
    if (!unjudged) judge(method, path, reply, text);
    const document = parsed(text) as {
      data?: Resource | Resource[];
      meta?: Reply['meta'];
      errors?: Problem[];
    };
    const { data, meta = {}, errors = [] } = document;
    const none = { id: '', type: '', attributes: {} };
    return {
      status: reply.status,
      headers: reply.headers,
      text,
      data: (Array.isArray(data) ? undefined : data) ?? none,
      list: Array.isArray(data) ? data : [],
      meta,
      errors,
    };
  }
  const write = (type: string, attributes: object, id?: string) => ({
    data: { type, ...(id !== undefined && { id }), attributes },
  });
  const post = (path: string, type: string, attributes: object, asked: Asked = {}) =>
    ask('POST', path, { body: write(type, attributes), ...asked });
  const create = (hostname: string, more: object = {}, asked: Asked = {}) =>
    post('/servers', 'servers', { project: fake.project, ...PLACE, hostname, ...more }, asked);
  const record = (description: string, content = '#cloud-config\n{}\n', asked: Asked = {}) =>
    post(
      '/user_data',
      'user_data',
      { project: fake.project, description, content: Buffer.from(content).toString('base64') },
      asked,
    );
  const act = (id: string, action: string, asked: Asked = {}) =>
    post(`/servers/${id}/actions`, 'actions', { action }, asked);
  const reinstall = (id: string, attributes: object = {}, asked: Asked = {}) =>
    post(`/servers/${id}/reinstall`, 'reinstalls', attributes, asked);
  const server = async (id: string) => (await ask('GET', `/servers/${id}`)).data.attributes;
  const statusOf = async (id: string) => (await server(id))['status'];
  const fault = (effect: FaultRule['effect'], rest: Omit<FaultRule, 'effect'> = {}) =>
    fake.addFault({ ...rest, effect });
  const listed = (query = '') =>
    ask('GET', `/servers?filter[project]=${fake.project}&stats[total]=count${query}`);
  /** A server whose deployment is over. */
  const running = async (hostname = 'shep-ash-1', more: object = {}) => {
    const { data } = await create(hostname, more);
    await fake.advance(11 * MINUTE);
    return data.id;
  };
  return {
    ...{ ask, write, post, create, record, act, reinstall },
    ...{ server, statusOf, fault, listed, running },
  };
}

export type Latitude = Awaited<ReturnType<typeof startLatitude>>;

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
