import { PROVIDER } from '../support/facts.ts';
import { targetOf } from '../contracts/requests-of.ts';
import type { RequestedThing } from '../../src/adapters/bmdb/port.ts';
import { SET_ID_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import type { Simulation } from './simulation.ts';

/** Ends every fault, repairs all hardware, and does what an operator does on the morning after. */
export async function heal(simulation: Simulation, pass: (ms: number) => Promise<void>) {
  const { world, daemons, recorder } = simulation;
  recorder.note('everything is healed');
  world.bmdb.tables.reachable = true;
  world.provider.account.faults.clear();
  for (const daemon of daemons) {
    daemon.faults.clear();
    daemon.played?.resume();
  }
  for (const [address, host] of world.hosts) {
    host.repair();
    host.bootMs = null;
    host.hangs = undefined;
    host.refusesKey = false;
    if (host.unreachable) world.boot(address.replace(/:22$/, ''));
  }
  for (const { id, tags } of world.provider.account.world.devices()) {
    // Strangers' devices and those that nobody looks for any more are taken away by their owners.
    if (tags[SET_ID_TAG] === undefined) world.provider.remove(id, { withReservation: false });
  }
  await pass(20 * 60_000);
  for (const round of [1, 2]) {
    await decideAll(simulation, round);
    await pass(10 * 60_000);
  }
}

/** Whatever a person must decide is decided so that the fleet may be whole again. */
async function decideAll({ world }: Simulation, round: number): Promise<void> {
  const { tables, requests } = world.bmdb;
  const things: RequestedThing[] = [
    { verb: 'thaw', scope: 'fleet' },
    { verb: 'thaw', scope: PROVIDER },
  ];
  for (const hold of tables.holds) {
    const target = { provider: hold.provider, slotId: hold.slotId, machineId: null };
    things.push({ verb: 'unhold', target, kind: hold.kind });
  }
  for (const { provider, kind } of tables.providerHolds.values()) {
    things.push({ verb: 'clear-provider', provider, hold: kind, shelf: [] });
  }
  const shelf = [...tables.penalties.values()].map(({ slotId }) => slotId);
  if (shelf.length > 0) {
    things.push({ verb: 'clear-provider', provider: PROVIDER, hold: null, shelf });
  }
  for (const { row } of tables.machines.values()) {
    if (!row.provided) continue;
    const target = targetOf(row);
    if (row.quarantine) things.push({ verb: 'release', target, forgetHostKey: true });
    if (row.backoffs.length > 0) things.push({ verb: 'clear-backoff', target });
  }
  for (const [at, what] of things.entries()) {
    const key = `morning ${round} ${at}`;
    await requests
      .file({ key, by: 'ann', reason: 'the morning after', what })
      // Who asks for what is not there any more has nothing left to do.
      .catch(() => undefined);
  }
}

/** What is not as it must be in a fleet that has been healed for a while. */
export function leftOver({ world, daemons }: Simulation): string[] {
  const { tables } = world.bmdb;
  const found: string[] = [];
  for (const { row, permitGrantedAtMs, leases } of tables.machines.values()) {
    const name = `${row.machineId} on ${row.provided?.reservationId}`;
    if (permitGrantedAtMs !== null) found.push(`${name} holds a permit`);
    for (const { process } of leases) found.push(`${name} is worked on by ${process}`);
    if (row.quarantine) found.push(`${name} is quarantined: ${row.quarantine.reason}`);
  }
  for (const { key, verb, state } of tables.requests.values()) {
    if (state === 'open') found.push(`request ${key} (${verb}) is open`);
  }
  for (const { witness, state } of tables.intents.values()) {
    if (state === 'open' || state === 'unresolved') found.push(`intent ${witness} is ${state}`);
  }
  const slots = world.provider.reservationIds().length;
  for (const { name, played } of daemons) {
    if (!played) found.push(`${name} does not run`);
    const entries = [...(played?.daemon.board.entries.values() ?? [])];
    const places = Map.groupBy(entries, ({ state, substate }) => `${state} ${substate}`);
    if (places.get('Running healthy')?.length === slots) continue;
    const shown = [...places].map(([place, { length }]) => `${length} ${place}`).join(', ');
    found.push(`${name} does not see all ${slots} healthy: ${shown}`);
  }
  return found;
}
