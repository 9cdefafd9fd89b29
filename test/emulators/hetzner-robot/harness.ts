import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import ssh2 from 'ssh2';
import { onTestFinished } from 'vitest';
import type { RobotFaultRule } from '../../../emulators/hetzner-robot/api.ts';
import {
  type RobotEmulator,
  type RobotEmulatorOptions,
  startRobotEmulator,
} from '../../../emulators/hetzner-robot/emulator.ts';
import { createManualClock } from '../../../emulators/kit/clock.ts';
import { generateHostKey, publicBlobOf } from '../../../emulators/hosts/keys.ts';

export const START_MS = Date.UTC(2026, 0, 1);
export const SERVER = 321;

export interface RobotReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined if it is not JSON. */
  readonly body: unknown;
}

export interface RobotRequest {
  readonly form?: string | Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: 'none' | 'right' | 'wrong';
  readonly signal?: AbortSignal;
}

/** An emulator with stopped time, and its client. */
export async function startRobot(options: Partial<RobotEmulatorOptions> = {}) {
  const fake = await startRobotEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    clock: createManualClock(START_MS),
    ...options,
  });
  onTestFinished(() => fake.close());
  return { fake, ...clientOf(fake) };
}

export function clientOf(fake: RobotEmulator) {
  async function ask(method: string, path: string, asked: RobotRequest = {}): Promise<RobotReply> {
    const { form, headers, auth = 'right', signal } = asked;
    const { user, password } = fake.credentials;
    const login = `${user}:${auth === 'right' ? password : 'wrong'}`;
    const reply = await fetch(`${fake.url}${path}`, {
      method,
      headers: {
        ...(auth !== 'none' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form !== undefined && { body: String(new URLSearchParams(form)) }),
      ...(signal && { signal }),
    });
    const received = await reply.text();
    return {
      ...{ status: reply.status, headers: reply.headers, text: received },
      body: parsed(received),
    };
  }
  const get = async (path: string) => (await ask('GET', path)).body;
  const post = (path: string, form: string | Readonly<Record<string, string>>) =>
    ask('POST', path, { form });
  const fault = (effect: RobotFaultRule['effect'], rest: Omit<RobotFaultRule, 'effect'> = {}) =>
    fake.addFault({ ...rest, effect });
  const addKey = async (key: TestSshKey, name = 'ours') => {
    const reply = await post('/key', { name, data: key.line });
    return (reply.body as { key: { fingerprint: string } }).key.fingerprint;
  };
  /** Activated with a new key, and booted. */
  const rescue = async (key = newKey(), number = SERVER) => {
    const fingerprint = await addKey(key);
    await post(`/boot/${number}/rescue`, { os: 'linux', 'authorized_key[]': fingerprint });
    await post(`/reset/${number}`, { type: 'hw' });
    await fake.advance(180_000);
    return key;
  };
  const machine = (number = SERVER) => fake.servers().find((one) => one.number === number)!;
  const shell = (key: TestSshKey, line: string, stdin = '', number = SERVER) =>
    runOver({ host: machine(number).address, port: fake.sshPort }, key, line, stdin);
  return { ask, get, post, fault, addKey, rescue, machine, shell };
}

export type Robot = Awaited<ReturnType<typeof startRobot>>;

const parsed = (value: string): unknown => {
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
};

/** The code of a refusal. */
export const codeOf = ({ status, body }: RobotReply): readonly [number, string | undefined] => [
  status,
  (body as { error?: { code?: string } } | undefined)?.error?.code,
];

export interface TestSshKey {
  readonly pem: string;
  /** In the form of `authorized_keys`. */
  readonly line: string;
}

export function newKey(comment = ''): TestSshKey {
  const pem = generateHostKey();
  const blob = publicBlobOf(pem).toString('base64');
  return { pem, line: ['ssh-ed25519', blob, comment].join(' ').trim() };
}

export interface ShellResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  /** Base64 of the wire form. */
  readonly hostKey: string;
}

/** Runs one command over SSH, as root. @throws the client's error. */
export async function runOver(
  at: { readonly host: string; readonly port: number },
  key: TestSshKey,
  line: string,
  stdin = '',
): Promise<ShellResult> {
  const client = new ssh2.Client();
  // Rejects the waiting caller; a refused login causes a second error.
  client.on('error', () => undefined);
  let hostKey = '';
  const hostVerifier = (blob: Buffer) => {
    hostKey = blob.toString('base64');
    return true;
  };
  client.connect({ ...at, username: 'root', privateKey: key.pem, hostVerifier });
  await once(client, 'ready');
  const cut = once(client, 'close').then(() => Promise.reject(new Error('the connection was cut')));
  const ran = new Promise<ShellResult>((resolve, reject) =>
    client.exec(line, (error, channel) => {
      if (error) return reject(error);
      let code: number | null = null;
      const outputs = Promise.all([text(channel), text(channel.stderr)]);
      channel.on('exit', (status: number | null) => (code = status));
      channel.on('close', () => {
        outputs.then(([stdout, stderr]) => resolve({ stdout, stderr, code, hostKey }), reject);
      });
      channel.end(stdin);
    }),
  );
  return Promise.race([ran, cut]).finally(() => client.end());
}
