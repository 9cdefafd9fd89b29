import type { Clock } from '../../src/adapters/clock/port.ts';
import type { CreateRequest, Provider } from '../../src/adapters/provider/port.ts';
import { UNKNOWN_ID } from '../../src/conformance/requests.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { labWith, runLab } from './lab.ts';
import { TEST_SET, type ConformanceRun } from './stand.ts';

/** The function of a request, behind everything that waits for it. */
const free = new AbortController().signal;
const never = () => new Promise<never>(() => undefined);
/** Rejects once it is cancelled. */
const calledOff = (signal: AbortSignal, about: object = {}, onEnd = () => undefined as unknown) =>
  new Promise<never>((_, reject) => {
    const leave = () => {
      onEnd();
      reject(new ProviderError('aborted', 'called off', about));
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
  });
const announced = (request: CreateRequest) => request.onAttempt({ attempts: 1, ambiguous: false });

/** Creates on its own after its caller has left; `arrived` is called after the creation. */
const late = (provider: Provider, clock: Clock, arrived: () => void): Partial<Provider> => ({
  async createMachine(request, o) {
    await announced(request);
    const silent = { ...request, onAttempt: async () => undefined };
    clock.setTimeout(() => {
      void provider.createMachine(silent, { ...o, signal: free }).then(arrived);
    }, 400);
    return calledOff(o.signal);
  },
});
/** Counts creations and destructions. */
const booked = (provider: Provider, note: (what: string) => void): Partial<Provider> => ({
  deprovisionMachine: async (id, o) => {
    await provider.deprovisionMachine(id, o);
    if (id !== UNKNOWN_ID) note('destroyed');
  },
});

type Course = (note: (what: string) => void) => Promise<ConformanceRun>;
/** A driver with a deviation, and the run with it; records what else happens. */
export const COURSES: readonly (readonly [what: string, course: Course])[] = [
  ['passes every step that it supports', () => runLab({}, { command: 'cat' })],
  [
    'with means of its own vouches for host keys',
    () => runLab({ without: [] }, { only: ['host-key'] }),
  ],
  [
    'refuses some things is skipped there, and said to refuse',
    () => runLab({ without: ['hostKey', 'reboot', 'reinstall', 'power', 'tags'] }),
  ],
  ['may do no harm is not tried with that', () => runLab({}, { allowDestructive: false })],
  [
    'cannot destroy passes, and what is left is told',
    () => runLab({ without: ['hostKey', 'deprovision'] }),
  ],
  [
    'ignores a reboot is forced (provider vector 20)',
    () => runLab({ faults: [{ fault: 'reboot-ignored', calls: [1] }] }, { only: ['reboot'] }),
  ],
  [
    // 40 listings take some 40 s: again after 10 s, and after 30 s.
    'lists what it destroys is asked again while it does (provider vector 22)',
    () =>
      runLab(
        { faults: [{ fault: 'destroy-listed', calls: [1, 2], amount: 40 }] },
        { only: ['destroy-again'], timeoutMs: 3_600_000 },
        { patience: { syncMs: 1_000, destroyMs: 600_000, callMs: 60_000, cleanUpMs: 60_000 } },
      ),
  ],
  [
    'has a creation that does not end with its stop',
    () => {
      let calls = 0;
      const lab = labWith((provider) => ({
        createMachine: async (request, o) => {
          if ((calls += 1) === 1) return provider.createMachine(request, o);
          await announced(request);
          return never();
        },
      }));
      return runLab(lab, { only: ['stop', 'reusable'] });
    },
  ],
  [
    'is interrupted leaves nothing behind',
    (note) => {
      const ends = new AbortController();
      const lab = labWith((provider) => ({
        ...booked(provider, note),
        rebootMachine: async (...args) => {
          if (args[0] !== UNKNOWN_ID) ends.abort();
          return provider.rebootMachine(...args);
        },
      }));
      return runLab(lab, {}, { signal: ends.signal });
    },
  ],
  [
    'runs out of time fails, and cleans up',
    () =>
      runLab(
        labWith(() => ({ rebootMachine: never })),
        { timeoutMs: 1_000, only: ['reboot'] },
      ),
  ],
  [
    'is waited for until time ends is told with what was seen last',
    () => {
      const lab = labWith((provider) => ({
        getMachine: async (id, o) => ({ ...(await provider.getMachine(id, o)), address: null }),
      }));
      const waits = { bootMs: 60_000, probeMs: 50, syncMs: 50, cleanUpMs: 1_000, destroyMs: 1_000 };
      return runLab(lab, { timeoutMs: 700, only: ['ssh'] }, { patience: waits });
    },
  ],
  ...['listed', 'destroy'].map((step): readonly [string, Course] => [
    `never destroys leaves its machine, which is told, after ${step}`,
    () =>
      runLab(
        labWith(() => ({ deprovisionMachine: async () => undefined })),
        { only: [step] },
      ),
  ]),
  [
    'cannot be listed any more leaves what it answered',
    () => {
      let isBroken = false;
      const lab = labWith((provider) => ({
        listMachines: (filter, o) =>
          isBroken
            ? Promise.reject(new ProviderError('permanent', 'no listing any more'))
            : provider.listMachines(filter, o),
        sweep: async () => {
          isBroken = true;
          return { removed: [] };
        },
      }));
      return runLab(lab, { only: ['sweep'] });
    },
  ],
  [
    'shows a machine that another set claims meanwhile is not touched any more',
    (note) => {
      let isClaimed = false;
      const claimed = <M extends { readonly tags?: Readonly<Record<string, string>> }>(one: M): M =>
        isClaimed && one.tags?.[SET_ID_TAG] === TEST_SET
          ? { ...one, tags: { ...one.tags, [SET_ID_TAG]: 'other-fleet-000000000000001' } }
          : one;
      const acts = ['deprovisionMachine', 'rebootMachine', 'reinstallMachine', 'setPower'] as const;
      const lab = labWith((provider) => ({
        listMachines: async (filter, o) => {
          const { machines, complete } = await provider.listMachines(filter, o);
          return { machines: machines.map(claimed), complete };
        },
        getMachine: async (id, o) => claimed(await provider.getMachine(id, o)),
        sweep: async () => {
          isClaimed = true;
          return { removed: [] };
        },
        ...Object.fromEntries(
          [...acts, 'setTags' as const].map((method) => [
            method,
            async (id: string, ...rest: never[]) => {
              if (isClaimed && id !== UNKNOWN_ID) note(`touched by ${method}`);
              return (provider[method] as (...args: unknown[]) => Promise<unknown>)(id, ...rest);
            },
          ]),
        ),
      }));
      return runLab(lab);
    },
  ],
  [
    'says what could steer a terminal',
    () => {
      const odd = 'a\u001b[31mb\u0000c\ud800d\r\ne\tf';
      const createMachine = () => Promise.reject(new ProviderError('permanent', odd));
      return runLab(
        labWith(() => ({ createMachine })),
        { only: ['create'] },
      );
    },
  ],
  [
    'has an id that could steer a terminal',
    () => {
      const id = 'a\u001b[31m\ufffe';
      const lab = labWith((provider) => ({
        createMachine: async (request, o) => ({
          ...(await provider.createMachine(request, o)),
          id,
        }),
        getMachine: (asked, o) =>
          asked === id
            ? Promise.reject(new ProviderError('permanent', 'no answer'))
            : provider.getMachine(asked, o),
      }));
      return runLab(lab, { only: ['create'] });
    },
  ],
  [
    'is interrupted on its way to a machine is waited for, and that destroyed',
    (note) => {
      const ends = new AbortController();
      const lab = labWith((provider, { clock }) => ({
        ...booked(provider, note),
        createMachine(request, o) {
          clock.setTimeout(() => ends.abort(), 50);
          return late(provider, clock, () => note('made')).createMachine!(request, o);
        },
      }));
      return runLab(lab, { only: ['create'] }, { signal: ends.signal });
    },
  ],
  [
    'never makes the machine that it was asked for is told by its witness and its slot',
    () => {
      const ends = new AbortController();
      const lab = labWith((_, { clock }) => ({
        createMachine(_request, o) {
          clock.setTimeout(() => ends.abort(), 20);
          return calledOff(o.signal, { outcome: 'unknown' });
        },
      }));
      return runLab(lab, { only: ['create'] }, { signal: ends.signal });
    },
  ],
  [
    'shows a machine late in listings does not have it taken for gone',
    (note) => {
      const lab = labWith((provider, { clock }) => {
        let hiddenUntil = 0;
        return {
          ...booked(provider, note),
          capabilities: { ...provider.capabilities, consistentList: false },
          createMachine: async (request, o) => {
            const { plan } = await provider.createMachine(request, o);
            note('made');
            hiddenUntil = clock.now() + 400;
            const about = { outcome: 'unknown' } as const;
            throw new ProviderError('permanent', `no answer for ${plan}`, about);
          },
          listMachines: async (filter, o) => {
            const { machines, complete } = await provider.listMachines(filter, o);
            const isHidden = clock.now() < hiddenUntil;
            return { machines: machines.filter(({ id }) => id === null || !isHidden), complete };
          },
          findByWitness: async () => null,
        };
      });
      const patience = { bootMs: 100, cleanUpMs: 2_000, syncMs: 50, stopMs: 500 };
      return runLab(lab, { only: ['create'] }, { patience });
    },
  ],
  [
    'does not stop is called off before its creation leaves',
    (note) => {
      let opened = 0;
      const lab = labWith((provider) => {
        if ((opened += 1) === 1) return {};
        return {
          stop: async () => {
            await provider.stop();
            throw new Error('a socket is stuck');
          },
          async createMachine(request, o) {
            await announced(request);
            return calledOff(o.signal, {}, () => note('called off'));
          },
        };
      });
      return runLab(lab, { only: ['reusable', 'stop'] });
    },
  ],
  [
    'shows what came without any mark has it told, and not touched',
    (note) => {
      const stray = { id: 'stray-1', reservationId: 'elsewhere', plan: 'p' } as const;
      const theirs = { 'shepherd-InstanceSetID': 'fleet-fleet-000000000000001' };
      const strays = [stray, { ...stray, id: 'theirs-1', tags: theirs }];
      let isMade = false;
      const lab = labWith((provider) => ({
        createMachine: async (request, o) => {
          isMade = true;
          return provider.createMachine(request, o);
        },
        listMachines: async (filter, o) => {
          const { machines, complete } = await provider.listMachines(filter, o);
          const more = strays.map((each) => ({ ...each, availability: 'KnownUsed' as const }));
          return { machines: isMade ? [...machines, ...more] : machines, complete };
        },
        deprovisionMachine: async (id, o) => {
          if (strays.some((each) => each.id === id)) note(`touched ${id}`);
          await provider.deprovisionMachine(id, o);
        },
      }));
      return runLab(lab, { only: ['listed'] });
    },
  ],
  [
    'cannot show its machine has it told with the id that it answered',
    () => {
      const lab = labWith((provider) => ({
        createMachine: async (request, o) => ({
          ...(await provider.createMachine(request, o)),
          tags: null as never,
        }),
        deprovisionMachine: async () => undefined,
      }));
      return runLab(lab, { only: ['create'] });
    },
  ],
  [
    'lists incompletely proves nobody gone',
    () => {
      let isLate = false;
      const lab = labWith((provider) => ({
        deprovisionMachine: async (id, o) => {
          isLate = true;
          await provider.deprovisionMachine(id, o);
        },
        listMachines: async (filter, o) => {
          const { machines } = await provider.listMachines(filter, o);
          return { machines, complete: !isLate };
        },
      }));
      return runLab(lab, { only: ['destroy'] });
    },
  ],
];
