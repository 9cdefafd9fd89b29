import { expect, test } from 'vitest';
import type { Slot } from '../../src/domain/ids.ts';
import { shepherd } from './commands.ts';
import { withCommandedFleet, type CommandedFleet } from './machine-fleet.ts';
import { becomesTrue, healthy } from './simulated-fleet.ts';

const MACHINES = 3;
/** What a busy machine may need to do as it is told. */
const WAIT_MS = 600_000;

/** By whichever door; the answer of a command line. */
type Run = CommandedFleet['command'];

const because = ['--reason', 'a test', '--wait', `${WAIT_MS / 1_000}s`];
const verbIn =
  (run: Run) =>
  (verb: string, ...args: string[]) =>
    run('machine', verb, ...args, ...because);

test('what operators ask for through the console is carried out by the daemon', async () => {
  await withCommandedFleet(MACHINES, async (fleet) => {
    const [first, second] = fleet.slots() as [Slot, Slot, Slot];
    const { daemon } = fleet;
    const verb = verbIn(fleet.command);
    const stateOf = (slot: Slot) => daemon.board.entries.get(slot)?.state;

    await holdKeepsARebootAway(verb, first, fleet);

    expect(await verb('quarantine', second)).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining(': done') },
    });
    await becomesTrue(() => stateOf(second) === 'Quarantined', 'it is quarantined');
    expect(await verb('release', second)).toMatchObject({ code: 0 });
    const wait = ['--for', 'state=Running/healthy', '--timeout', '600s'];
    expect(await fleet.command('machine', 'wait', second, ...wait)).toMatchObject({ code: 0 });
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all run again');

    expect(await verb('release', '--all', '--expect-count', '2')).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining('3 machines are meant, not 2') },
    });
    const bulk = await verb('release', '--all', '--expect-count', '3', '--key', 'all');
    expect(bulk).toMatchObject({ code: 0, stdout: expect.stringContaining('3 in all: 3 done') });
  });
}, 1_800_000);

async function holdKeepsARebootAway(
  verb: ReturnType<typeof verbIn>,
  first: string,
  fleet: CommandedFleet,
): Promise<void> {
  const { hosts } = fleet.world;
  const bootIds = () => hosts.list().map(({ bootId }) => bootId);
  const before = bootIds();
  expect(await verb('hold', first, '--kind', 'no-recover')).toMatchObject({ code: 0 });
  expect(await verb('reboot', first)).toMatchObject({
    ...{ code: 1, stdout: expect.stringContaining('a hold forbids it') },
  });
  expect(bootIds()).toEqual(before);
  expect(await verb('unhold', first, '--kind', 'no-recover')).toMatchObject({ code: 0 });
  expect(await verb('reboot', first)).toMatchObject({
    ...{ code: 0, stdout: expect.stringContaining(': done') },
  });
  expect(bootIds().filter((id) => !before.includes(id))).toHaveLength(1);
}

test('a machine is reinstalled, and given back for good, when an operator asks for it past the console', async () => {
  await withCommandedFleet(2, async (fleet) => {
    const [first, second] = fleet.slots() as [Slot, Slot];
    const { daemon, world } = fleet;
    const verb = verbIn(fleet.pastConsole);
    const shown = async (name: string) => {
      const { stdout } = await fleet.pastConsole('machine', 'show', name, '-o', 'json');
      return JSON.parse(stdout === '' ? '{}' : stdout) as {
        readonly hostKey: string;
        readonly machineId: string | null;
      };
    };
    const before = await shown(first);
    expect(await verb('reinstall', first, '--yes')).toMatchObject({ code: 0 });
    await becomesTrue(() => healthy(daemon) === 2, 'it runs again');
    const after = await shown(first);
    expect(after.hostKey).toMatch(/^AAAA/);
    expect(after.hostKey).not.toBe(before.hostKey);

    expect(await verb('deprovision', second, '--yes')).toMatchObject({ code: 0 });
    await becomesTrue(
      async () => ((await shown(second)).machineId ?? null) === null,
      'it is given back',
    );
    expect(world.fakequinix.devices()).toHaveLength(1);
    const { stdout } = await fleet.pastConsole('machine', 'history', second, '--limit', '20');
    expect(stdout).toMatch(/ deprovisionRequested[^]* deprovisioned/);
    expect(await verb('reboot', second)).toMatchObject({ code: 1 });
  });
}, 1_800_000);

test('the fleet is frozen and thawed, and processes tell it with their exit codes', async () => {
  await withCommandedFleet(1, async (fleet) => {
    const guard = (verb: 'freeze' | 'thaw') =>
      fleet.command('fleet', verb, '--reason', 'a storm', '--wait', '600s');
    expect(await guard('freeze')).toMatchObject({ code: 0 });
    expect((await fleet.pastConsole('machines')).stdout).toContain('FROZEN for the fleet');
    await becomesTrue(
      async () => (await fleet.command('machines')).stdout.includes('FROZEN for the fleet'),
      'the console says so, too',
    );

    const env = { ...fleet.env, ...fleet.consoleEnv };
    const process = (...args: string[]) => shepherd([...args], env).ended;
    const [slot] = fleet.slots();
    const reason = ['--reason', 'a test'];
    const [order, none, many, status] = await Promise.all([
      process('machine', 'restart-agent', slot!, ...reason, '--wait', '1s'),
      process('machine', 'reboot', ...reason),
      process('machine', 'reboot', '--all', ...reason, '--expect-count', '7'),
      process('fleet', 'status', '--json'),
    ]);
    expect(order).toMatchObject({ code: 3, stdout: expect.stringContaining('FROZEN') });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('say which machine') });
    expect(many).toMatchObject({ code: 2, stderr: expect.stringContaining('is meant, not 7') });
    expect(JSON.parse(status.stdout)).toMatchObject({ daemons: [{ component: 'shepherd' }] });

    expect(await guard('thaw')).toMatchObject({ code: 0 });
    await becomesTrue(async () => {
      const { stdout } = await fleet.command('fleet', 'status', '-o', 'json');
      return (JSON.parse(stdout) as { requests: unknown[] }).requests.length === 0;
    }, 'what was ordered is done');
  });
}, 1_800_000);
