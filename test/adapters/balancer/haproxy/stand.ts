import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { createHaproxyBalancer } from '../../../../src/adapters/balancer/haproxy/haproxy-balancer.ts';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type {
  Desired,
  Observed,
  PoolRef,
  Ref,
  Spec,
} from '../../../../src/domain/balancing/objects.ts';
import { ask, type Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { takeFreePort } from '../../../../src/adapters/network/free-port.ts';

export const OWNER: PoolRef = { pool: 'api', uid: 'uid-1', suffix: 'api.eu' };
export const OTHER: PoolRef = { pool: 'web', uid: 'uid-2', suffix: 'web.eu' };
export const live = (): { readonly signal: AbortSignal } => ({
  signal: new AbortController().signal,
});

/** Who has ten times as long until he gives up: a busy machine is slow, not wrong. */
const patient: Clock = { ...systemClock, monotonic: () => systemClock.monotonic() / 10 };

export const balancerOf = (
  haproxy: Haproxy,
  more: Partial<Parameters<typeof createHaproxyBalancer>[0]> = {},
): LoadBalancer =>
  createHaproxyBalancer({
    masterSocket: haproxy.masterSocket,
    poolsDir: haproxy.poolsDir,
    baseFiles: [haproxy.baseFile],
    program: haproxy.program,
    idleMs: 3_600_000,
    clock: patient,
    random: systemRandom,
    ...more,
  });

/** For whom all that is waited for is over at once. */
export const hurried: Clock = { ...systemClock, monotonic: () => 100 * systemClock.monotonic() };

/** A program that checks files as HAProxy does, and how often it did. */
export async function counted({ dir, program }: Haproxy) {
  const [path, counts] = [join(dir, 'counted'), join(dir, 'counts')];
  await writeFile(counts, '');
  await writeFile(path, `#!/bin/sh\necho >> '${counts}'\nexec '${program}' "$@"\n`, {
    mode: 0o755,
  });
  return { program: path, checks: async () => (await readFile(counts, 'utf8')).length };
}

/** Times that HAProxy loaded its configuration anew. */
export async function reloadsOf({ masterSocket }: Haproxy): Promise<number> {
  const [, reloads] = /master\s+(\d+) /.exec(await ask(masterSocket, 'show proc')) ?? [];
  return Number(reloads);
}

const taken = new Set<number>();
/** A port nobody listens on. */
export const freePort = (): Promise<number> => takeFreePort(taken);

/** A machine that serves: it answers with its name. */
export interface Machine {
  readonly name: string;
  readonly port: number;
  readonly answered: () => number;
  stop(): Promise<void>;
}

export async function startMachine(name: string): Promise<Machine> {
  const sockets = new Set<Socket>();
  let answered = 0;
  const server: Server = createServer((_, response) => {
    answered += 1;
    response.end(name);
  });
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    name,
    port: (server.address() as AddressInfo).port,
    answered: () => answered,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export const backend = (port: string, owner = OWNER): Desired => ({
  port,
  spec: { kind: 'backend', name: `${port}.${owner.suffix}`, check: { by: 'tcp' } },
});
export const frontend = (port: string, owner = OWNER): Desired => ({
  port,
  spec: { kind: 'frontend', name: `${port}.${owner.suffix}` },
});
export const bind = (port: string, number: number, owner = OWNER): Desired => ({
  port,
  spec: { kind: 'bind', name: `v4.${port}.${owner.suffix}`, address: '127.0.0.1', number },
});
export const server = (port: string, { name, port: number }: Pick<Machine, 'name' | 'port'>) => ({
  port,
  spec: {
    kind: 'server',
    name: `${name}.${port}.${OWNER.suffix}`,
    address: '127.0.0.1',
    number,
  } satisfies Spec,
});

/** The refs of one port and its machines, made in order; the machines are drained. */
export async function makePort(
  balancer: LoadBalancer,
  port: string,
  { number, machines, owner = OWNER }: MakePort,
): Promise<{ readonly backend: Ref; readonly frontend: Ref; readonly servers: readonly Ref[] }> {
  const options = live();
  const above = await balancer.create(backend(port, owner), null, owner, options);
  const servers: Ref[] = [];
  for (const machine of machines) {
    servers.push(await balancer.create(server(port, machine), above, owner, options));
  }
  const front = await balancer.create(frontend(port, owner), above, owner, options);
  await balancer.create(bind(port, number, owner), front, owner, options);
  return { backend: above, frontend: front, servers };
}
interface MakePort {
  readonly number: number;
  readonly machines: readonly Machine[];
  readonly owner?: PoolRef;
}

export const find = (all: readonly Observed[], { kind, id }: Ref): Observed | undefined =>
  all.find(({ ref }) => ref.kind === kind && ref.id === id);
