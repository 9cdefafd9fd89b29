import type { DriverMachine, Provider } from '../../../src/adapters/provider/port.ts';
import { type Broken, fails, refuse } from './broken.ts';

export const BROKEN_ENDING: readonly Broken[] = [
  fails('destroy', 'accepts a destruction and does nothing', () => ({
    deprovisionMachine: async () => undefined,
  })),
  fails('destroy', 'cannot destroy twice', (provider) => {
    const asked = new Set<string>();
    return {
      deprovisionMachine: async (id, o) => {
        if (asked.has(id)) await refuse('conflict')();
        asked.add(id);
        await provider.deprovisionMachine(id, o);
      },
    };
  }),
  fails('destroy', 'still finds what it destroyed', (provider) => {
    const known = new Map<string, DriverMachine>();
    return {
      getMachine: async (id, o) => {
        const machine = known.get(id) ?? (await provider.getMachine(id, o));
        known.set(id, machine);
        return machine;
      },
    };
  }),
  fails(
    'destroy-again',
    'does not find what it destroyed, and refuses to destroy it',
    (provider) => ({
      deprovisionMachine: async (id, o) => {
        try {
          await provider.getMachine(id, o);
        } catch {
          await refuse('not-found')();
        }
        await provider.deprovisionMachine(id, o);
      },
    }),
  ),
  fails('destroy-again', 'sets tags on what is gone', (provider) => ({
    setTags: async (id, tags, o) =>
      provider.setTags(id, tags, o).catch((error: unknown) => {
        if (id.endsWith('dead')) throw error;
      }),
  })),
  fails('reusable', 'never gives the slot back', () => ({ isReusable: async () => false })),
  fails('stop', 'goes on after stop', (provider) => ({
    stop: async () => undefined,
    ...ignoring(provider),
  })),
  fails('stop', 'never ends to stop', () => ({ stop: () => new Promise(() => undefined) })),
  fails('stop', 'cannot stop twice', (provider) => {
    let calls = 0;
    return {
      stop: async () => {
        calls += 1;
        await provider.stop();
        if (calls > 1) throw new Error('stopped already');
      },
    };
  }),
  fails('stop', 'says after stop that it is late', (provider) => ({
    listMachines: (filter, o) =>
      provider.listMachines(filter, o).catch(() => refuse('transient')()),
  })),
  fails('stop', 'lets a listing run on after stop', (provider) => {
    let isStopping = false;
    return {
      listMachines: async (filter, o) => {
        await Promise.resolve();
        return isStopping ? new Promise(() => undefined) : provider.listMachines(filter, o);
      },
      stop: async () => {
        isStopping = true;
        await provider.stop();
      },
    };
  }),
];

const ignoring = (provider: Provider): Partial<Provider> => ({
  listMachines: (filter, o) => provider.listMachines(filter, o),
});
