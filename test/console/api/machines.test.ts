import { expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createOverdueRule } from '../../../src/daemon/views/overdue.ts';
import { createStays } from '../../../src/domain/explanation/overdue.ts';
import { slot } from '../../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import { DEFAULT_LADDER } from '../../../src/domain/recovery/ladder.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { askApi, openConsole } from './console-stand.ts';

const MINUTE = 60_000;
const FLEET = [
  machine('c', { state: 'Running', substate: 'healthy', address: '127.0.0.1:2201' }),
  machine('d', { state: 'Quarantined', substate: 'needsHuman', reason: 'Disk FELL out' }),
  machine('b'),
];

interface MachinePage {
  readonly revision: number;
  readonly machines: readonly { readonly slot: string }[];
}
const ids = ({ machines }: MachinePage) =>
  machines.map(({ slot: name }) => name.replace('equinix/', ''));

test('overdue: matches machines that exceed the limit of their step and the usual time, as time passes', async () => {
  let passedMs = 0;
  const nowMs = () => AT_MS + passedMs;
  const stays = createStays();
  const seen = (provider: string, substate: string, forMs: number) => {
    for (let count = 0; count < 20; count += 1) {
      stays.note({ provider, plan: null, state: 'Recovering', substate }, forMs);
    }
  };
  seen('equinix', 'rebooting', 9 * MINUTE);
  seen('equinix', 'powerCycling', MINUTE);
  const places = {
    ...{ rebooted: 'rebooting', cycled: 'powerCycling', unmeasured: 'reinstalling' },
    resting: 'coolingDown',
  };
  const fleet = scriptedFleet(
    ...Object.entries(places).map(([id, substate]) =>
      machine(id, { state: 'Recovering', substate, sinceMs: AT_MS }),
    ),
  );
  const isOverdue = createOverdueRule({
    ...{ stays, loss: DEFAULT_LOSS, ladderOf: () => DEFAULT_LADDER },
    facts: () => new Map(),
  });
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs };
  const shown = await openConsole({ fleet: { ...fleet, nowMs, isOverdue }, clock });
  const found = async () => ids((await askApi<MachinePage>(shown, 'machines?filter=overdue')).body);
  const { rebooting, powerCycling } = DEFAULT_LADDER;
  expect([rebooting.patienceMs, powerCycling.patienceMs]).toEqual([15 * MINUTE, 15 * MINUTE]);
  passedMs = 15 * MINUTE;
  expect(await found()).toEqual([]);
  passedMs = 15 * MINUTE + 1_000;
  expect(await found()).toEqual(['cycled']);
  passedMs = 18 * MINUTE + 1_000;
  expect(await found()).toEqual(['cycled', 'rebooted']);
  fleet.set(slot('equinix', 'cycled'), { state: 'Running', substate: 'healthy' });
  expect(await found()).toEqual(['rebooted']);
});

test('changes the revision of a list when its machines change, and only then', async () => {
  const fleet = scriptedFleet(...FLEET);
  const shown = await openConsole({ fleet });
  const revision = async () =>
    (await askApi<MachinePage>(shown, 'machines?filter=state:Running')).body.revision;
  const first = await revision();
  fleet.set(slot('equinix', 'c'), { lastHeartbeatAtMs: 5 });
  fleet.set(slot('equinix', 'b'), { address: '192.0.2.1' });
  expect(await revision()).toBe(first);
  fleet.set(slot('equinix', 'b'), { state: 'Running', substate: 'healthy' });
  expect(await revision()).not.toBe(first);
});

test('gives a machine a strong ETag, and does not send it again to a caller that has it', async () => {
  const fleet = scriptedFleet(...FLEET);
  const shown = await openConsole({ fleet });
  const first = await askApi<Record<string, unknown>>(shown, 'machines/equinix/d');
  expect(first.body).toMatchObject({ slot: 'equinix/d', slotId: 'd', reason: 'Disk FELL out' });
  const etag = first.headers.get('etag')!;
  expect([first.body['etag'], etag]).toEqual([etag, expect.stringMatching(/^"[\w-]{22}"$/)]);
  const again = () => askApi(shown, 'machines/equinix/d', { 'if-none-match': `"x", ${etag}` });
  expect(await again()).toMatchObject({ status: 304, text: '' });
  fleet.set(slot('equinix', 'd'), { lastHeartbeatAtMs: 1 });
  expect((await again()).status).toBe(304);
  fleet.set(slot('equinix', 'd'), { holds: ['preserve'] });
  expect((await again()).status).toBe(200);
  expect((await askApi(shown, 'machines/equinix/z')).status).toBe(404);
});

test('limits the line of a healthy machine to 300 bytes', async () => {
  const id = '06aa1c5e-7c35-4b4e-9d3c-0a5f1c2b3d4e';
  const healthy = machine(id, {
    machineId: id,
    providerId: id,
    address: '192.0.2.117',
    state: 'Running',
    substate: 'healthy',
    lastHeartbeatAtMs: 1_764_000_000_000,
  });
  const { body } = await askApi<MachinePage>(
    await openConsole({ fleet: scriptedFleet(healthy) }),
    'machines',
  );
  expect(JSON.stringify(body.machines[0]).length).toBeLessThanOrEqual(300);
});
