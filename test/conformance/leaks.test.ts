import { expect, test } from 'vitest';
import type { Clock } from '../../src/adapters/clock/port.ts';
import type { CreateRequest, Provider } from '../../src/adapters/provider/port.ts';
import { ProviderError } from '../../src/domain/errors.ts';
import { WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { labWith, runLab } from './lab.ts';
import { outcomes, resultOf } from './stand.ts';

/** Of a request, past everything that waits for it. */
const free = new AbortController().signal;
const silently = (request: CreateRequest) => ({ ...request, onAttempt: async () => undefined });

/** Creates on its own account after its caller has left; `arrived` resolves once it did. */
function lateDriver(provider: Provider, clock: Clock, arrived: () => void): Partial<Provider> {
  return {
    async createMachine(request, o) {
      await request.onAttempt({ attempts: 1, ambiguous: false });
      const later = { ...o, signal: free };
      clock.setTimeout(() => {
        void provider.createMachine(silently(request), later).then(arrived);
      }, 400);
      return new Promise((_, reject) => {
        const leave = () => reject(new ProviderError('aborted', 'called off'));
        if (o.signal.aborted) leave();
        o.signal.addEventListener('abort', leave, { once: true });
      });
    },
  };
}

test('a creation that is interrupted on its way is waited for, and destroyed', async () => {
  const ends = new AbortController();
  let made = 0;
  const destroyed: string[] = [];
  const lab = labWith((provider, { clock }) => {
    const late = lateDriver(provider, clock, () => void (made += 1));
    return {
      createMachine(request, o) {
        clock.setTimeout(() => ends.abort(), 50);
        return late.createMachine!(request, o);
      },
      deprovisionMachine: async (id, o) => {
        await provider.deprovisionMachine(id, o);
        destroyed.push(id);
      },
    };
  });
  const options = { only: ['create'] };
  const { exitCode, report } = await runLab(lab, options, { signal: ends.signal });
  expect(exitCode).toBe(130);
  expect(report).toMatchObject({ leftBehind: [], cleanUpErrors: [] });
  expect({ made, destroyed: destroyed.length > 0 }).toEqual({ made: 1, destroyed: true });
});

test('one that does not come is told by its witness and its slot', async () => {
  const ends = new AbortController();
  let witness = '';
  const lab = labWith((_, { clock }) => ({
    createMachine(request, o) {
      witness = request.tags[WITNESS_TAG]!;
      clock.setTimeout(() => ends.abort(), 20);
      return new Promise((_, reject) => {
        const error = new ProviderError('aborted', 'called off', { outcome: 'unknown' });
        o.signal.addEventListener('abort', () => reject(error), { once: true });
      });
    },
  }));
  const options = { only: ['create'] };
  const { exitCode, report } = await runLab(lab, options, { signal: ends.signal });
  expect(exitCode).toBe(130);
  expect(report.leftBehind).toEqual([
    {
      id: null,
      reservationId: expect.any(String),
      reason: expect.stringMatching(
        new RegExp(`^it may still appear: witness ${witness} on slot `),
      ),
    },
  ]);
});

test('a machine that listings show late is not taken for gone', async () => {
  let made = 0;
  const gone: string[] = [];
  const lab = labWith((provider, { clock }) => {
    let hiddenUntil = 0;
    const isHidden = () => clock.now() < hiddenUntil;
    return {
      capabilities: { ...provider.capabilities, consistentList: false },
      createMachine: async (request, o) => {
        const machine = await provider.createMachine(request, o);
        made += 1;
        hiddenUntil = clock.now() + 400;
        throw new ProviderError('permanent', `no answer for ${machine.plan}`, {
          outcome: 'unknown',
        });
      },
      listMachines: async (filter, o) => {
        const { machines, complete } = await provider.listMachines(filter, o);
        const shown = machines.filter(({ id }) => id === null || !isHidden());
        return { machines: shown, complete };
      },
      findByWitness: async () => null,
      deprovisionMachine: async (id, o) => {
        await provider.deprovisionMachine(id, o);
        gone.push(id);
      },
    };
  });
  const patience = { bootMs: 100, cleanUpMs: 2_000, syncMs: 50, stopMs: 500 };
  const { exitCode, report } = await runLab(lab, { only: ['create'] }, { patience });
  expect(exitCode).toBe(1);
  expect(resultOf(report, 'create').message).toMatch(/a machine may still come of it/);
  expect(report.leftBehind).toEqual([]);
  expect({ made, gone: gone.length > 0 }).toEqual({ made: 1, gone: true });
});

test('a driver that does not stop is called off before its creation leaves', async () => {
  let opened = 0;
  let isAborted = false;
  const lab = labWith((provider) => {
    opened += 1;
    if (opened === 1) return {};
    return {
      stop: async () => {
        await provider.stop();
        throw new Error('a socket is stuck');
      },
      async createMachine(request, o) {
        await request.onAttempt({ attempts: 1, ambiguous: false });
        return new Promise((_, reject) => {
          const leave = () => {
            isAborted = true;
            reject(new ProviderError('aborted', 'called off'));
          };
          if (o.signal.aborted) leave();
          o.signal.addEventListener('abort', leave, { once: true });
        });
      },
    };
  });
  const options = { only: ['reusable', 'stop'] };
  const { exitCode, report } = await runLab(lab, options);
  expect(exitCode).toBe(1);
  expect(resultOf(report, 'stop').message).toMatch(/a socket is stuck/);
  expect(isAborted).toBe(true);
  expect(report.leftBehind, 'it may have left all the same').toMatchObject([
    { id: null, reason: expect.stringMatching(/^it may still appear: witness /) },
  ]);
});

test('what came without any mark is told, and not touched', async () => {
  const STRAY = { id: 'stray-1', reservationId: 'elsewhere', plan: 'p' } as const;
  let isMade = false;
  const destroyed: string[] = [];
  const tagged = { ...STRAY, id: 'theirs-1', tags: { 'shepherd-InstanceSetID': OTHER } };
  const lab = labWith((provider) => ({
    createMachine: async (request, o) => {
      isMade = true;
      return provider.createMachine(request, o);
    },
    listMachines: async (filter, o) => {
      const { machines, complete } = await provider.listMachines(filter, o);
      const more = [STRAY, tagged].map((each) => ({ ...each, availability: 'KnownUsed' as const }));
      return { machines: isMade ? [...machines, ...more] : machines, complete };
    },
    deprovisionMachine: async (id, o) => {
      destroyed.push(id);
      await provider.deprovisionMachine(id, o);
    },
  }));
  const { exitCode, report } = await runLab(lab, { only: ['listed'] });
  expect(outcomes(report)['listed']).toBe('passed');
  expect(exitCode).toBe(3);
  expect(report.leftBehind).toEqual([
    {
      id: 'stray-1',
      reservationId: 'elsewhere',
      reason: expect.stringMatching(/not there before/),
    },
  ]);
  expect(destroyed).not.toContain('stray-1');
  expect(destroyed).not.toContain('theirs-1');
});
const OTHER = 'fleet-fleet-000000000000001';

test('a machine that the driver cannot show is told with the id that it answered', async () => {
  const ids: string[] = [];
  const lab = labWith((provider) => ({
    createMachine: async (request, o) => {
      const machine = await provider.createMachine(request, o);
      ids.push(machine.id!);
      return { ...machine, tags: null as never };
    },
    deprovisionMachine: async () => undefined,
  }));
  const { exitCode, report } = await runLab(lab, { only: ['create'] });
  expect(exitCode).toBe(1);
  expect(resultOf(report, 'create').message).toContain(`machine ${ids[0]} came of it`);
  expect(report.leftBehind.map(({ id }) => id)).toEqual([ids[0]]);
});

test('an incomplete listing proves nobody gone', async () => {
  let isLate = false;
  const lab = labWith((provider) => ({
    deprovisionMachine: async (id, o) => {
      isLate = true;
      await provider.deprovisionMachine(id, o);
    },
    listMachines: async (filter, o) => ({
      machines: (await provider.listMachines(filter, o)).machines,
      complete: !isLate,
    }),
  }));
  const { report } = await runLab(lab, { only: ['destroy'] });
  expect(resultOf(report, 'destroy')).toMatchObject({
    outcome: 'failed',
    message: expect.stringMatching(/last: the listing is not complete/),
  });
});

const ODD = 'a\u001b[31m\ufffe';
test('what is told of ids cannot steer a terminal either', async () => {
  const lab = labWith((provider) => ({
    createMachine: async (request, o) => ({
      ...(await provider.createMachine(request, o)),
      id: ODD,
    }),
    getMachine: (id, o) =>
      id === ODD
        ? Promise.reject(new ProviderError('permanent', 'no answer'))
        : provider.getMachine(id, o),
  }));
  const { report } = await runLab(lab, { only: ['create'] });
  expect(report.leftBehind.map(({ id }) => id)).toContain('a\ufffd[31m\ufffd');
});
