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
import { type Broken, refuse, showing, losing, declaring, creating, silent } from './broken.ts';

export const BROKEN_CREATION: readonly Broken[] = [
  {
    what: 'creates although that could not be announced',
    step: 'unannounced',
    says: /onAttempt rejected, and machine \S+ was made all the same/,
    change: creating((provider, request, o) => {
      const onAttempt = (progress: AttemptProgress) =>
        request.onAttempt(progress).catch(() => undefined);
      return provider.createMachine({ ...request, onAttempt }, o);
    }),
  },
  {
    what: 'does not wait for its announcement, and says that it failed',
    step: 'unannounced',
    says: /more machines came than were asked for: \S+ on \S+/,
    change: creating(async (provider, request, o) => {
      const announced = request.onAttempt({ attempts: 1, ambiguous: false });
      await Promise.all([provider.createMachine(silent(request), o), announced]);
      throw new Error('never reached');
    }),
  },
  {
    what: 'creates without announcing it',
    step: 'create',
    says: /onAttempt was not called/,
    change: creating((provider, request, o) => provider.createMachine(silent(request), o)),
  },
  {
    what: 'answers with a machine on another slot',
    step: 'create',
    says: /create: permanent, and machine \S+ came of it/,
    change: creating(async (provider, request, o) => ({
      ...(await provider.createMachine(request, o)),
      reservationId: 'another',
    })),
  },
  {
    what: 'loses the reply',
    step: 'create',
    says: /create: .*machine \S+ came of it/,
    faults: [{ fault: 'reply-lost', operation: 'create' }],
  },
  { what: 'has nothing to give', step: 'create', says: /no free capacity/, reservations: 0 },
  {
    what: 'lists a new machine later than it says',
    step: 'listed',
    says: /not listed/,
    faults: [{ fault: 'list-lag', operation: 'list', amount: 3 }],
    change: (provider) => declaring(provider, { consistentList: true }),
  },
  {
    what: 'loses the witness',
    step: 'tags',
    says: new RegExp(`tag ${WITNESS_TAG} is lost`),
    change: losing(WITNESS_TAG),
  },
  {
    what: 'loses the hash of the secret',
    step: 'tags',
    says: new RegExp(`${SECRET_TAG} is not the hash`),
    change: losing(SECRET_TAG),
  },
  {
    what: 'loses tags that are not ours',
    step: 'tags',
    says: /tag conformance-test is lost/,
    change: losing('conformance-test'),
  },
  {
    what: 'cuts tags off',
    step: 'tags',
    says: /reads back differently|is not the hash/,
    change: showing((machine) => ({
      ...machine,
      tags: Object.fromEntries(
        Object.entries(machine.tags ?? {}).map(([key, value]) =>
          key === SET_ID_TAG ? [key, value] : [key, value.slice(0, 8)],
        ),
      ),
    })),
  },
  {
    what: 'loses the mark of the set',
    step: 'create',
    says: /not the test's: its instance set is none/,
    change: losing(SET_ID_TAG),
  },
  {
    what: 'creates a second machine when it is asked again',
    step: 'idempotent',
    says: /a second machine was made/,
    change: creating(async (provider, request, o) => {
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
  },
  {
    what: 'creates a second machine when it is asked again, elsewhere and without a mark',
    step: 'idempotent',
    says: /more machines came than were asked for: stray-1 on elsewhere/,
    change(provider) {
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
  },
  {
    what: 'answers with a machine of which it says nothing else',
    step: 'create',
    says: /create: permanent, and machine \S+ came of it: the driver answered with it/,
    change: creating(async (provider, request, o) => {
      const { availability: _, ...rest } = await provider.createMachine(request, o);
      return rest as DriverMachine;
    }),
  },
  {
    what: 'finds what nobody looks for',
    step: 'witness',
    says: /another witness leads to/,
    change: (provider) => ({
      findByWitness: async (_, slotId, o) => {
        const { machines } = await provider.listMachines({}, o);
        return machines.find(({ reservationId }) => reservationId === slotId) ?? null;
      },
    }),
  },
  {
    what: 'does not find what it made',
    step: 'witness',
    says: /its own witness leads to nothing/,
    change: () => ({ findByWitness: async () => null }),
  },
  {
    what: 'gives a taken slot away again',
    step: 'rival',
    says: /succeeded instead of race-lost/,
    change: creating(async (provider, request, o) => {
      try {
        return await provider.createMachine(request, o);
      } catch (error) {
        if (!(error instanceof ProviderError && error.kind === 'race-lost')) throw error;
        const { machines } = await provider.listMachines({}, o);
        return machines.find(({ id }) => id !== null)!;
      }
    }),
  },
  {
    what: 'does not look at what it is to be made of',
    step: 'rival',
    says: /create on nothing: .* instead of invalid/,
    change: creating(async (provider, request, o) =>
      request.unused.reservationId === null
        ? refuse('transient')()
        : provider.createMachine(request, o),
    ),
  },
  {
    what: 'removes things when it is to look only',
    step: 'sweep',
    says: /not-found|no (such )?(device|machine)/i,
    change: (provider, { clock }) => ({
      sweep: async (o) => {
        const { machines } = await provider.listMachines({}, o);
        const ids = machines.flatMap(({ id }) => id ?? []);
        for (const id of ids) await provider.deprovisionMachine(id, o);
        for (const id of ids) await gone(provider, id, { ...o, clock });
        return { removed: [] };
      },
    }),
  },
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
