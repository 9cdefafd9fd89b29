import { onTestFinished } from 'vitest';
import { startLatitudeEmulator } from '../../../emulators/latitude/emulator.ts';
import type { LatitudeEmulatorOptions } from '../../../emulators/latitude/emulator.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';

export const SECOND = 1_000;
export const MINUTE = 60_000;

export interface Resource {
  readonly id: string;
  readonly type: string;
  readonly attributes: Record<string, unknown>;
}
export interface Problem {
  readonly code: string;
  readonly source?: { readonly pointer?: string; readonly parameter?: string };
  readonly meta: { readonly retry_after?: number };
}
export interface LatitudeReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Empty if the body is not a document with one resource. */
  readonly data: Resource;
  readonly list: readonly Resource[];
  readonly meta: { readonly stats?: { readonly total: { readonly count: number } } };
  readonly errors: readonly Problem[];
}
interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

export const PLACE = {
  plan: 'c3-small-x86',
  site: 'ASH',
  operating_system: 'ubuntu_24_04_x64_lts',
};
export const base64 = (text: string) => Buffer.from(text).toString('base64');

/** An emulator on a manual clock, and its client. */
export async function startLatitude(options: Partial<LatitudeEmulatorOptions> = {}) {
  const fake = await startLatitudeEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(Date.UTC(2026, 0, 1)),
    ...options,
  });
  onTestFinished(() => fake.close());

  async function ask(
    method: string,
    path: string,
    more: RequestOptions = {},
  ): Promise<LatitudeReply> {
    const { body, headers, signal } = more;
    const reply = await fetch(`${fake.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${fake.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    const text = await reply.text();
    const { data, meta = {}, errors = [] } = parsed(text);
    return {
      ...{ status: reply.status, headers: reply.headers, text, meta, errors },
      data: (Array.isArray(data) ? undefined : data) ?? { id: '', type: '', attributes: {} },
      list: Array.isArray(data) ? data : [],
    };
  }
  const write = (type: string, attributes: object, id?: string) => ({
    data: { type, ...(id !== undefined && { id }), attributes },
  });
  const create = (hostname: string, attributes: object = {}, more: RequestOptions = {}) => {
    const wanted = { project: fake.project, ...PLACE, hostname, ...attributes };
    return ask('POST', '/servers', { body: write('servers', wanted), ...more });
  };
  const record = (description: string, content = '#cloud-config\n{}\n') => {
    const wanted = { project: fake.project, description, content: base64(content) };
    return ask('POST', '/user_data', { body: write('user_data', wanted) });
  };
  const act = (id: string, action: string) =>
    ask('POST', `/servers/${id}/actions`, { body: write('actions', { action }) });
  const reinstall = (id: string, attributes: object = {}) =>
    ask('POST', `/servers/${id}/reinstall`, { body: write('reinstalls', attributes) });
  const server = async (id: string) => (await ask('GET', `/servers/${id}`)).data.attributes;
  /** A deployed server. */
  const running = async (hostname = 'shep-ash-1', attributes: object = {}) => {
    const { data } = await create(hostname, attributes);
    await fake.advance(11 * MINUTE);
    return data.id;
  };
  return { fake, ask, write, create, record, act, reinstall, server, running };
}

type Document = Partial<Pick<LatitudeReply, 'meta' | 'errors'>> & { data?: Resource | Resource[] };
function parsed(text: string): Document {
  try {
    return JSON.parse(text) as Document;
  } catch {
    return {};
  }
}
