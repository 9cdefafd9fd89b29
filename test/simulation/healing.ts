import { PROVIDER } from '../support/facts.ts';
import { targetOf } from '../contracts/requests-of.ts';
import type { RequestedThing } from '../../src/adapters/bmdb/port.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { installState } from '../../src/domain/eligibility.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { explain } from '../../src/domain/errors.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import type { Simulation } from './simulation.ts';
import { MEMORY_GIB } from './strikes/repairs.ts';
import { addressOf } from './targets.ts';

const MINUTE = 60_000;
/** Rounds of decisions, because some decisions become possible only after an earlier one. */
const ROUNDS_MAX = 4;

/** Ends every fault, repairs all hardware, and does what an operator does the next morning. */
export async function heal(simulation: Simulation, pass: (ms: number) => Promise<void>) {
  const { world, daemons, recorder } = simulation;
  recorder.note('everything is healed');
  world.bmdb.tables.reachable = true;
  world.bmdb.tables.wakes$.next('reconnected');
  world.balancer?.cutOff(false);
  world.balancer?.forgiveFaults();
  for (const object of world.balancer?.held.values() ?? []) object.sessions = 0;
  for (const daemon of daemons) {
    daemon.faults.clear();
    daemon.played?.resume();
    world.deafen(daemon.name, false);
    world.setClock(daemon.name, 0);
  }
  healHosts(simulation);
  healProvider(simulation);
  await clearConditions(simulation);
  const { world: hardware } = world.provider;
  const unfinished = hardware.devices().filter(({ upAtMs }) => upAtMs === null);
  await pass(20 * MINUTE);
  // Removes installations that never end. All other installations have ended by now.
  for (const { id } of unfinished) if (hardware.device(id)?.upAtMs === null) hardware.remove(id);
  for (let round = 1; round <= ROUNDS_MAX && leftOver(simulation).length > 0; round += 1) {
    await decideAll(simulation, round);
    for (let at = 0; at < 20 && leftOver(simulation).length > 0; at += 1) await pass(MINUTE);
  }
}

/** Each source takes back what it said. */
const clearConditions = ({ world: { bmdb } }: Simulation) =>
  bmdb.conditions.report(
    [...bmdb.tables.conditions.values()].map(({ sinceMs: _, expiresAtMs: __, ...row }) => ({
      ...{ ...row, status: 'False', reason: 'all is well' },
      ...{ machineId: null, validForMs: null },
    })),
  );

function healHosts(simulation: Simulation): void {
  const { hosts, boot } = simulation.world;
  for (const host of hosts.values()) {
    host.repair();
    host.endImpersonation();
    Object.assign(host, { bootMs: null, hangs: undefined, refusesKey: false });
    Object.assign(host, { calls: {}, installs: 'Success', conditions: [], memoryGiB: MEMORY_GIB });
    if (host.unreachable) boot(addressOf(simulation, host)!);
  }
}

/** Removes or powers on devices that cannot become our machines again, as their owner would. */
function healProvider({ world: { provider, bmdb, config } }: Simulation): void {
  const { faults, world } = provider;
  const { machines, intents } = bmdb.tables;
  const witnesses = [...intents.values()].flatMap(({ state, witness }) =>
    state === 'open' ? [String(witness)] : [],
  );
  const known = new Set([...machines.values()].map(({ row }) => row.provided?.providerId));
  faults.clear();
  provider.hung.clear();
  provider.powerUnknown.clear();
  for (const device of world.devices()) {
    const { id, tags, failed, power, status, upAtMs } = device;
    const isOurs =
      tags[SET_ID_TAG] === config.providers[PROVIDER]!.instanceSetId &&
      (known.has(id) || witnesses.includes(tags[WITNESS_TAG]!));
    if (!isOurs || failed || status === 'Missing') world.remove(id);
    else if (power === 'off' && upAtMs !== null) world.power(id, 'on');
    else if (upAtMs !== null) world.change(id, { status: 'Running', leaving: null, stale: null });
  }
}

const isUnaccepted = ({ acceptance }: MachineRow): boolean =>
  acceptance !== null && acceptance.state !== 'passed';

/** Closes all cases, and ends what a person has paused. */
async function endRepairs({ tables, cases, rolls }: MemBmdb): Promise<void> {
  for (const { caseId, closedAtMs } of tables.cases) {
    if (closedAtMs === null) await cases.close(caseId, { by: 'ann', outcome: 'all is well' });
  }
  for (const { id, state } of tables.rolls.values()) {
    if (state === 'paused') await rolls.control(id, 'abort', 'ann');
  }
}

/** Makes every decision that waits for a person, in favour of a healthy fleet. */
async function decideAll({ world, recorder }: Simulation, round: number): Promise<void> {
  const { tables, requests } = world.bmdb;
  await endRepairs(world.bmdb);
  const api = { pool: 'api', balancer: null };
  const things: RequestedThing[] = [
    { verb: 'thaw', scope: 'fleet' },
    { verb: 'thaw', scope: PROVIDER },
    ...(world.balancer
      ? ([
          { verb: 'resume-pool', ...api },
          { verb: 'thaw-pool', ...api },
        ] as const)
      : []),
  ];
  for (const hold of tables.holds) {
    const target = { provider: hold.provider, slotId: hold.slotId, machineId: null };
    const { kind } = hold;
    things.push(
      kind === 'retired' ? { verb: 'unretire', target } : { verb: 'unhold', target, kind },
    );
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
    if (row.quarantine && row.quarantine.cause !== 'retired')
      things.push({ verb: 'release', target, forgetHostKey: true });
    // A machine that is missing, or that runs a foreign image, makes room for a new machine.
    const isGone = row.missing !== null || row.provided.status === 'Missing';
    if (isGone || installState(row) === 'DONE') {
      things.push({ verb: 'deprovision', target, returnToPool: true, drain: 'skip' });
    } else {
      if (row.backoffs.length > 0) things.push({ verb: 'clear-backoff', target });
      if (installState(row) !== 'NONE') things.push({ verb: 'cancel-install', target });
      if (isUnaccepted(row)) things.push({ verb: 'accept', target });
    }
  }
  for (const [at, what] of things.entries()) {
    const key = `morning ${round} ${at}`;
    await requests
      .submit({ key, by: 'ann', reason: 'the morning after', what })
      .catch((error: unknown) => recorder.note(`refused ${what.verb}: ${explain(error)}`));
  }
}

/** Lists every fault of a fleet that should be healthy again. */
export function leftOver(simulation: Simulation): string[] {
  const { world, daemons } = simulation;
  const { tables } = world.bmdb;
  const found: string[] = [];
  for (const { row, permitGrantedAtMs, leases } of tables.machines.values()) {
    const complaints = [
      ...complaintsOf(row, simulation),
      ...leases.map(({ process }) => `is worked on by ${process}`),
      ...(permitGrantedAtMs === null ? [] : ['holds a permit']),
    ];
    const name = `${row.machineId} on ${row.provided?.reservationId}`;
    found.push(...complaints.map((complaint) => `${name} ${complaint}`));
  }
  const known = new Set([...tables.machines.values()].map(({ row }) => row.provided?.providerId));
  const devices = world.provider.world.devices();
  for (const { id } of devices) if (!known.has(id)) found.push(`device ${id} has no row`);
  for (const { key, verb, state } of tables.requests.values()) {
    if (state === 'open') found.push(`request ${key} (${verb}) is open`);
  }
  for (const { witness, state } of tables.intents.values()) {
    if (state === 'open' || state === 'unresolved') found.push(`intent ${witness} is ${state}`);
  }
  for (const { id, state, note } of tables.rolls.values()) {
    if (['running', 'paused'].includes(state)) found.push(`roll ${id} is ${state}: ${note}`);
  }
  for (const { slotId, kind } of tables.holds) found.push(`${slotId} is held: ${kind}`);
  for (const { kind, key } of tables.providerHolds.values()) {
    found.push(`the provider is held: ${kind} ${key}`);
  }
  for (const { pool, state, reason } of tables.pools.values()) {
    if (state !== 'settled') found.push(`pool ${pool} is ${state}: ${reason}`);
  }
  for (const { slotId, cause } of tables.penalties.values()) {
    found.push(`${slotId} is in cooldown: ${cause}`);
  }
  const slots = world.provider.reservationIds().length;
  /** A provider with a target leaves slots free. */
  const isFull = (healthy: number, free: number) =>
    healthy + free === slots && free <= simulation.plan.spares;
  for (const { name, played } of daemons) {
    if (!played) found.push(`${name} does not run`);
    const entries = [...(played?.daemon.board.entries.values() ?? [])];
    const places = Map.groupBy(entries, ({ state, substate }) => `${state} ${substate}`);
    const [healthy, free] = ['Running healthy', 'Reserved available'].map(
      (place) => places.get(place)?.length ?? 0,
    );
    if (isFull(healthy!, free!) && entries.length === slots) continue;
    const shown = [...places].map(([place, { length }]) => `${length} ${place}`).join(', ');
    found.push(`${name} does not see all ${slots} healthy: ${shown}`);
  }
  return found;
}

/** Checks that the machine's own device sends its heartbeats, and that nothing is wrong. */
function complaintsOf(row: MachineRow, { world, clock }: Simulation): string[] {
  const { provided, heartbeat, quarantine, order, deprovision, missing, recovery } = row;
  const device = world.provider.world.device(provided?.providerId ?? '');
  const host = world.hosts.get(`${provided?.address}:22`);
  const silentMs = clock.now() - (heartbeat?.atMs ?? 0);
  const complaints = {
    'has no device': !device,
    'is not on its device': device?.reservationId !== provided?.reservationId,
    'has another address': !device?.addresses.includes(provided?.address ?? ''),
    [`is silent for ${silentMs} ms`]: silentMs > 2 * DEFAULT_LOSS.periodMs,
    [`has ${host?.agents} agents`]: host?.agents !== 1,
    [`is quarantined: ${quarantine?.reason}`]: quarantine,
    [`is to be given back`]: deprovision,
    'is missing': missing,
    [`is not accepted: ${row.acceptance?.reason}`]: isUnaccepted(row),
    [`has the order ${order?.key}`]: order,
    [`is on the rung ${recovery?.rung}`]: recovery,
    [`does not serve`]: world.balancer && row.members.some(({ state }) => state !== 'active'),
    'serves nowhere': world.balancer && row.members.length === 0,
  };
  return Object.entries(complaints).flatMap(([complaint, isSo]) => (isSo ? [complaint] : []));
}
