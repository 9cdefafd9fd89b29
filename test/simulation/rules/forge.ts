import { machineId, slot } from '../../../src/domain/ids.ts';
import type { LadderRow, MachineRow, Process } from '../../../src/domain/machine.ts';
import { SET_ID_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import { newMachine, patch } from '../../doubles/mem-bmdb/tables.ts';
import { machineRow, PROVIDER, provided } from '../../support/facts.ts';
import { createPlayedWorld } from '../../support/played-world.ts';
import { createRecorder } from '../recorder.ts';
import { watchRules } from './index.ts';
import { MINUTE } from './rule.ts';

/** A world in which a test does what daemons must never do. */
export async function forge() {
  const world = createPlayedWorld({
    ...{ locations: { hall: 4 }, seed: 1, hasPool: true },
    config: {
      conditions: { 'disk-failing': 'drain' },
      replacement: { maxPerDay: 1 },
      windows: { noon: { at: '12:00', for: '1h' } },
    },
    ofProvider: { target: 1, acceptance: { memoryGiB: 64, required: true } },
  });
  const { clock, bmdb, provider } = world;
  const { tables } = bmdb;
  const recorder = createRecorder(world);
  const said: string[] = [];
  const daemons = new Map<string, object>();
  const scene = {
    ...{ world, recorder },
    daemons: () => [...daemons].map(([name, daemon]) => ({ name, played: daemon as never })),
  };
  recorder.listen(watchRules(scene, (rule, detail) => said.push(`${rule}: ${detail}`)));
  const [slotId] = provider.reservationIds();
  const id = machineId('eeeeeeee-0000-4000-8000-000000000001');
  const device = provider.world.add({
    ...{ reservationId: slotId!, hostname: 'a', initCommand: '', publicKey: '', fate: 'up' },
    ...{ tags: { [SET_ID_TAG]: world.config.providers[PROVIDER]!.instanceSetId }, isUp: true },
  });
  const hardware = provided({ providerId: device.id, reservationId: slotId!, location: 'hall' });
  const machine = newMachine(machineRow({ machineId: id, provided: hardware }));
  tables.machines.set(id, machine);
  const ask = (
    by: string,
    path: string,
    args: readonly unknown[] = [],
    run: () => unknown = () => {},
  ) => recorder.of(by).around({ path, args }, async () => run());
  const session = await recorder
    .of('a')
    .around({ path: 'bmdb.openSession', args: [] }, () =>
      bmdb.openSession({ component: 'a', runtimeInfo: '', intervalMs: 1e8 }),
    );
  const { sessionId } = session as { sessionId: never };
  const row = (change: Partial<MachineRow>) => patch(machine, change);
  const heard = (agoMs: number) =>
    row({
      agentStarted: { atMs: clock.now() - agoMs, publicKey: '', bootId: null },
      heartbeat: { atMs: clock.now() - agoMs, bootId: null },
    });
  const ladder = (change: Partial<LadderRow>) =>
    row({
      recovery: {
        ...{ rung: 'rebooting', attempts: 1, nextAtMs: null, askedAtMs: clock.now() },
        ...{ askedRung: 'rebooting', orderKey: null, operationRef: null, bootIdBefore: null },
        ...{ hostKeyBefore: null, offSeenAtMs: null, powerOffAskedAtMs: null, ...change },
      },
    });
  let epoch = 0;
  const lease = (process: Process) => {
    epoch += 1;
    const work = { machineId: id, process, sessionId, epoch: String(epoch) };
    machine.leases = [{ ...work, startedAtMs: clock.now() }];
  };
  const hold = (kind: 'no-recover' | 'preserve' | 'no-allocate' | 'retired') =>
    void (tables.holds = [
      { provider: PROVIDER, slotId: slotId!, kind, setBy: 'ann', reason: '', untilMs: null },
    ]);
  /** Passes minute after minute, and shows daemon `a` at work in each. */
  const pass = async (minutes: number) => {
    for (let at = 0; at < 2 * minutes; at += 1) {
      clock.increment(MINUTE / 2);
      await ask('a', 'bmdb.session.poke');
      recorder.look();
    }
  };
  const freeze = (kind: 'manual' | 'silence' | null) =>
    void tables.guard.rows.set('fleet', {
      ...tables.guard.rows.get('fleet')!,
      frozen: kind && { atMs: 1, by: 'ann', kind, reason: '', untilMs: null },
    });
  const daemon = (name: string, shown: object, next: object = {}, more = {}, counts = {}) =>
    daemons.set(name, {
      isAlive: true,
      log: { lines: [] },
      ...more,
      daemon: {
        board: { entries: new Map([[slot(PROVIDER, slotId!), shown]]), counts: () => counts },
        insight: { glance: () => ({ blockedBy: [], next: { work: null, atMs: null }, ...next }) },
      },
    });
  recorder.look();
  return {
    ...{ world, tables, machine, said, ask, row, heard, ladder, lease, hold, pass, freeze, daemon },
    ...{ device, recorder, sessionId, slotId: slotId! },
  };
}
export type Forged = Awaited<ReturnType<typeof forge>>;
