import { beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { hashOf, newSecret } from '../../../src/adapters/driver-kit/creation.ts';
import {
  CommandFailed,
  Denied,
  NotListening,
  ProviderError,
  TimedOut,
  Unreachable,
} from '../../../src/domain/errors.ts';
import { slot } from '../../../src/domain/ids.ts';
import type { ProviderMachine } from '../../../src/domain/machine.ts';
import { SECRET_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../../src/wire/codec.ts';
import {
  AGENT_PATH as AGENT,
  agentAnswer,
  startAgent,
  startServices,
} from '../../support/agent-start.ts';
import { device, MACHINE, PROVIDER } from '../../support/facts.ts';
import { createTaskStand, type TaskStand } from '../../support/task-stand.ts';
import { advance, runOut } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
const OTHER_KEY = 'b3RoZXIga2V5';

let stand: TaskStand;
beforeEach(async () => {
  stand = createTaskStand();
  await stand.openSession();
  stand.host.run = (_, stdin) => agentAnswer(stdin);
});

describe('the first agent start after an installation', () => {
  const SECOND = 1_000;
  const reset = () => new Unreachable('read ECONNRESET');
  test('tries SSH every few seconds while the machine boots', async () => {
    stand.given();
    const begunMs = stand.clock.now();
    stand.connecting = reset();
    const starting = startAgent(stand);
    await advance(stand.clock, 90 * SECOND);
    stand.connecting = null;
    const upMs = stand.clock.now();
    expect((await runOut(stand.clock, starting)).outcome).toBe('done');
    const startedMs = stand.clock.now();
    expect(startedMs - upMs).toBeLessThanOrEqual(5 * SECOND);
    const tries = stand.done.filter((what) => what === 'connect').length;
    expect(tries).toBe(1 + Math.ceil((startedMs - begunMs) / (5 * SECOND)));
    expect(
      stand.metrics.total('shepherd_agent_start_failures_total'),
      'nothing counts as an attempt',
    ).toBe(0);
  });

  test('delays no other machine meanwhile', async () => {
    stand.given();
    stand.connecting = reset();
    const waiting = startAgent(stand);
    await advance(stand.clock, 10 * SECOND);
    const { taskPool } = stand.deps();
    await taskPool.grant(slot(PROVIDER, 'other'), 'agentStart', new AbortController().signal);
    stand.connecting = null;
    await advance(stand.clock, 10 * SECOND);
    expect((await waiting).outcome).toBe('done');
  });

  test('is tried again within seconds when the machine boots once more', async () => {
    stand.given();
    let breaks = 1;
    stand.host.run = (_, stdin) => {
      if (breaks-- > 0) throw reset();
      return agentAnswer(stdin);
    };
    const begunMs = stand.clock.now();
    expect((await runOut(stand.clock, startAgent(stand))).outcome).toBe('failed');
    const [wait] = stand.row().backoffs;
    await advance(stand.clock, wait!.untilMs + 1 - stand.clock.now());
    expect((await runOut(stand.clock, startAgent(stand))).outcome).toBe('done');
    expect(stand.row().agentStarted!.atMs - begunMs).toBeLessThan(15 * SECOND);
  });

  test('ends with the usual wait when SSH does not answer within five minutes', async () => {
    stand.given();
    stand.connecting = reset();
    const failing = startAgent(stand);
    await advance(stand.clock, 6 * MINUTE);
    expect((await failing).outcome).toBe('failed');
    const [wait] = stand.row().backoffs;
    expect(wait?.lastIntervalSeconds).toBe(5 * 60);
    expect(stand.row().startAttempt).toMatchObject({ count: 1, unreached: 1 });
  });
});

describe('an agent that needs Node', () => {
  const BOOT_ID = 'execute cat /proc/sys/kernel/random/boot_id';
  const VERSION = 'execute /usr/bin/env node --version';
  const content = Buffer.from('#!/usr/bin/env node\nstart();');
  const services = () =>
    startServices(stand, 'tofu', {
      agent: { file: { content, sha256: '', mode: 0o755 }, targetPath: AGENT },
    });
  const onMachineWith = (node: () => { readonly stdout: Buffer }) => {
    stand.host.run = (argv, stdin) => (argv[1] === 'node' ? node() : agentAnswer(stdin));
    stand.given();
    return startAgent(stand, services());
  };
  const failing = (exitCode: number, text: string) => () => {
    const [stdout, stderr] = [Buffer.alloc(0), Buffer.from(text)];
    throw new CommandFailed(`exit code ${exitCode}`, { exitCode, stdout, stderr });
  };

  test.each(['v20.16.0', 'v24.1.0', 'v26.0.0-nightly'])('is started by %s', async (version) => {
    const stdout = Buffer.from(`${version}\n`);
    expect((await onMachineWith(() => ({ stdout }))).outcome).toBe('done');
    const started = [`upload ${AGENT}`, `execute ${AGENT}`];
    expect(stand.done).toEqual(['connect', BOOT_ID, VERSION, ...started]);
  });

  test.each([
    ['none', failing(127, '/usr/bin/env: ‘node’: No such file or directory\n'), /there is none/],
    ['v18', () => ({ stdout: Buffer.from('v18.20.4\n') }), /there is v18\.20\.4/],
    ['v20.15', () => ({ stdout: Buffer.from('v20.15.1\n') }), /there is v20\.15\.1/],
  ])(
    'D11: fails before any upload on a machine with %s, and the failure names Node',
    async (_, node, text) => {
      const { outcome, failure } = await onMachineWith(node);
      expect({ outcome, code: failure?.code }).toEqual({
        outcome: 'failed',
        code: 'not-implemented',
      });
      expect(failure?.message).toMatch(/^needs Node 20\.16 or later on the machine/);
      expect(failure?.message).toMatch(text);
      expect(failure?.message).toContain('agent.executablePath');
      expect(stand.done).toEqual(['connect', BOOT_ID, VERSION]);
      expect(stand.host.files.size).toBe(0);
      const [wait] = stand.row().backoffs;
      expect(wait?.cause).toBe(failure?.message);
      expect(wait!.untilMs - stand.clock.now()).toBeGreaterThanOrEqual(30 * MINUTE);
    },
  );

  test('is started when the machine’s answer is unclear', async () => {
    expect((await onMachineWith(failing(127, 'sh: /usr/bin/env: not found'))).outcome).toBe('done');
  });
});

describe('failures of an agent start', () => {
  const SECRET_TAGS = { [SECRET_TAG]: hashOf(newSecret(systemRandom)) };
  const PROVIDER_AWAY = 'the provider cannot be asked';
  const NEVER_REACHED = ['nobody listens', 'nobody answers', PROVIDER_AWAY, 'it has no address'];
  const connecting = (error: Error) => () => void (stand.connecting = error);
  const at = (machine: Partial<ProviderMachine>) => () =>
    void (stand.whereIs = async () => device({ address: '192.0.2.1', ...machine }));
  const runs = (run: TaskStand['host']['run']) => () => void (stand.host.run = run);
  const hangs = (step: 'upload' | 'execute') => () => void (stand.host.hangs = step);
  /** An agent that answers with a changed request. */
  const says = (change: object, key = Buffer.alloc(32, 7)) =>
    runs((_, stdin) => {
      const initMessage = { ...takeoverInitCodec.decode(stdin), ...change };
      return { stdout: takeoverResponseCodec.encode({ success: { initMessage, key } }) };
    });
  const nonsense = Buffer.from('hello');
  const failed = takeoverResponseCodec.encode({ error: { message: 'no room' } });
  const unasked = () => Promise.reject(new ProviderError('transient', 'no provider'));
  const secretless = () => {
    at({ tags: SECRET_TAGS })();
    stand.host.run = () => ({ exitCode: 1 });
    stand.given();
  };
  type FailureRow = readonly [string, () => void, string, boolean, number, string | null];
  /** Class, whether the guard may suspect our own fault, wait in minutes, quarantine. */
  test.each<FailureRow>([
    ['nobody listens', connecting(new NotListening('refused')), 'connect', true, 5, null],
    ['nobody answers', connecting(new TimedOut('handshake')), 'connect', true, 5, null],
    ['our keys are refused', connecting(new Denied('no key is good')), 'auth', true, 30, null],
    [PROVIDER_AWAY, () => void (stand.whereIs = unasked), 'connect', false, 5, null],
    ['it has no address', at({ address: null }), 'connect', false, 5, null],
    ['the device is not ours', at({ ownership: 'foreign' }), 'connect', false, 30, null],
    ['another host', () => void (stand.host.hostKey = OTHER_KEY), 'hostkey', false, 5, 'conflict'],
    ['it cannot show its secret yet', secretless, 'hostkey', false, 5, null],
    ['the upload hangs', hangs('upload'), 'upload', false, 5, null],
    ['its system hangs', hangs('execute'), 'hostkey', false, 5, null],
    ['the agent does not start', runs(() => ({ exitCode: 126 })), 'execute', false, 5, null],
    ['it says nonsense', runs(() => ({ stdout: nonsense })), 'protocol', false, 5, null],
    ['the agent failed', runs(() => ({ stdout: failed })), 'protocol', false, 5, null],
    ['it is about another machine', says({ machineId: 'another' }), 'protocol', false, 5, null],
    // Nobody told it so.
    ['C2: it throws its system away', says({ throwAway: true }), 'protocol', false, 5, null],
    ['its key is too short', says({}, Buffer.alloc(31, 7)), 'protocol', false, 5, null],
  ])('%s', async (name, begins, cls, isOurs, minutes, quarantine) => {
    stand.given({ hostKey: stand.host.hostKey });
    const { bootId } = stand.host;
    begins();
    const failing = startAgent(stand);
    await advance(stand.clock, 10 * MINUTE);
    expect((await failing).outcome).toBe('failed');
    expect(stand.metrics.total('shepherd_agent_start_failures_total')).toBe(1);
    expect(stand.metrics.total('shepherd_agent_start_failures_total', { class: cls })).toBe(1);
    const machine = stand.bmdb.tables.machines.get(MACHINE)!;
    expect(machine.unreachableSinceMs !== null).toBe(isOurs);
    expect(stand.row().backoffs[0]?.lastIntervalSeconds).toBe(minutes * 60);
    expect(stand.row().quarantine?.kind ?? null).toBe(quarantine);
    expect(stand.host.bootId).toBe(bootId);
    const { count, unreached } = stand.row().startAttempt!;
    expect(count).toBe(1);
    expect(unreached, 'C4: what came to it is an attempt on it').toBe(
      Number(NEVER_REACHED.includes(name)),
    );
  });

  test.each([
    ['says nothing of it', undefined],
    ['keeps it', false],
    ['says so', true],
  ] as const)(
    'C2: tells the agent that its system may be erased only where the provider %s',
    async (_, throwAway) => {
      const { throwAway: _usual, ...others } = stand.capabilities;
      stand.capabilities = { ...others, ...(throwAway !== undefined && { throwAway }) };
      const told: unknown[] = [];
      stand.host.run = (_command, stdin) => {
        if (stdin.length > 0) told.push(takeoverInitCodec.decode(stdin).throwAway ?? false);
        return agentAnswer(stdin);
      };
      stand.given();
      expect((await startAgent(stand)).outcome).toBe('done');
      expect(told).toEqual([throwAway === true]);
    },
  );

  test('reports warnings of a started agent and keeps them in its history', async () => {
    stand.host.run = (_, stdin) => {
      const initMessage = takeoverInitCodec.decode(stdin);
      const success = { initMessage, key: Buffer.alloc(32, 7), warning: ['no log file'] };
      return { stdout: takeoverResponseCodec.encode({ success }), stderr: Buffer.from('hm') };
    };
    stand.given();
    expect((await startAgent(stand)).outcome).toBe('done');
    const told = stand.log.lines.find(({ message }) => message === 'agent started');
    expect(told?.fields['warnings']).toEqual(['no log file']);
    expect(stand.log.count('the agent wrote to standard error')).toBe(1);
    const kept = stand.bmdb.tables.events.find(({ kind }) => kind === 'agentStarted');
    expect(kept?.reason).toBe('no log file');
  });
});
