import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../../src/adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { createHaproxyBalancer } from '../../../../src/adapters/balancer/haproxy/driver.ts';
import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import type { Desired, Observed, PoolRef, Ref } from '../../../../src/domain/balancing/objects.ts';
import { ask, type Haproxy } from '../../../../emulators/haproxy/haproxy-process.ts';
import { startTestHaproxy } from '../../../support/haproxy.ts';
import { freePorts, startServing, type ServingMachine } from '../../../support/serving-machines.ts';

export const OWNER: PoolRef = { pool: 'api', uid: 'uid-1', suffix: 'api.eu' };
export const OTHER: PoolRef = { pool: 'web', uid: 'uid-2', suffix: 'web.eu' };
export const live = (): { readonly signal: AbortSignal } => ({
  signal: new AbortController().signal,
});

/** A driver with ten times the time limits: a busy machine is slow, not wrong. */
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

/** A driver whose waits all end at once. */
export const hurried: Clock = { ...systemClock, monotonic: () => 100 * systemClock.monotonic() };

/** A program that checks files as HAProxy does, and counts its runs. */
export async function counted({ dir, program }: Haproxy) {
  const [path, counts] = [join(dir, 'counted'), join(dir, 'counts')];
  await writeFile(counts, '');
  await writeFile(path, `#!/bin/sh\necho >> '${counts}'\nexec '${program}' "$@"\n`, {
    mode: 0o755,
  });
  return { program: path, checks: async () => (await readFile(counts, 'utf8')).length };
}

/** Number of reloads by HAProxy. */
export async function reloadsOf({ masterSocket }: Haproxy): Promise<number> {
  const [, reloads] = /master\s+(\d+) /.exec(await ask(masterSocket, 'show proc')) ?? [];
  return Number(reloads);
}

/** A port without a listener. */
export const freePort = async (): Promise<number> => (await freePorts(1))[0]!;

/** A machine that serves on one port. */
export interface ServingHost extends Pick<ServingMachine, 'answered' | 'stop'> {
  readonly name: string;
  readonly address: string;
  readonly port: number;
}

export async function startMachine(name: string): Promise<ServingHost> {
  const port = await freePort();
  const [machine] = await startServing(1, [port]);
  onTestFinished(() => machine!.stop());
  return { ...machine!, name, port };
}

/** HAProxy, a driver, and the file of its pool. */
export async function stand(more: Parameters<typeof balancerOf>[1] = {}) {
  const haproxy = await startTestHaproxy();
  const balancer = balancerOf(haproxy, more);
  onTestFinished(() => balancer.close());
  return { haproxy, balancer, file: join(haproxy.poolsDir, 'api.eu.cfg') };
}

/** The same with a port `http` and only active machines. */
export async function serving(names: readonly string[] = ['m1']) {
  const made = await stand();
  const machines = await Promise.all(names.map(startMachine));
  const number = await freePort();
  const refs = await makePort(made.balancer, 'http', { number, machines });
  for (const ref of refs.servers) await made.balancer.setMember!(ref, 'active', OWNER, live());
  return { ...made, ...refs, machines, number, to: { host: '127.0.0.1', port: number } };
}

/** A port on which another process listens. */
export async function occupy(): Promise<number> {
  const blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => new Promise<void>((resolve) => blocker.close(() => resolve())));
  return (blocker.address() as AddressInfo).port;
}

/** Members that differ from the desired state, and the reasons. */
export const differing = async (balancer: LoadBalancer): Promise<readonly string[]> =>
  (await balancer.observe(OWNER, live()))
    .filter(({ differs }) => differs !== undefined)
    .map(({ ref, differs }) => `${ref.kind} ${ref.id}: ${differs}`);

/** Sends a command to the worker that has new connections. */
export async function tellWorker({ masterSocket }: Haproxy, command: string): Promise<string> {
  const [, worker] = /^# workers\n(\d+)/m.exec(await ask(masterSocket, 'show proc')) ?? [];
  return ask(masterSocket, `@!${worker} ${command}`);
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
export const server = (
  port: string,
  {
    name,
    address = '127.0.0.1',
    port: number,
  }: Pick<ServingHost, 'name' | 'port'> & Partial<ServingHost>,
): Desired => ({
  port,
  spec: { kind: 'server', name: `${name}.${port}.${OWNER.suffix}`, address, number },
});

/** The references of one port and its machines, created in order. The machines are drained. */
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
  readonly machines: readonly ServingHost[];
  readonly owner?: PoolRef;
}

export const find = (all: readonly Observed[], { kind, id }: Ref): Observed | undefined =>
  all.find(({ ref }) => ref.kind === kind && ref.id === id);
