import { hostname, userInfo } from 'node:os';
import { ProviderError } from '../../../domain/errors.ts';
import { TAG_PREFIX, type Tags, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import { createLifetime } from '../../kit/lifetime.ts';
import type {
  CallOptions,
  CreateRequest,
  DriverContext,
  DriverMachine,
  OperationRef,
  Provider,
} from '../port.ts';
import { publicBlobOf } from '../../../../emulators/hosts/keys.ts';
import { createLoopbackHost } from './host.ts';
import { createStateFile, type HostState } from './state.ts';

/** The one slot there is. */
const SLOT = 'this-host';
const PLAN = 'host';

/**
 * This host, as the one machine of a provider: behind an SSH server of its own on loopback, which
 * runs commands as the user of this process. For trying things out; it protects nothing.
 * @param dir where the machine's state and its private files are kept.
 */
export function createLoopbackProvider(dir: string, context: DriverContext): Provider {
  const { random, log } = context;
  const lifetime = createLifetime();
  const file = createStateFile(dir);
  const host = createLoopbackHost({ dir, file, random, log });
  let last: Promise<unknown> = Promise.resolve();

  /** One call after the other: they share one machine. */
  const inTurn = <T>(
    call: CallOptions,
    task: (signal: AbortSignal) => Promise<T>,
    reading = false,
  ): Promise<T> =>
    lifetime.run(
      call,
      (signal) => {
        const mine = last.then(() => {
          if (signal.aborted) throw new ProviderError('aborted', 'aborted before its turn');
          return task(signal);
        });
        last = mine.catch(() => undefined);
        return mine;
      },
      reading,
    );

  /** Only looks: who lists a machine does not start it. */
  async function machineOf(id: string): Promise<HostState> {
    const state = await file.read();
    if (state?.id === id) return state;
    throw new ProviderError('not-found', `there is no machine ${id}`);
  }

  async function create(
    { unused, hostname: name, tags, initCommand, publicKey, onAttempt }: CreateRequest,
    { operationId }: CallOptions,
    signal: AbortSignal,
  ): Promise<DriverMachine> {
    if (unused?.reservationId !== SLOT) {
      throw new ProviderError('invalid', `the free capacity here is ${SLOT}, and no other`);
    }
    const there = await host.ensureUp();
    if (there?.tags[WITNESS_TAG] === operationId) return show(there);
    if (there) {
      throw new ProviderError('race-lost', 'this host is but one machine', { quota: true });
    }
    await onAttempt({ attempts: 1, ambiguous: false });
    if (signal.aborted) throw new ProviderError('aborted', 'aborted before the machine was made');
    const machine = { id: random.uuid(), hostname: name, tags };
    return show(await host.install(machine, { initCommand, publicKey }, signal));
  }

  const done = (what: string, id: string): OperationRef => ({ operationRef: `${what}/${id}` });

  return {
    capabilities: CAPABILITIES,
    listMachines: (_filter, call) =>
      inTurn(
        call,
        async () => {
          const state = await file.read();
          return { machines: [state ? show(state) : FREE], complete: true };
        },
        true,
      ),
    getMachine: (id, call) => inTurn(call, async () => show(await machineOf(id)), true),
    createMachine: (request, call) => inTurn(call, (signal) => create(request, call, signal)),
    deprovisionMachine: (id, call) =>
      inTurn(call, async () => {
        const state = await file.read();
        if (state?.id === id) await host.remove(state);
      }),
    rebootMachine: (id, _mode, call) =>
      inTurn(call, async () => {
        const state = await machineOf(id);
        if (state.power === 'off') {
          throw new ProviderError('conflict', `machine ${id} is switched off`);
        }
        await host.power(state, 'cycle');
        return done('reboot', id);
      }),
    reinstallMachine: (id, request, call) =>
      inTurn(call, async (signal) => {
        const state = await machineOf(id);
        const tags = { ...state.tags, ...request.tags };
        await host.install({ ...state, tags }, request, signal);
        return done('reinstall', id);
      }),
    setPower: (id, want, call) =>
      inTurn(call, async () => {
        await host.power(await machineOf(id), want);
        return done(`power-${want}`, id);
      }),
    setTags: (id, tags, call) =>
      inTurn(call, async () => {
        const state = await machineOf(id);
        await file.write({ ...state, tags: { ...foreignTags(state), ...tags } });
      }),
    verifyHostKey: ({ id }, key, call) =>
      inTurn(
        call,
        async () => {
          const state = await machineOf(id ?? '');
          if (publicBlobOf(state.hostKey).equals(key)) return;
          throw new ProviderError('conflict', 'this is not the host key of the machine');
        },
        true,
      ),
    capacityGroup: () => PLAN,
    findByWitness: (witness, _slotId, call) =>
      inTurn(
        call,
        async () => {
          const state = await file.read();
          return state?.tags[WITNESS_TAG] === witness ? show(state) : null;
        },
        true,
      ),
    hostnameFor: () =>
      `loopback-${hostname()
        .toLowerCase()
        .replace(/[^a-z0-9-]/g, '-')}`.slice(0, 63),
    prepare: (call) => inTurn(call, async () => void (await host.ensureUp())),
    async stop() {
      await lifetime.stop();
      await last;
      await host.leave();
    },
  };
}

const CAPABILITIES = {
  create: true,
  deprovision: true,
  reboot: true,
  reinstall: true,
  power: true,
  tags: true,
  hostKey: true,
  consistentList: true,
  maxConcurrency: 1,
} as const;

const FREE: DriverMachine = {
  id: null,
  reservationId: SLOT,
  availability: 'KnownUnused',
  plan: PLAN,
};

const show = ({ id, hostname: name, tags, power, port }: HostState): DriverMachine => ({
  id,
  reservationId: SLOT,
  availability: 'KnownUsed',
  plan: PLAN,
  hostname: name,
  address: port === 0 ? null : `127.0.0.1:${port}`,
  remoteUser: userInfo().username,
  status: power === 'on' ? 'Running' : 'Stopped',
  power,
  tags,
});

const foreignTags = ({ tags }: HostState): Tags =>
  Object.fromEntries(Object.entries(tags).filter(([key]) => !key.startsWith(TAG_PREFIX)));
