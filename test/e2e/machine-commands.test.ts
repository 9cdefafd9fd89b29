import { expect, test } from 'vitest';
import { fleetStatus, runGuardVerb } from '../../src/commands/machine/fleet.ts';
import { showHistory } from '../../src/commands/machine/history.ts';
import { listMachines } from '../../src/commands/machine/listing.ts';
import { showMachine } from '../../src/commands/machine/show.ts';
import { runVerb, type VerbOptions } from '../../src/commands/machine/verb.ts';
import type { Wish } from '../../src/commands/machine/verbs.ts';
import type { Slot } from '../../src/domain/ids.ts';
import { shepherd } from './commands.ts';
import { withCommandedFleet, type CommandedFleet } from './machine-fleet.ts';
import { becomesTrue, healthy } from './simulated-fleet.ts';

const MACHINES = 3;
/** What a busy machine may need to do as it is told. */
const WAIT_MS = 120_000;

test('what operators ask for is carried out by the daemon', async () => {
  await withCommandedFleet(MACHINES, async (fleet) => {
    const [first, second] = fleet.slots() as [Slot, Slot, Slot];
    const { daemon } = fleet;
    const verb = (wish: Wish, selector: VerbOptions['selector'], change: object = {}) =>
      fleet.run((means) =>
        runVerb(
          {
            wish: () => wish,
            selector,
            reason: 'a test',
            by: 'ann',
            json: false,
            waitMs: WAIT_MS,
            dryRun: false,
            yes: false,
            ...change,
          },
          means,
        ),
      );
    const on = (name: string) => ({ name });
    const stateOf = (slot: Slot) => daemon.board.entries.get(slot)?.state;

    await holdKeepsARebootAway({ verb, on, first, fleet });

    const quarantined = await verb({ verb: 'quarantine', untilMs: null }, on(second));
    expect(quarantined).toMatchObject({ exitCode: 0, text: expect.stringContaining(': done') });
    await becomesTrue(() => stateOf(second) === 'Quarantined', 'it is quarantined');
    const release = { verb: 'release', forgetHostKey: false } as const;
    expect(await verb(release, on(second))).toMatchObject({ exitCode: 0 });
    await becomesTrue(() => healthy(daemon) === MACHINES, 'all run again');

    await expect(verb(release, { all: true }, { expectCount: 2 })).rejects.toThrow(
      '3 machines are meant, not 2',
    );
    const bulk = await verb(release, { all: true }, { expectCount: 3, key: 'all' });
    expect(bulk).toMatchObject({ exitCode: 0, text: expect.stringContaining('3 in all: 3 done') });
  });
}, 600_000);

interface Scene {
  readonly verb: (
    wish: Wish,
    selector: VerbOptions['selector'],
    change?: object,
  ) => Promise<{ readonly text: string; readonly exitCode: number }>;
  readonly on: (name: string) => VerbOptions['selector'];
  readonly first: string;
  readonly fleet: CommandedFleet;
}

async function holdKeepsARebootAway({ verb, on, first, fleet }: Scene): Promise<void> {
  const { hosts } = fleet.world;
  const bootIds = () => hosts.list().map(({ bootId }) => bootId);
  const before = bootIds();
  const hold = { verb: 'hold', kind: 'no-recover', untilMs: null } as const;
  expect(await verb(hold, on(first))).toMatchObject({ exitCode: 0 });
  const refused = await verb({ verb: 'reboot', force: false }, on(first), { waitMs: WAIT_MS });
  expect(refused).toMatchObject({
    exitCode: 1,
    text: expect.stringContaining('a hold forbids it'),
  });
  expect(bootIds()).toEqual(before);
  expect(await verb({ verb: 'unhold', kind: 'no-recover' }, on(first))).toMatchObject({
    exitCode: 0,
  });
  const done = await verb({ verb: 'reboot', force: false }, on(first), { waitMs: WAIT_MS });
  expect(done).toMatchObject({ exitCode: 0, text: expect.stringContaining(': done') });
  expect(bootIds().filter((id) => !before.includes(id))).toHaveLength(1);
}

test('a machine is reinstalled, and given back for good, when an operator asks for it', async () => {
  await withCommandedFleet(2, async (fleet) => {
    const [first, second] = fleet.slots() as [Slot, Slot];
    const { daemon, world } = fleet;
    const verb = (wish: Wish, name: string) =>
      fleet.run((means) =>
        runVerb(
          {
            wish: () => wish,
            selector: { name },
            reason: 'a test',
            by: 'ann',
            waitMs: WAIT_MS,
            json: false,
            dryRun: false,
            yes: true,
          },
          means,
        ),
      );
    const showJson = async (name: string) => {
      const { text } = await fleet.run((means) => showMachine(name, true, means));
      return JSON.parse(text) as { machine: object | null; hostKeyFingerprint: string };
    };
    const before = await showJson(first);
    expect(await verb({ verb: 'reinstall' }, first)).toMatchObject({ exitCode: 0 });
    await becomesTrue(() => healthy(daemon) === 2, 'it runs again');
    const after = await showJson(first);
    expect(after.hostKeyFingerprint).toMatch(/^SHA256:/);
    expect(after.hostKeyFingerprint).not.toBe(before.hostKeyFingerprint);

    const hold = { verb: 'hold', kind: 'no-allocate', untilMs: null } as const;
    expect(await verb(hold, second)).toMatchObject({ exitCode: 0 });
    expect(await verb({ verb: 'deprovision' }, second)).toMatchObject({ exitCode: 0 });
    await becomesTrue(async () => (await showJson(second)).machine === null, 'it is given back');
    expect(world.fakequinix.devices()).toHaveLength(1);
    const { text } = await fleet.run((means) =>
      showHistory({ name: second, limit: 20, json: false }, means),
    );
    expect(text).toMatch(/ann deprovisionRequested[^]* deprovisioned/);
    await expect(verb({ verb: 'reboot', force: false }, second)).rejects.toThrow(
      /no machine is on/,
    );
  });
}, 600_000);

test('the fleet is frozen and thawed, and processes tell it with their exit codes', async () => {
  await withCommandedFleet(1, async (fleet) => {
    const guard = (verb: 'freeze' | 'thaw') =>
      fleet.run((means) =>
        runGuardVerb({ verb, reason: 'a storm', by: 'ann', json: false }, means),
      );
    expect(await guard('freeze')).toMatchObject({ exitCode: 0 });
    const { text: frozen } = await fleet.run((means) => fleetStatus(true, means));
    expect(JSON.parse(frozen)).toMatchObject({
      guard: [{ scope: 'fleet', frozen: { by: 'ann', kind: 'manual', reason: 'a storm' } }],
    });
    const { text } = await fleet.run((means) => listMachines({ json: false }, means));
    expect(text).toContain('FROZEN for the fleet');

    const process = (...args: string[]) =>
      shepherd([...args], { ...fleet.env, SHEPHERD_CONFIG: fleet.file }).ended;
    const [slot] = fleet.slots();
    const reason = ['--reason', 'a test'];
    const [order, none, many, thaw] = await Promise.all([
      process('machine', 'restart-agent', slot!, ...reason, '--wait', '1s'),
      process('machine', 'reboot', ...reason),
      process('machine', 'reboot', '--all', ...reason, '--expect-count', '7'),
      process('fleet', 'status', '--json'),
    ]);
    expect(order).toMatchObject({ code: 3, stdout: expect.stringContaining('FROZEN') });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('say which machine') });
    expect(many).toMatchObject({ code: 2, stderr: expect.stringContaining('is meant, not 7') });
    expect(JSON.parse(thaw.stdout)).toMatchObject({ daemons: [{ component: 'shepherd' }] });

    expect(await guard('thaw')).toMatchObject({ exitCode: 0 });
    await becomesTrue(async () => {
      const { text: told } = await fleet.run((means) => fleetStatus(true, means));
      return (JSON.parse(told) as { requests: unknown[] }).requests.length === 0;
    }, 'what was ordered is done');
  });
}, 600_000);
