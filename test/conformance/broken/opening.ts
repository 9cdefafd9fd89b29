import { type Broken, refuse, declaring, IGNORED } from './broken.ts';

export const BROKEN_OPENING: readonly Broken[] = [
  {
    what: 'does not prepare twice',
    step: 'open',
    says: /as scripted/,
    change() {
      let calls = 0;
      return {
        prepare: async () => {
          calls += 1;
          if (calls > 1) await refuse('conflict')();
        },
      };
    },
  },
  {
    what: 'declares power and has no way to switch it',
    step: 'open',
    says: /setPower/,
    change: (provider) => ({
      ...declaring(provider, { power: true }),
      setPower: undefined as never,
    }),
  },
  {
    what: 'lists nothing completely',
    step: 'list',
    says: /not complete/,
    change: (provider) => ({
      listMachines: async (filter, o) => ({
        machines: (await provider.listMachines(filter, o)).machines,
        complete: false,
      }),
    }),
  },
  {
    what: 'lists an entry that says nothing of its use',
    step: 'list',
    says: /listMachines answered with machines\.\d+\.availability/,
    faults: [{ fault: 'availability-undefined' }],
  },
  {
    what: 'calls machines otherwise each time',
    step: 'names',
    says: /another host name/,
    change() {
      let calls = 0;
      return { hostnameFor: () => `machine-${(calls += 1)}` };
    },
  },
  {
    what: 'calls machines what no machine can be called',
    step: 'names',
    says: /no host name/,
    change: () => ({ hostnameFor: (slotId) => `Rack_${slotId}` }),
  },
  {
    what: 'knows every machine',
    step: 'unknown',
    says: /get: permanent instead of not-found|get: succeeded/,
    change: () => ({
      getMachine: async (id) => ({ id, reservationId: 'r', availability: 'KnownUsed', plan: 'p' }),
    }),
  },
  {
    what: 'cannot destroy what is not there',
    step: 'unknown',
    says: /not-found|as scripted/,
    change: () => ({ deprovisionMachine: refuse('not-found') }),
  },
  {
    what: 'puts tags on nothing',
    step: 'unknown',
    says: /setTags: succeeded/,
    change: () => ({ setTags: async () => undefined }),
  },
  {
    what: 'cannot list twice at once',
    step: 'parallel',
    says: /of two listings at the same time, one lacks /,
    change(provider) {
      let underWay = 0;
      const there = {
        id: 'm-1',
        reservationId: 'r-1',
        availability: 'KnownUsed',
        plan: 'p',
      } as const;
      return {
        listMachines: async (filter, o) => {
          underWay += 1;
          const isSecond = underWay > 1;
          const { machines, complete } = await provider.listMachines(filter, o);
          underWay -= 1;
          return { machines: isSecond ? [] : [...machines, there], complete };
        },
      };
    },
  },
  {
    what: 'mixes up answers that are asked for at once',
    step: 'parallel',
    says: /asked for m-1 among others, the answer is m-2/,
    change(provider) {
      const there = (id: string) =>
        ({ id, reservationId: `r-${id}`, availability: 'KnownUsed', plan: 'p' }) as const;
      let latest = '';
      return {
        listMachines: async (filter, o) => {
          const { machines, complete } = await provider.listMachines(filter, o);
          return { machines: [...machines, there('m-1'), there('m-2')], complete };
        },
        getMachine: async (id) => {
          latest = id;
          await Promise.resolve();
          return there(latest);
        },
      };
    },
  },
  {
    what: 'does not heed its signal once it has begun',
    step: 'abort',
    says: /list that was called off did not end within 500ms/,
    change: (provider) => ({
      listMachines: (filter, o) =>
        o.signal.aborted ? provider.listMachines(filter, o) : new Promise(() => undefined),
    }),
  },
  {
    what: 'lets an abort through as it comes once it has begun',
    step: 'abort',
    says: /get under way: internal instead of aborted/,
    change: (provider) => ({
      getMachine: (id, o) =>
        o.signal.aborted
          ? provider.getMachine(id, o)
          : new Promise((_, reject) => {
              o.signal.addEventListener('abort', () => reject(new Error('left')), { once: true });
            }),
    }),
  },
  {
    what: 'does not heed its signal',
    step: 'abort',
    says: /list: succeeded instead of aborted/,
    change: (provider) => ({
      listMachines: (filter, o) => provider.listMachines(filter, { ...o, ...IGNORED }),
    }),
  },
  {
    what: 'lets an abort through as it comes',
    step: 'abort',
    says: /internal instead of aborted/,
    change: (provider) => ({
      getMachine: async (id, o) => {
        o.signal.throwIfAborted();
        return provider.getMachine(id, o);
      },
    }),
  },
];
