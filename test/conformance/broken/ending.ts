import type { DriverMachine, Provider } from '../../../src/adapters/provider/port.ts';
import { type Broken, refuse } from './broken.ts';

export const BROKEN_ENDING: readonly Broken[] = [
  {
    what: 'accepts a destruction and does nothing',
    step: 'destroy',
    says: /still listed/,
    change: () => ({ deprovisionMachine: async () => undefined }),
  },
  {
    what: 'cannot destroy twice',
    step: 'destroy',
    says: /as scripted/,
    change(provider) {
      const asked = new Set<string>();
      return {
        deprovisionMachine: async (id, o) => {
          if (asked.has(id)) await refuse('conflict')();
          asked.add(id);
          await provider.deprovisionMachine(id, o);
        },
      };
    },
  },
  {
    what: 'still finds what it destroyed',
    step: 'destroy',
    says: /no longer listed, and still found/,
    change(provider) {
      const known = new Map<string, DriverMachine>();
      return {
        getMachine: async (id, o) => {
          const machine = known.get(id) ?? (await provider.getMachine(id, o));
          known.set(id, machine);
          return machine;
        },
      };
    },
  },
  {
    what: 'does not find what it destroyed, and refuses to destroy it',
    step: 'destroy-again',
    says: /as scripted/,
    change: (provider) => ({
      deprovisionMachine: async (id, o) => {
        try {
          await provider.getMachine(id, o);
        } catch {
          await refuse('not-found')();
        }
        await provider.deprovisionMachine(id, o);
      },
    }),
  },
  {
    what: 'sets tags on what is gone',
    step: 'destroy-again',
    says: /setTags on a machine that is gone: succeeded/,
    change: (provider) => ({
      setTags: async (id, tags, o) =>
        provider.setTags(id, tags, o).catch((error: unknown) => {
          if (id.endsWith('dead')) throw error;
        }),
    }),
  },
  {
    what: 'never gives the slot back',
    step: 'reusable',
    says: /is reusable: not within 1s/,
    change: () => ({ isReusable: async () => false }),
  },
  {
    what: 'goes on after stop',
    step: 'stop',
    says: /list after stop: succeeded instead of stopped/,
    change: (provider) => ({ stop: async () => undefined, ...ignoring(provider) }),
  },
  {
    what: 'never ends to stop',
    step: 'stop',
    says: /stop did not end within 500ms/,
    change: () => ({ stop: () => new Promise(() => undefined) }),
  },
  {
    what: 'cannot stop twice',
    step: 'stop',
    says: /stopped already/,
    change(provider) {
      let calls = 0;
      return {
        stop: async () => {
          calls += 1;
          await provider.stop();
          if (calls > 1) throw new Error('stopped already');
        },
      };
    },
  },
  {
    what: 'says after stop that it is late',
    step: 'stop',
    says: /list after stop: transient instead of stopped/,
    change: (provider) => ({
      listMachines: (filter, o) =>
        provider.listMachines(filter, o).catch(() => refuse('transient')()),
    }),
  },
  {
    what: 'lets a listing run on after stop',
    step: 'stop',
    says: /a listing did not end within 500ms/,
    change(provider) {
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
    },
  },
];

const ignoring = (provider: Provider): Partial<Provider> => ({
  listMachines: (filter, o) => provider.listMachines(filter, o),
});
