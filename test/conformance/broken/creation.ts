import { type Clock, sleep } from '../../../src/adapters/clock/port.ts';
import type {
  AttemptProgress,
  CallOptions,
  DriverMachine,
  Provider,
} from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import {
  SECRET_TAG,
  SET_ID_TAG,
  WITNESS_TAG,
} from '../../../src/domain/provisioning/provider-tags.ts';
import {
  type Broken,
  fails,
  refuse,
  showing,
  losing,
  declaring,
  creating,
  silent,
} from './broken.ts';

export const BROKEN_CREATION: readonly Broken[] = [
  fails(
    'unannounced',
    'creates although that could not be announced',
    creating((provider, request, o) => {
      const onAttempt = (progress: AttemptProgress) =>
        request.onAttempt(progress).catch(() => undefined);
      return provider.createMachine({ ...request, onAttempt }, o);
    }),
  ),
  fails(
    'unannounced',
    'does not wait for its announcement, and says that it failed',
    creating(async (provider, request, o) => {
      const announced = request.onAttempt({ attempts: 1, ambiguous: false });
      await Promise.all([provider.createMachine(silent(request), o), announced]);
      throw new Error('never reached');
    }),
  ),
  fails(
    'create',
    'creates without announcing it',
    creating((provider, request, o) => provider.createMachine(silent(request), o)),
  ),
  fails(
    'create',
    'answers with a machine on another slot',
    creating(async (provider, request, o) => ({
      ...(await provider.createMachine(request, o)),
      reservationId: 'another',
    })),
  ),
  fails('create', 'loses the reply', { faults: [{ fault: 'reply-lost', operation: 'create' }] }),
  fails('create', 'has nothing to give', { reservations: 0 }),
  fails('listed', 'lists a new machine later than it says', {
    faults: [{ fault: 'list-lag', operation: 'list', amount: 3 }],
    change: (provider) => declaring(provider, { consistentList: true }),
  }),
  fails('tags', 'loses the witness', losing(WITNESS_TAG)),
  fails('tags', 'loses the hash of the secret', losing(SECRET_TAG)),
  fails('tags', 'loses tags that are not ours', losing('conformance-test')),
  fails(
    'tags',
    'cuts tags off',
    showing((machine) => ({
      ...machine,
      tags: Object.fromEntries(
        Object.entries(machine.tags ?? {}).map(([key, value]) =>
          key === SET_ID_TAG ? [key, value] : [key, value.slice(0, 8)],
        ),
      ),
    })),
  ),
  fails('create', 'loses the mark of the set', losing(SET_ID_TAG)),
  fails(
    'idempotent',
    'creates a second machine when it is asked again',
    creating(async (provider, request, o) => {
      const { machines } = await provider.listMachines({}, o);
      const isRepeated = machines.some(({ tags }) => tags?.[WITNESS_TAG] === o.operationId);
      const free = machines.find(({ availability }) => availability === 'KnownUnused')!;
      if (!isRepeated) return provider.createMachine(request, o);
      const unused = { ...request.unused, reservationId: free.reservationId };
      const operationId = '00000000-0000-4000-8000-000000000002';
      const made = await provider.createMachine(
        { ...request, unused, tags: { ...request.tags, [WITNESS_TAG]: operationId } },
        { ...o, operationId },
      );
      return { ...made, reservationId: request.unused.reservationId };
    }),
  ),
  fails(
    'idempotent',
    'creates a second machine when it is asked again, elsewhere and without a mark',
    (provider) => {
      let creations = 0;
      return {
        createMachine: async (request, o) => {
          creations += 1;
          return provider.createMachine(request, o);
        },
        listMachines: async (filter, o) => {
          const { machines, complete } = await provider.listMachines(filter, o);
          return { machines: creations > 1 ? [...machines, STRAY] : machines, complete };
        },
      };
    },
  ),
  fails(
    'create',
    'answers with a machine of which it says nothing else',
    creating(async (provider, request, o) => {
      const { availability: _, ...rest } = await provider.createMachine(request, o);
      return rest as DriverMachine;
    }),
  ),
  fails('witness', 'finds what nobody looks for', (provider) => ({
    findByWitness: async (_, slotId, o) => {
      const { machines } = await provider.listMachines({}, o);
      return machines.find(({ reservationId }) => reservationId === slotId) ?? null;
    },
  })),
  fails('witness', 'does not find what it made', () => ({ findByWitness: async () => null })),
  fails(
    'rival',
    'gives a taken slot away again',
    creating(async (provider, request, o) => {
      try {
        return await provider.createMachine(request, o);
      } catch (error) {
        if (!(error instanceof ProviderError && error.kind === 'race-lost')) throw error;
        const { machines } = await provider.listMachines({}, o);
        return machines.find(({ id }) => id !== null)!;
      }
    }),
  ),
  fails(
    'rival',
    'does not look at what it is to be made of',
    creating(async (provider, request, o) =>
      request.unused.reservationId === null
        ? refuse('transient')()
        : provider.createMachine(request, o),
    ),
  ),
  fails('sweep', 'removes things when it is to look only', (provider, { clock }) => ({
    sweep: async (o) => {
      const { machines } = await provider.listMachines({}, o);
      const ids = machines.flatMap(({ id }) => id ?? []);
      for (const id of ids) await provider.deprovisionMachine(id, o);
      for (const id of ids) await gone(provider, id, { ...o, clock });
      return { removed: [] };
    },
  })),
];

async function gone(
  provider: Provider,
  id: string,
  { clock, ...o }: CallOptions & { readonly clock: Clock },
): Promise<void> {
  for (;;) {
    try {
      await provider.getMachine(id, o);
    } catch {
      return;
    }
    await sleep(clock, 10, o.signal);
  }
}

const STRAY = {
  id: 'stray-1',
  reservationId: 'elsewhere',
  availability: 'KnownUsed',
  plan: 'm3.large.x86',
} as const;
