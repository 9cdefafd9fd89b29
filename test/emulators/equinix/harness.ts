import { onTestFinished } from 'vitest';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import type { MachineHooks, SimulatedDevice } from '../../../emulators/kit/hooks.ts';
import type {
  EquinixEmulator,
  EquinixEmulatorOptions,
} from '../../../emulators/equinix/options.ts';
import { startEquinixEmulator } from '../../../emulators/equinix/emulator.ts';

/** Start time of a manual clock. */
export const START_MS = Date.parse('2026-08-01T10:00:00Z');
/** Time from a creation until the device is active. */
export const ACTIVE_MS = 245_000;

/** An emulator with a manual clock, realistic times, and 6 reservations; closed after the test. */
export async function start(
  options: Partial<EquinixEmulatorOptions> = {},
): Promise<EquinixEmulator> {
  const emulator = await startEquinixEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    profile: 'real',
    clock: createManualClock(START_MS),
    reservations: 6,
    ...options,
  });
  onTestFinished(() => emulator.close());
  return emulator;
}

/** Machines that only record calls. */
export function hooksOf(
  tell: (call: keyof MachineHooks, device: Partial<SimulatedDevice>) => void,
): MachineHooks {
  const told = (call: keyof MachineHooks) => async () => tell(call, {});
  return {
    assign: async (device) => {
      tell('assign', device);
      return { address: '127.0.0.1', sshPort: 2201 };
    },
    up: told('up'),
    down: told('down'),
    reinstalled: told('reinstalled'),
    gone: told('gone'),
  };
}

export interface EquinixReply {
  readonly status: number;
  /** The parsed body; undefined when it was empty. */
  readonly body: ServerJson;
  readonly headers: Headers;
}
/** The raw answer, for inspection by a test. */
export type ServerJson = { readonly [field: string]: ServerJson } & ReadonlyArray<ServerJson>;
export type Client = (
  method: string,
  path: string,
  body?: unknown,
  init?: RequestInit,
) => Promise<EquinixReply>;

/** Calls below the base URL; a null token sends none. */
export const clientOf =
  (emulator: EquinixEmulator, token: string | null = emulator.tokens.user): Client =>
  (method, path, body, init) =>
    send(
      `${emulator.url}${path}`,
      method,
      { ...(token === null ? {} : { 'x-auth-token': token }) },
      body,
      init,
    );

/** Calls below the admin URL. */
export const adminOf =
  (emulator: EquinixEmulator): Client =>
  (method, path, body, init) =>
    send(
      `${emulator.adminUrl}${path}`,
      method,
      { 'x-fake-admin': emulator.adminToken },
      body,
      init,
    );

async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
  init: RequestInit = {},
): Promise<EquinixReply> {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...init,
  });
  const text = await response.text();
  const parsed: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, body: parsed as ServerJson, headers: response.headers };
}

/** A string at some place of a body. @throws {Error} when it is something else. */
export function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`not a string: ${JSON.stringify(value)}`);
  return value;
}

/** A create body for the n-th reservation. */
export const createOn = (emulator: EquinixEmulator, index = 0, more: object = {}) => ({
  hostname: `machine-${index}`,
  plan: 'm3.large.x86',
  operating_system: 'ubuntu_22_04',
  hardware_reservation_id: emulator.reservations()[index]!.id,
  ...more,
});

/** Creates a device on the n-th reservation; returns its id. */
export async function createDevice(emulator: EquinixEmulator, index = 0, more: object = {}) {
  const reply = await clientOf(emulator)(
    'POST',
    `/projects/${emulator.projectId}/devices`,
    createOn(emulator, index, more),
  );
  if (reply.status !== 201) throw new Error(`create answered ${reply.status}`);
  return text(reply.body['id']);
}

export const KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBNnNDXDDGMDZnOIYQPMsFKg6zBcqkxYdqyCqlYqPZpG fleet';
export const OTHER_KEY =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHmvNk5xmS0xUj0qXVyVmgGvEXRtDUIcvDhJJB1b0Zqk other';
