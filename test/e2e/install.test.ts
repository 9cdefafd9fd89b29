import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { serve, startImageServer } from '../agent/install/image-server.ts';
import { shepherd } from './commands.ts';
import { withCommandedFleet, type CommandedFleet } from './machine-fleet.ts';
import { becomesTrue, healthy } from './simulated-fleet.ts';

const MIB = 1024 * 1024;
const DISK_BYTES = 8 * MIB;
/** More than one block of the writer, and no multiple of anything. */
const IMAGE = randomBytes(5 * MIB + 123);

const sha256 = (content: Uint8Array) => createHash('sha256').update(content).digest('hex');

/** The command as a person would type it; the console is in the environment. */
const typed = async (fleet: CommandedFleet, ...args: string[]) => {
  const { code, stdout, stderr } = await shepherd(['machine', ...args], fleet.consoleEnv).ended;
  // Long lines are wrapped at a place that does not matter here.
  return { code, said: `${stdout}${stderr}`.replaceAll(/\n {5,}/g, ' ') };
};

const install = (fleet: CommandedFleet, slot: string, url: string, hash: string) => {
  const image = ['--image-url', url, '--sha256', hash, '--root-device', 'name=vda'];
  const who = ['--reason', 'to its owner', '--yes'];
  return typed(fleet, 'install', slot, ...image, ...who);
};

const hostOf = ({ world, daemon }: CommandedFleet, slot: string) => {
  const device = daemon.board.entries.get(slot as never)?.view.providerId;
  return world.hosts.list().find(({ deviceId }) => deviceId === device)!;
};
const shownAs = ({ daemon }: CommandedFleet, slot: string) => {
  const entry = daemon.board.entries.get(slot as never);
  return `${entry?.state} ${entry?.substate}`;
};

test('B6: installs an image by the agent, reboots the machine, and then leaves it alone', async () => {
  const images = await startImageServer(serve(IMAGE));
  const run = async (fleet: CommandedFleet) => {
    const [slot, bystander] = fleet.slots() as readonly string[] as [string, string];
    const before = hostOf(fleet, slot);
    const disk = () => readFileSync(join(before.root, 'dev/vda'));

    const wrong = sha256(Buffer.from('another image'));
    expect(await install(fleet, slot, images.url, wrong)).toMatchObject({ code: 0 });
    await becomesTrue(
      async () => (await typed(fleet, 'show', slot)).said.includes('its agent says'),
      'the agent says why not',
    );
    const { said: refused } = await typed(fleet, 'show', slot);
    expect(refused).toMatch(/install +FAILED: requested generation 1, reported 1; handed out/);
    expect(refused).toContain(`the image has SHA-256 ${sha256(IMAGE)}, not ${wrong}`);
    expect(images.requests, 'it was fetched').toHaveLength(1);
    expect(disk().equals(Buffer.alloc(DISK_BYTES)), 'the disk is as it was').toBe(true);
    expect(shownAs(fleet, slot)).toBe('Running healthy');
    expect(hostOf(fleet, slot), 'it is not rebooted').toEqual(before);

    expect(await install(fleet, slot, images.url, sha256(IMAGE))).toMatchObject({ code: 0 });
    await becomesTrue(() => shownAs(fleet, slot) === 'HandedOver installed', 'it is handed over');
    expect(disk().subarray(0, IMAGE.length).equals(IMAGE), 'the image is on the disk').toBe(true);
    expect(disk()).toHaveLength(DISK_BYTES);
    await becomesTrue(() => hostOf(fleet, slot).bootId !== before.bootId, 'it is rebooted');
    await becomesTrue(() => hostOf(fleet, slot).up, 'it is up again');
    const after = hostOf(fleet, slot);
    expect(after).toMatchObject({ agents: 0, seen: { boots: before.seen.boots + 1 } });

    await staysAlone(fleet, slot, bystander);
    expect(hostOf(fleet, slot), 'nothing was done to it').toEqual(after);
    expect(await typed(fleet, 'reboot', slot, '--reason', 'x', '--wait', '20s')).toMatchObject({
      code: 1,
      said: expect.stringContaining('REFUSED: it was handed over'),
    });
    await tellsIt(fleet, slot);
  };
  await withCommandedFleet(2, run, { diskBytes: DISK_BYTES });
}, 1_800_000);

/** It fell silent before another machine, which is recovered. */
async function staysAlone(fleet: CommandedFleet, slot: string, bystander: string): Promise<void> {
  const { world, daemon } = fleet;
  const other = hostOf(fleet, bystander);
  await world.hosts.loseAgent(other.deviceId);
  await becomesTrue(() => daemon.board.recoveries() > 0, 'the other one is recovered');
  await becomesTrue(() => hostOf(fleet, bystander).agents > 0, 'its agent is started again');
  await becomesTrue(() => healthy(daemon) === 1, 'it runs again');
  expect(daemon.board.recoveries(), 'and no other one').toBe(1);
  expect(shownAs(fleet, slot)).toBe('HandedOver installed');
  expect(world.emulator.devices()).toHaveLength(2);
  expect(world.emulator.violations()).toEqual([]);
}

async function tellsIt(fleet: CommandedFleet, slot: string): Promise<void> {
  const { said: shown } = await typed(fleet, 'show', slot);
  expect(shown).toMatch(/state +HandedOver/);
  expect(shown).toMatch(/install +DONE: requested generation 2, reported 2; handed out/);
  const { said: history } = await typed(fleet, 'history', slot, '--limit', '100');
  const told = history
    .split('\n')
    .filter((line) => / (installRequested|installHandedOut|installReported)/.test(line))
    .map((line) => line.replace(/^\S+ \S+ +/, ''));
  expect(told).toEqual([
    expect.stringMatching(/^token:ann installRequested/),
    expect.stringMatching(/installHandedOut.*generation 1/),
    expect.stringMatching(/installReported.*generation 1.*SHA-256/),
    expect.stringMatching(/^token:ann installRequested/),
    expect.stringMatching(/installHandedOut.*generation 2/),
    expect.stringMatching(/installReported.*generation 2.*Success/),
  ]);
}
