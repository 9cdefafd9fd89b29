import { metricsTo } from '../../../src/adapters/metrics/port.ts';
import { expect } from 'vitest';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import { startAnexiaEmulator } from '../../../emulators/anexia/emulator.ts';
import type { EngineFaultRule } from '../../../emulators/anexia/api.ts';
import type { AnexiaEmulator, AnexiaEmulatorOptions } from '../../../emulators/anexia/emulator.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { pool } from '../../domain/balancing/pool.ts';
import { engineCall, engineDriver } from '../../support/engine-driver.ts';
import { passWhen, type VectorWorld } from './vector-world.ts';

const RESOURCES = '/api/core/v1/resource.json';
const TAGGING = `${RESOURCES}/{id}/tags/{tag}`;
const OPERATIONS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  DELETE: 'destroy',
};
/**
 * After this many event loop turns without a pending request, no further request comes by itself.
 */
const QUIET_TURNS = 4;

/** The Engine's driver and emulator over real HTTP, as a world of the vectors. */
export async function engineWorld(
  options: Partial<AnexiaEmulatorOptions> = {},
): Promise<VectorWorld> {
  const clock = createSimulatedClock();
  let inFlight = 0;
  const metrics = metricsTo(({ name, value }) => {
    if (name === 'shepherd_lb_http_client_requests_in_flight') inFlight += value;
  });
  const dial = (fake: AnexiaEmulator) => engineDriver(fake, { clock, metrics });
  const open = async (faults: readonly EngineFaultRule[] = []) => {
    const fake = await startAnexiaEmulator({
      listen: { host: '127.0.0.1', port: 0 },
      clock: { now: clock.now, setTimeout, clearTimeout: (id) => clearTimeout(id as never) },
      faults,
      ...options,
    });
    return { fake, balancer: dial(fake) };
  };
  const opened = await open();
  const { fake, balancer } = opened;
  const all = [opened];
  const [loadBalancer = ''] = fake.loadBalancers;
  const tag = `shepherd-pool=${pool().uid}`;

  const names = new Map<string, string>();
  const todo: Promise<unknown>[] = [];
  let told = 0;
  let ours = 0;
  const find = (kind: ObjectKind, name: string) => {
    const found = fake.objects().find((one) => one.kind === kind && one.name.startsWith(name));
    return found ?? expect.unreachable(`there is no ${kind} ${name}`);
  };
  /** Another client's call, which is not counted. */
  const call = async (...asked: Parameters<typeof engineCall>[2]): Promise<string> => {
    ours += 1;
    const answer = await engineCall(fake, fetch, asked);
    told = fake.requests().length;
    return answer;
  };
  const make = async (kind: ObjectKind, body: object, marked: string): Promise<void> => {
    const id = await call('POST', `/api/LBaaS/v1/${kind}.json`, body);
    await call('POST', `${RESOURCES}/${id}/tags/${encodeURIComponent(marked)}`, '');
  };

  async function quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns = inFlight > 0 ? 0 : turns + 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { id, name } of fake.objects()) names.set(id, name);
  }

  return {
    clock,
    balancer,
    async pass(ms) {
      await Promise.all(todo.splice(0));
      await passWhen(clock, ms, quiet);
    },
    names: () =>
      fake
        .objects()
        .filter(({ tags }) => tags.includes(tag))
        .map(({ kind, name }) => `${kind} ${name}`)
        .toSorted(),
    takeWrites() {
      const since = fake.requests(told);
      told = fake.requests().length;
      return since
        .filter(({ method, route, executed }) => method !== 'GET' && route !== TAGGING && executed)
        .map(({ method, path, body }) => {
          const named = (body as { name?: string } | null)?.name;
          return `${OPERATIONS[method]} ${named ?? names.get(path.split('/').at(-1)!) ?? path}`;
        });
    },
    calls: () => fake.requests().length - ours,
    everything: () =>
      fake
        .objects()
        .map(({ kind, name }) => `${kind} ${name}`)
        .toSorted(),
    another: () => dial(fake),
    async end() {
      for (const each of all) {
        await each.balancer.close();
        expect(each.fake.complaints()).toEqual([]);
        await each.fake.close();
      }
    },
    addServer(name) {
      const backend = find('backend', `${name.split('.')[1]}.`).id;
      todo.push(make('server', { name, ip: '10.0.0.3', port: 1, check: 'disabled', backend }, tag));
    },
    twin(kind, name) {
      const { fields, name: whole } = find(kind, name);
      todo.push(make(kind, { name: whole, ...fields }, tag));
    },
    untag: (kind, name) =>
      void todo.push(
        call('DELETE', `${RESOURCES}/${find(kind, name).id}/tags/${encodeURIComponent(tag)}`),
      ),
    foreign(kind, name) {
      if (kind !== 'backend') return;
      const body = { name, mode: 'tcp', load_balancer: loadBalancer };
      todo.push(make(kind, body, 'shepherd-pool=another'));
    },
    fail(kind, name, stubborn) {
      const { id, name: whole } = find(kind, name);
      fake.setState(id, '2');
      const match = { method: 'PUT', name: whole };
      if (stubborn) fake.addFault({ match, times: 1_000, effect: { type: 'deploymentError' } });
    },
    lose: (kind, name) =>
      void todo.push(call('DELETE', `/api/LBaaS/v1/${kind}.json/${find(kind, name).id}`)),
    holdBack: (kind, name) => fake.setState(find(kind, name).id, '4'),
    inject(operation, effect, times = 1, skip = 0) {
      const status = { type: 'status', code: 500 } as const;
      if (operation === 'observe') {
        // A read is attempted three times.
        const match = { method: 'GET', route: RESOURCES };
        fake.addFault({ match, times: 3 * times, effect: status });
      } else if (operation === 'destroy') {
        fake.addFault({ match: { method: 'DELETE' }, times, effect: status });
      } else {
        const phase = effect === 'failAfter' ? 'after' : 'before';
        // Two backends are created first.
        const kind = skip < 2 ? 'backend' : 'frontend';
        const match = { method: 'POST', kind, nth: 1 + (skip % 2) } as const;
        fake.addFault({ match, times, effect: { type: 'drop', phase } });
      }
    },
    leaveHalf: () =>
      void fake.addFault({
        match: { route: TAGGING },
        times: 3,
        effect: { type: 'status', code: 500 },
      }),
    isOpen: (machine) =>
      fake.objects().some(({ kind, name }) => kind === 'server' && name.startsWith(machine)),
    async openOther() {
      const effect = { type: 'status', code: 400 } as const;
      const names = pool().ports.map(({ name }) => `v6.${name}.${pool().suffix}`);
      const other = await open(names.map((name) => ({ match: { method: 'POST', name }, effect })));
      all.push(other);
      return other.balancer;
    },
    throttle(ms) {
      const headers = { 'retry-after': String(ms / 1_000) };
      fake.addFault({ times: 1, effect: { type: 'status', code: 429, headers } });
    },
    cutOff(isCut) {
      if (isCut) fake.addFault({ id: 'cut', effect: { type: 'drop', phase: 'before' } });
      else fake.removeFault('cut');
    },
  };
}
