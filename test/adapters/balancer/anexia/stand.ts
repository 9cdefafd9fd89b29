import type { LoadBalancer } from '../../../../src/adapters/balancer/port.ts';
import { metricsTo } from '../../../../src/adapters/metrics/port.ts';
import { expect, onTestFinished } from 'vitest';
import type { Log } from '../../../../src/adapters/log/port.ts';
import type {
  Desired,
  Observed,
  PoolRef,
  Ref,
  Spec,
} from '../../../../src/domain/balancing/objects.ts';
import { startAnexiaEmulator } from '../../../../emulators/anexia/emulator.ts';
import type { AnexiaEmulatorOptions } from '../../../../emulators/anexia/emulator.ts';
import { createMemoryNetwork } from '../../../doubles/memory-network.ts';
import { createSimulatedClock, runOut } from '../../../doubles/simulated-clock.ts';
import { engineCall, engineDriver } from '../../../support/engine-driver.ts';

export const OWNER: PoolRef = { pool: 'api', uid: 'uid-1', suffix: 'api.eu' };
export const TAG = 'shepherd-pool=uid-1';
export const live = new AbortController().signal;

/** The base of all vectors: two ports, two addresses and two servers. */
const PORTS = [
  { port: 'http', external: 80, internal: 42_037 },
  { port: 'https', external: 443, internal: 37_042 },
];
const ADDRESSES = [
  { family: 'v4', address: '192.0.2.10' },
  { family: 'v6', address: '2001:db8::10' },
];
const SERVERS: Readonly<Record<string, string>> = {
  m1: '10.0.0.1',
  m2: '10.0.0.2',
  m3: '10.0.0.3',
};

export interface DesiredObject {
  readonly desired: Desired;
  /** Key of the parent. */
  readonly parent: string | null;
  /** `<kind> <name>`. */
  readonly key: string;
}

const wish = (spec: Spec, port: string, parent: string | null): DesiredObject => ({
  desired: { spec, port },
  parent,
  key: `${spec.kind} ${spec.name}`,
});

/** The desired state of the base, or of other servers. */
export function desiredOf(servers: readonly string[] = ['m1', 'm2']): readonly DesiredObject[] {
  const { suffix } = OWNER;
  const named = PORTS.map((one) => ({ ...one, name: `${one.port}.${suffix}` }));
  return [
    ...named.map(({ port, name }) =>
      wish({ kind: 'backend', name, check: { by: 'tcp' } }, port, null),
    ),
    ...named.map(({ port, name }) => wish({ kind: 'frontend', name }, port, `backend ${name}`)),
    ...named.flatMap(({ port, name, external }) =>
      ADDRESSES.map(({ family, address }) =>
        wish(
          { kind: 'bind', name: `${family}.${name}`, address, number: external },
          port,
          `frontend ${name}`,
        ),
      ),
    ),
    ...named.flatMap(({ port, name, internal }) =>
      servers.map((server) =>
        wish(
          {
            kind: 'server',
            name: `${server}.${name}`,
            address: SERVERS[server]!,
            number: internal,
          },
          port,
          `backend ${name}`,
        ),
      ),
    ),
  ];
}

/** The emulator in virtual time with its drivers. */
export type EngineStand = Awaited<ReturnType<typeof createStand>>;

export async function createStand(options: Partial<AnexiaEmulatorOptions> = {}) {
  const clock = createSimulatedClock(Date.parse('2026-08-01T10:00:00Z'));
  const network = createMemoryNetwork(clock);
  const fake = await startAnexiaEmulator({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    ...options,
  });
  /** All log records, as JSON lines. */
  const lines: string[] = [];
  const write = (fields: object, message: string) =>
    void lines.push(JSON.stringify({ ...fields, message }));
  const log: Log = { debug: write, info: write, warn: write, error: write, child: () => log };
  /** `METHOD resource status` per request. */
  const metered: string[] = [];
  let inFlight = 0;
  let sinceSeq = 0;
  const loadBalancer = fake.loadBalancers[0]!;
  const open: LoadBalancer[] = [];

  /** A balancer of another process or daemon. */
  function another(): LoadBalancer {
    const metrics = metricsTo(({ name, labels: { method, resource, status }, value }) => {
      if (name === 'shepherd_lb_http_client_requests_in_flight') inFlight += value;
      else metered.push(`${method} ${resource} ${status}`);
    });
    const balancer = engineDriver(fake, { clock, network, log, metrics }, 5);
    open.push(balancer);
    return balancer;
  }
  const balancer = another();
  onTestFinished(async () => {
    await Promise.all(open.map((one) => one.close()));
    await fake.close();
  });

  const run = <T>(promise: Promise<T>): Promise<T> => runOut(clock, promise);
  const entries = () => fake.requests(sinceSeq);
  /** The journal since `forget`. */
  const routes = () => entries().map(({ method, route }) => `${method} ${route}`);
  return {
    fake,
    clock,
    network,
    balancer,
    loadBalancer,
    lines,
    metered,
    another,
    run,
    failureOf: async (promise: Promise<unknown>): Promise<Error> =>
      run(
        promise.then(
          () => expect.unreachable('it has to fail'),
          (error: unknown) => error as Error,
        ),
      ),
    observe: (by = balancer): Promise<readonly Observed[]> =>
      run(by.observe(OWNER, { signal: live })),
    /** Creates all members in order, and returns the references by key. */
    async build(wishes = desiredOf()): Promise<ReadonlyMap<string, Ref>> {
      const refs = new Map<string, Ref>();
      for (const { desired, parent, key } of wishes) {
        const above = parent === null ? null : refs.get(parent)!;
        refs.set(key, await run(balancer.create(desired, above, OWNER, { signal: live })));
      }
      return refs;
    },
    call: (...asked: Parameters<typeof engineCall>[2]) => engineCall(fake, network.fetch, asked),
    routes,
    writes: () => routes().filter((one) => !one.startsWith('GET')),
    forget: () => void (sinceSeq = fake.requests().at(-1)?.seq ?? 0),
    /** Requests that began and have not ended. */
    inFlight: () => inFlight,
  };
}
