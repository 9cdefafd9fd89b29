import { beforeEach, describe, expect, test } from 'vitest';
import type { TaskDeps } from '../../../src/actors/tasks/task.ts';
import type { HostKeyPolicy } from '../../../src/domain/policy.ts';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { hashOf, newSecret } from '../../../src/adapters/driver-kit/creation.ts';
import { AGENT_START_BACKOFF } from '../../../src/domain/backoff.ts';
import { Denied } from '../../../src/domain/errors.ts';
import { providerName } from '../../../src/domain/ids.ts';
import {
  INSTANCE_SECRET_PATH,
  SECRET_TAG,
} from '../../../src/domain/provisioning/provider-tags.ts';
import { backoff, device, MACHINE, provided, SLOT } from '../../support/facts.ts';
import { runStep } from '../../support/run-service.ts';
import {
  AGENT_PATH as AGENT,
  agentAnswer,
  startAgent,
  startServices,
} from '../../support/agent-start.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { advance, runOut, settled } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const BOOT_ID = 'execute cat /proc/sys/kernel/random/boot_id';
const ALL = ['connect', BOOT_ID, `upload ${AGENT}`, `execute ${AGENT}`];
const OTHER_KEY = 'b3RoZXIga2V5';

let stand: TaskStand;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  stand.host.run = (_, stdin) => agentAnswer(stdin);
});

const servicesOf = (policy?: HostKeyPolicy, change?: Partial<TaskDeps>) =>
  startServices(stand, policy, change);
const startOnStand = (policy?: HostKeyPolicy, services = servicesOf(policy)) =>
  startAgent(stand, services);

describe('an agent start', () => {
  test('runs step by step and pins the first host key', async () => {
    stand.given();
    expect(await startOnStand()).toMatchObject({ outcome: 'done', failure: null });
    expect(stand.done).toEqual(ALL);
    expect(stand.row()).toMatchObject({
      agentStarted: { publicKey: '07'.repeat(32), bootId: stand.host.bootId },
      hostKey: stand.host.hostKey,
      quarantine: null,
      startAttempt: null,
    });
  });

  describe('C7: an agent start with one program per processor', () => {
    const program = (name: string) => ({ content: Buffer.from(name), sha256: '', mode: 0o755 });
    const services = () =>
      startServices(stand, 'tofu', {
        agent: {
          file: new Map(['x64', 'arm64'].map((name) => [name, program(name)])),
          targetPath: AGENT,
        },
      });
    const on = (processor: string) => {
      stand.host.run = (argv, stdin) =>
        argv[0] === 'uname' ? { stdout: Buffer.from(`${processor}\n`) } : agentAnswer(stdin);
      stand.given();
      return startAgent(stand, services());
    };

    test.each([
      ['x86_64', 'x64'],
      ['aarch64', 'arm64'],
    ])('%s gets its own program', async (processor, name) => {
      expect((await on(processor)).outcome).toBe('done');
      expect(stand.done).toContain('execute uname -m');
      expect(stand.host.files.get(AGENT)?.content.toString()).toBe(name);
    });

    test('fails on another processor and names the missing program', async () => {
      const { outcome, failure } = await on('riscv64');
      expect(outcome).toBe('failed');
      expect(failure?.message).toMatch(/processor "riscv64".*agent\.executables.*x64, arm64/);
      expect(stand.host.files.size).toBe(0);
    });
  });

  test.each<readonly [HostKeyPolicy, string | null]>([
    ['tofu', OTHER_KEY],
    ['strict', OTHER_KEY],
    ['strict', null],
  ])('%s, %s pinned: sends a stranger nothing and quarantines it', async (policy, hostKey) => {
    stand.given({ hostKey });
    const { outcome, failure } = await startOnStand(policy);
    expect({ outcome, code: failure?.code }).toEqual({
      outcome: 'failed',
      code: 'host-key-rejected',
    });
    expect(stand.done, 'nothing is read, written or run there').toEqual(['connect']);
    expect(stand.host.files.size).toBe(0);
    expect(stand.row()).toMatchObject({
      hostKey,
      agentStarted: null,
      quarantine: { kind: 'conflict', reason: failure!.message },
    });
    await advance(stand.clock, 24 * 60 * MINUTE);
    expect((await startOnStand(policy)).failure?.code).toBe('nothing-to-do');
    expect(stand.done).toEqual(['connect']);
  });

  test.each([null, OTHER_KEY])('insecure, %s pinned: goes on and pins nothing', async (hostKey) => {
    stand.given({ hostKey });
    expect((await startOnStand('insecure')).outcome).toBe('done');
    expect(stand.row().hostKey).toBe(hostKey);
  });

  describe('a machine whose provider knows the hash of its instance secret', () => {
    const SECRET = newSecret(systemRandom);
    const READ = `execute cat ${INSTANCE_SECRET_PATH}`;
    const given = (secret: string | null) => {
      stand.given();
      stand.host.secret = secret;
      const tags = { [SECRET_TAG]: hashOf(SECRET) };
      stand.whereIs = async () => device({ address: '192.0.2.1', tags });
    };

    test('is accepted with the right secret', async () => {
      given(SECRET);
      expect(await startOnStand()).toMatchObject({ outcome: 'done' });
      expect(stand.done).toEqual(['connect', READ, ...ALL.slice(1)]);
      expect(stand.row().hostKey).toBe(stand.host.hostKey);
      expect(JSON.stringify(stand.log.lines)).not.toContain(SECRET);
    });

    test('is quarantined with a wrong secret, and nothing else runs on it', async () => {
      given(newSecret(systemRandom));
      expect((await startOnStand()).failure?.code).toBe('host-key-rejected');
      expect(stand.done).toEqual(['connect', READ]);
      expect(stand.row()).toMatchObject({
        ...{ hostKey: null, agentStarted: null },
        quarantine: { kind: 'conflict', reason: 'bad instance secret' },
      });
    });

    test('is tried again later when the secret is missing', async () => {
      given(null);
      stand.host.run = ([program], stdin) =>
        program === 'cat' ? { exitCode: 1 } : agentAnswer(stdin);
      expect((await startOnStand()).failure?.code).toBe('remote-failure');
      expect(stand.done).toEqual(['connect', READ]);
      expect(stand.row()).toMatchObject({ quarantine: null, agentStarted: null });
      stand.host.secret = SECRET;
      await advance(stand.clock, 24 * 60 * MINUTE);
      expect((await startOnStand()).outcome).toBe('done');
    });
  });

  test.each(['untagged', 'foreign'] as const)(
    'connects to no device without our mark (%s)',
    async (ownership) => {
      stand.given();
      stand.whereIs = async () => device({ address: '192.0.2.1', ownership });
      expect((await startOnStand()).failure?.code).toBe('denied');
      expect(stand.done).toEqual([]);
    },
  );
});

describe('a proved host key', () => {
  const upToVerified = async () => {
    stand.given();
    const services = await upTo('connected');
    await runStep(services, 'verifyHost').result;
    return services;
  };

  test('is pinned before the agent runs, so that a crash does not lose it', async () => {
    const services = await upToVerified();
    let known: unknown;
    stand.host.run = (_, stdin) => {
      known = stand.row();
      return agentAnswer(stdin);
    };
    await runStep(services, 'upload').result;
    await runStep(services, 'execute').result;
    expect(known).toMatchObject({ hostKey: stand.host.hostKey, agentStarted: null });
    stand.taskPool.end(SLOT);
    await settled();
    stand.host.hostKey = OTHER_KEY;
    expect((await startOnStand()).failure?.code).toBe('host-key-rejected');
    expect(stand.row().quarantine).toMatchObject({ kind: 'conflict' });
  });

  test('is not written again when it was pinned before', async () => {
    stand.given({ hostKey: stand.host.hostKey });
    const services = await upTo('connected');
    const before = stand.bmdb.tables.changes.length;
    await runStep(services, 'verifyHost').result;
    expect(stand.bmdb.tables.changes).toHaveLength(before);
  });

  test('is neither requested nor pinned under `insecure`, which is reported and counted', async () => {
    stand.given();
    await startOnStand('insecure');
    await advance(stand.clock, 1);
    expect(stand.row().hostKey).toBeNull();
    expect(
      stand.metrics.total('shepherd_ssh_insecure_connections_total', { provider: 'stub' }),
    ).toBe(1);
    expect(stand.log.count('INSECURE: host keys are not verified')).toBe(1);
    stand.given();
    await startOnStand('tofu');
    expect(stand.metrics.total('shepherd_ssh_insecure_connections_total')).toBe(1);
  });
});

describe('a machine whose provider is not configured here', () => {
  const history = () => stand.bmdb.tables.history.map(({ event }) => event);

  test('is not even claimed', async () => {
    stand.given();
    const services = servicesOf('tofu', { providers: new Map() });
    expect((await startOnStand('tofu', services)).failure?.code).toBe('nothing-to-do');
    expect(history()).toEqual([]);
  });

  test('is released without wait or attempt when only the claim shows it', async () => {
    stand.given({ provided: provided({ provider: providerName('elsewhere') }) });
    const { failure } = await startOnStand();
    expect(failure).toMatchObject({
      code: 'nothing-to-do',
      message: expect.stringContaining('elsewhere, which is not configured here') as string,
    });
    expect(history()).toEqual(['Started', 'Canceled']);
    expect(stand.row()).toMatchObject({ work: [], backoffs: [], startAttempt: null });
  });
});

describe('the wait after a failure', () => {
  const waitOf = async (failure: Error) => {
    stand.connecting = failure;
    expect((await runOut(stand.clock, startOnStand())).outcome).toBe('failed');
    const [wait] = stand.row().backoffs;
    expect(wait!.untilMs - stand.clock.now()).toBeGreaterThanOrEqual(
      wait!.lastIntervalSeconds! * 1_000,
    );
    return wait!.lastIntervalSeconds! / 60;
  };

  test('is half an hour for a refusal, whatever failed before', async () => {
    stand.given({ backoffs: [backoff('ShepherdAgentStart', 0)] });
    expect(await waitOf(new Denied('no key is good enough'))).toBe(30);
  });

  test('grows with each refusal up to the limit of all waits', async () => {
    stand.given();
    const waits = [];
    for (let at = 0; at < 15; at += 1) {
      waits.push(await waitOf(new Denied('no key is good enough')));
      await advance(stand.clock, 5 * 60 * MINUTE);
    }
    expect(waits.slice(0, 3)).toEqual([30, 36, 43.2]);
    expect(waits.at(-1)).toBe(AGENT_START_BACKOFF.maximumMs / MINUTE);
  });
});

/** The steps before `execute`, one by one. */
const upTo = async (step: 'connected' | 'verified') => {
  const services = servicesOf();
  await stand.grant('agentStart');
  await runStep(services, 'claimStart').result;
  await runStep(services, 'connect').result;
  if (step === 'verified') await runStep(services, 'verifyHost').result;
  return services;
};

test('measures the wait for a place and the work itself', async () => {
  stand.given();
  await stand.grant('agentStart');
  await advance(stand.clock, 2_000);
  const services = servicesOf();
  await runStep(services, 'claimStart').result;
  await advance(stand.clock, 3_000);
  for (const step of ['connect', 'verifyHost', 'upload', 'execute', 'recordStart'] as const) {
    await runStep(services, step).result;
  }
  const labels = { process: 'ShepherdAgentStart', result: 'finished' };
  const timed = stand.metrics.calls.filter(({ name }) => name.startsWith('shepherd_work_'));
  expect(timed).toMatchObject([
    { name: 'shepherd_work_queue_wait_seconds', labels, value: 2 },
    { name: 'shepherd_work_duration_seconds', labels, value: 3 },
  ]);
});

describe('the attempt of an agent start', () => {
  test('is recorded before the agent runs', async () => {
    let known: unknown;
    stand.host.run = (_, stdin) => {
      known = stand.row().startAttempt;
      return agentAnswer(stdin);
    };
    stand.given();
    await startOnStand();
    expect(known).toEqual({ atMs: stand.clock.now(), count: 0, unreached: 0 });
  });

  test('is not made when it cannot be recorded', async () => {
    stand.given();
    const services = await upTo('verified');
    await runStep(services, 'upload').result;
    await stand.keeper.require().releaseWork(MACHINE);
    const before = stand.done.length;
    await expect(runStep(services, 'execute').result).rejects.toMatchObject({ code: 'work-lost' });
    expect(stand.done).toHaveLength(before);
  });
});

describe('a hanging step', () => {
  const hanging = async () => {
    stand.given();
    const services = await upTo('verified');
    stand.host.hangs = 'upload';
    const run = runStep(services, 'upload');
    const state = { code: null as string | null, stop: run.stop };
    run.result.catch((error: unknown) => (state.code = (error as { code: string }).code));
    await settled();
    expect(state.code).toBeNull();
    return state;
  };

  test('ends with the session that holds the work', async () => {
    await stand.openSession(10_000);
    const run = await hanging();
    await advance(stand.clock, 10_000);
    expect(run.code).toBe('cancelled');
  });

  test('ends with that session even if a newer one exists', async () => {
    await stand.openSession(10_000);
    stand.given();
    const services = await upTo('verified');
    await advance(stand.clock, 10_000);
    await stand.openSession();
    await expect(runStep(services, 'upload').result).rejects.toMatchObject({ code: 'cancelled' });
    expect(stand.host.files.size).toBe(0);
  });

  test('ends with its actor', async () => {
    const run = await hanging();
    run.stop();
    await settled();
    expect(stand.clock.pending, 'only the session has a timer').toBe(1);
  });
});
