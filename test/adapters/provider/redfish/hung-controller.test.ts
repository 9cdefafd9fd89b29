import { expect, test } from 'vitest';
import { PROVIDER, SLOT, slotFacts } from '../../../support/facts.ts';
import { createFakeShell, type FakeHost } from '../../../doubles/fake-shell.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE } from '../../../actors/tasks/recovery/stage.ts';
import { fleetOf, type Rack, startRack } from './stand.ts';

/** A silent machine is recovered; it comes up when it was reset in a way that it hears. */
async function recovered(rack: Rack, isUp: () => boolean) {
  const fleet = fleetOf(rack);
  const call = { signal: new AbortController().signal };
  const { machines } = await rack.inTime(fleet.listMachines(call));
  const hosts = new Map<string, FakeHost>();
  const stage = await createRecoveryStage((deps) => ({
    providers: new Map([[PROVIDER, fleet]]),
    shell: createFakeShell({ hosts: hosts, clock: deps.clock }),
    facts: () => {
      const known = deps.facts().get(SLOT)!;
      return new Map([[SLOT, slotFacts({ ...known, listed: machines[0]! })]]);
    },
  }));
  const { stand } = stage;
  hosts.set('127.0.0.2:1', stand.host);
  stand.host.unreachable = true;
  stage.silent(stand.host.bootId);
  const { result, ended } = stage.attempt();
  for (let minutes = 0; minutes < 60 && !ended(); minutes += 1 / 12) {
    await rack.after(5_000);
    if (isUp()) Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, 5_000);
  }
  expect(await result).toMatchObject({ outcome: 'done' });
  return { machines, recovery: stand.row().recovery };
}

const options = { entry: () => ({ ID: 'device-1' }), context: { name: PROVIDER } };

test('a silent machine behind a BMC that hangs: the BMC is restarted, then the machine is rebooted', async () => {
  const rack = await startRack({ settings: { bmcReset: true }, ...options });
  await rack.prepare();
  await rack.boot();
  await rack.after(6 * MINUTE);
  await rack.fault({ type: 'bmcHangs' });
  await rack.after(60 * MINUTE);
  const { machines, recovery } = await recovered(rack, () => rack.resets().length > 0);
  expect(machines).toMatchObject([{ id: 'device-1', controller: { hangs: true } }]);
  const posts = rack
    .sent('POST')
    .filter(({ executed }) => executed)
    .map(({ route }) => route.split('/').at(-1))
    .filter((action) => action?.endsWith('Reset'));
  expect(posts).toEqual(['Manager.Reset', 'ComputerSystem.Reset']);
  expect(recovery).toMatchObject({ rung: 'rebooting', attempts: 1 });
});

test('a machine that hangs, and whose BMC is well, is forced two minutes after the graceful reboot', async () => {
  const hooks = { down: async () => undefined, boot: async () => undefined, heeds: () => false };
  const rack = await startRack({ hooks, ...options });
  await rack.prepare();
  await rack.boot();
  await recovered(rack, () => rack.resets().includes('ForceRestart'));
  expect(rack.resets()).toEqual(['GracefulRestart', 'ForceRestart']);
  const [graceful, forced] = rack.sent('POST').filter(({ route }) => route.endsWith('.Reset'));
  expect(Math.round((forced!.atMs - graceful!.atMs) / MINUTE)).toBe(2);
});
