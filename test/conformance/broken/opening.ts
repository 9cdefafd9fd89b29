import { type Broken, fails, refuse, declaring, IGNORED } from './broken.ts';

export const BROKEN_OPENING: readonly Broken[] = [
  fails('open', 'does not prepare twice', () => {
    let calls = 0;
    return {
      prepare: async () => {
        calls += 1;
        if (calls > 1) await refuse('conflict')();
      },
    };
  }),
  fails('open', 'declares power and has no way to switch it', (provider) => ({
    ...declaring(provider, { power: true }),
    setPower: undefined as never,
  })),
  fails('list', 'lists nothing completely', (provider) => ({
    listMachines: async (filter, o) => ({
      machines: (await provider.listMachines(filter, o)).machines,
      complete: false,
    }),
  })),
  fails('list', 'lists an entry that says nothing of its use', {
    faults: [{ fault: 'availability-undefined' }],
  }),
  fails('names', 'calls machines otherwise each time', () => {
    let calls = 0;
    return { hostnameFor: () => `machine-${(calls += 1)}` };
  }),
  fails('names', 'calls machines what no machine can be called', () => ({
    hostnameFor: (slotId) => `Rack_${slotId}`,
  })),
  fails('unknown', 'knows every machine', () => ({
    getMachine: async (id) => ({ id, reservationId: 'r', availability: 'KnownUsed', plan: 'p' }),
  })),
  fails('unknown', 'cannot destroy what is not there', () => ({
    deprovisionMachine: refuse('not-found'),
  })),
  fails('unknown', 'puts tags on nothing', () => ({ setTags: async () => undefined })),
  fails('parallel', 'cannot list twice at once', (provider) => {
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
  }),
  fails('parallel', 'mixes up answers that are asked for at once', (provider) => {
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
  }),
  fails('abort', 'does not heed its signal once it has begun', (provider) => ({
    listMachines: (filter, o) =>
      o.signal.aborted ? provider.listMachines(filter, o) : new Promise(() => undefined),
  })),
  fails('abort', 'lets an abort through as it comes once it has begun', (provider) => ({
    getMachine: (id, o) =>
      o.signal.aborted
        ? provider.getMachine(id, o)
        : new Promise((_, reject) => {
            o.signal.addEventListener('abort', () => reject(new Error('left')), { once: true });
          }),
  })),
  fails('abort', 'does not heed its signal', (provider) => ({
    listMachines: (filter, o) => provider.listMachines(filter, { ...o, ...IGNORED }),
  })),
  fails('abort', 'lets an abort through as it comes', (provider) => ({
    getMachine: async (id, o) => {
      o.signal.throwIfAborted();
      return provider.getMachine(id, o);
    },
  })),
];
