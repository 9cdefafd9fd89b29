import { expect, test } from 'vitest';
import { PROVIDER, SLOT, slotFacts } from '../../../support/facts.ts';
import { createFakeShell, type FakeHost } from '../../../doubles/fake-shell.ts';
import { advance } from '../../../doubles/simulated-clock.ts';
import { createRecoveryStage, MINUTE } from '../../../actors/tasks/recovery/stage.ts';
import { fleetOf, startRack } from './stand.ts';

test('restarts a hanging BMC in front of a silent machine, then reboots the machine', async () => {
  const rack = await startRack({
    ...{ settings: { bmcReset: true }, entry: () => ({ ID: 'device-1' }) },
    context: { name: PROVIDER },
  });
  await rack.prepare();
  await rack.boot();
  await rack.after(6 * MINUTE);
  await rack.fault({ type: 'bmcHangs' });
  await rack.after(60 * MINUTE);

  const fleet = fleetOf(rack);
  const { signal } = new AbortController();
  const { machines } = await rack.inTime(fleet.listMachines({ signal }));
  expect(machines).toMatchObject([{ id: 'device-1', controller: { hangs: true } }]);
  const hosts = new Map<string, FakeHost>();
  const stage = await createRecoveryStage((deps) => ({
    providers: new Map([[PROVIDER, fleet]]),
    shell: createFakeShell({ hosts, clock: deps.clock }),
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
    const isUp = rack.resets().length > 0;
    if (isUp) Object.assign(stand.host, { bootId: 'another', unreachable: false });
    await advance(stand.clock, 5_000);
  }
  expect(await result).toMatchObject({ outcome: 'done' });
  const posts = rack
    .sent('POST')
    .filter(({ executed }) => executed)
    .map(({ route }) => route.split('/').at(-1))
    .filter((action) => action?.endsWith('Reset'));
  expect(posts).toEqual(['Manager.Reset', 'ComputerSystem.Reset']);
  expect(stand.row().recovery).toMatchObject({ rung: 'rebooting', attempts: 1 });
});
