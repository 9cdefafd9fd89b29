import { expect, test } from 'vitest';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import { INSTANCE_SECRET_PATH } from '../../src/domain/provisioning/provider-tags.ts';
import { ProviderError, Unreachable } from '../../src/domain/errors.ts';
import { STEPS } from '../../src/conformance/steps.ts';
import { labWith, runLab } from './lab.ts';
import { badIn, outcomes, resultOf, skippedIn } from './stand.ts';

test('a driver passes every step that it supports', async () => {
  const { exitCode, report } = await runLab({}, { command: 'cat' });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(report).toMatchObject({ passed: true, leftBehind: [], cleanUpErrors: [] });
  expect(report.steps.map(({ id }) => id)).toEqual(STEPS.map(({ id }) => id));
  expect(skippedIn(report)).toEqual({
    existing: 'the driver makes machines',
    claims: 'the driver keeps nothing of its machines on record',
    'claims-dropped': 'the driver keeps nothing of its machines on record',
    pause: 'no --pause was given; ssh -p PORT root@192.0.2.1',
  });
});

test('a proof that a booting machine breaks off is asked for again, of the first system and of the new one', async () => {
  const broken = new Set<string>();
  const overShell = (shell: RemoteShell): RemoteShell => ({
    async connect(target, signal) {
      const session = await shell.connect(target, signal);
      return {
        ...session,
        async execute(argv, stdin, signal) {
          if (argv.includes(INSTANCE_SECRET_PATH) && !broken.has(session.hostKey)) {
            broken.add(session.hostKey);
            throw new Unreachable('the connection was closed');
          }
          return session.execute(argv, stdin, signal);
        },
      };
    },
  });
  const { report } = await runLab({}, { only: ['host-key', 'reinstall'] }, { overShell });
  expect(badIn(report)).toEqual([]);
  expect(outcomes(report)).toMatchObject({ 'host-key': 'passed', reinstall: 'passed' });
  expect(broken.size, 'each system broke off once').toBe(2);
});

test('with means of its own it vouches for host keys', async () => {
  const { report } = await runLab({ without: [] }, { only: ['host-key'] });
  expect(badIn(report)).toEqual([]);
  expect(report.steps.at(-1)!.message).toBe('the provider knows the key');
});

test('what it refuses is skipped, and said to be refused', async () => {
  const without = ['hostKey', 'reboot', 'reinstall', 'power', 'tags'] as const;
  const { exitCode, report } = await runLab({ without });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toMatchObject({
    'tag-changes': 'not supported, and refuses so: tags',
    reboot: 'not supported, and refuses so: reboot',
    power: 'not supported, and refuses so: power',
    reinstall: 'not supported, and refuses so: reinstall',
  });
  expect(outcomes(report)).toMatchObject({ destroy: 'passed', stop: 'passed' });
});

test('a machine that alone cannot be switched is skipped, and what waits long says what for', async () => {
  const noButton = new ProviderError('not-implemented', 'server 7 has no button');
  const lab = labWith(() => ({
    setPower: () => Promise.reject(noButton),
    rebootMachine: async () => ({ operationRef: 'reboot' }),
  }));
  const told: string[] = [];
  const minute = 60_000;
  const { report } = await runLab(
    lab,
    { only: ['reboot', 'power'], timeoutMs: 60 * minute },
    {
      patience: { bootMs: minute, probeMs: 3_000, syncMs: 3_000, rebootMs: 40_000, callMs: minute },
      warn: (text) => void told.push(text),
    },
  );
  expect(skippedIn(report)['power']).toBe(
    'not supported by this machine, and refused so: server 7 has no button',
  );
  expect(outcomes(report)['reboot']).toBe('failed');
  expect(told.join('')).toMatch(
    /^reboot, for \d+s: waits for another boot id; last: the boot id is the same\n/,
  );
});

test('what may do harm is tried only where that is allowed', async () => {
  const { exitCode, report } = await runLab({}, { allowDestructive: false });
  expect(exitCode).toBe(0);
  expect(skippedIn(report)).toMatchObject({
    power: 'needs --allow-destructive',
    reinstall: 'needs --allow-destructive',
  });
  expect(outcomes(report)['reboot'], 'the machine is the test’s own').toBe('passed');
});

test('a driver that cannot destroy passes, and what is left is told', async () => {
  const { exitCode, report } = await runLab({ without: ['hostKey', 'deprovision'] });
  expect(badIn(report)).toEqual([]);
  expect(exitCode).toBe(3);
  expect(report.leftBehind).toMatchObject([{ reason: expect.stringContaining('deprovision') }]);
  expect(outcomes(report)).toMatchObject({ destroy: 'skipped', stop: 'passed' });
});

test('provider vector 20: a reboot that is ignored is forced', async () => {
  const faults = [{ fault: 'reboot-ignored', calls: [1] }] as const;
  const { report } = await runLab({ faults }, { only: ['reboot'] });
  expect(badIn(report)).toEqual([]);
  expect(resultOf(report, 'reboot').message).toMatch(/^force, /);
});

test('provider vector 22: a destruction is asked for again while the machine is listed', async () => {
  const faults = [{ fault: 'destroy-listed', calls: [1, 2], amount: 40 }] as const;
  const patience = { syncMs: 1_000, destroyMs: 600_000, callMs: 60_000, cleanUpMs: 60_000 };
  const options = { only: ['destroy-again'], timeoutMs: 3_600_000 };
  const { report } = await runLab({ faults }, options, { patience });
  expect(badIn(report)).toEqual([]);
  // 40 listings take some 40 s: again after 10 s, and after 30 s.
  expect(resultOf(report, 'destroy').message).toBe('asked 2 times more');
});

test('a creation that does not end with the stop of its driver is told', async () => {
  const lab = labWith((provider) => ({
    createMachine: async (request, o) => {
      if (calls === 0) {
        calls += 1;
        return provider.createMachine(request, o);
      }
      await request.onAttempt({ attempts: 1, ambiguous: false });
      return new Promise(() => undefined);
    },
  }));
  let calls = 0;
  const stuck = await runLab(lab, { only: ['stop', 'reusable'] });
  expect(resultOf(stuck.report, 'stop')).toMatchObject({
    outcome: 'failed',
    message: 'a creation did not end within 500ms',
  });
});
