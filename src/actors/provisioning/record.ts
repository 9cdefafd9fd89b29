import pLimit from 'p-limit';
import type { BmdbSession } from '../../adapters/bmdb/port.ts';
import {
  LeaseLost,
  NothingToDo,
  SessionExpired,
  explain,
  isProviderError,
} from '../../domain/errors.ts';
import { slot as slotName, type Witness } from '../../domain/ids.ts';
import type { IntentRow, ProviderMachine } from '../../domain/machine.ts';
import { isIdle, type Finding, type FindingAction } from '../../domain/provisioning/findings.ts';
import { holdsMeantBy, taggedBehaviour } from '../../domain/provisioning/provider-tags.ts';
import { facetsOf, throttleOf } from '../../domain/provisioning/provider-holds.ts';
import { slotIdOfMachine } from '../../domain/provisioning/stock.ts';
import { countCreation, providedBy, type Iteration } from './deps.ts';

/** Order of writes: adoptions first, so that no found device is given up; doubts come last. */
const ORDER: readonly FindingAction[] = [
  'adopt',
  'markPresent',
  'confirmMissing',
  'markAbsent',
  'noteEmpty',
  'noteGap',
  'drop',
  'abandon',
  'assimilate',
];

/** Time limit of the last search before a machine counts as missing. */
const READ_MS = 60_000;

/**
 * Writes an iteration's findings to the BMDB. A failure with one machine does not affect the
 * others; only the loss of session or job ends the iteration.
 */
export async function recordFindings(at: Iteration): Promise<void> {
  const { findings } = at.state;
  for (const action of ORDER) {
    for (const finding of findings) {
      if (finding.action === action) await recordOne(at, finding);
    }
  }
  tellStrangers(at);
}

async function recordOne(at: Iteration, finding: Finding): Promise<void> {
  try {
    await ACTS[finding.action](at, finding);
  } catch (error) {
    if (error instanceof SessionExpired || error instanceof LeaseLost || at.ends.aborted) {
      throw error;
    }
    const { slot, action } = finding;
    at.deps.log.warn({ slot, action, cause: explain(error) }, 'a finding could not be recorded');
  }
}

type Act = (at: Iteration, finding: Finding) => Promise<void>;

const ACTS: Readonly<Record<FindingAction, Act>> = {
  none: async () => undefined,

  adopt: (at, { device, intent }) => adopt(at, intent!, device!),

  markPresent: async ({ deps, session }, { slot, row, device }) => {
    const isBack = row!.provided!.status === 'Missing';
    await session.updateProvided(row!.machineId, {
      absent: false,
      ...(isBack && { status: device!.status ?? 'Unknown' }),
    });
    if (isBack) deps.log.info({ slot, machine: row!.machineId }, 'a missing machine is back');
  },

  markAbsent: async ({ deps, session }, { slot, row, reason }) => {
    await session.updateProvided(row!.machineId, { absent: true });
    deps.log.warn({ slot, machine: row!.machineId, reason }, 'a machine is not listed');
  },

  confirmMissing: async (at, { slot, row }) => {
    const { deps, session } = at;
    const { machineId, provided } = row!;
    if (await isThere(at, provided!.providerId)) {
      await session.updateProvided(machineId, { absent: false });
      return;
    }
    await session.updateProvided(machineId, { absent: true, status: 'Missing' });
    const state = row!.agentStarted ? 'Running' : 'Provisioned';
    deps.metrics.count('shepherd_instances_disappeared', { state });
    deps.log.error({ slot, machine: machineId }, 'the provider no longer knows a machine');
  },

  noteEmpty: async ({ session }, { intent }) => {
    const { witness } = await takeUp(session, intent!);
    await session.intents.progress(witness, { empty: true });
  },

  noteGap: async ({ session }, { intent }) => {
    const { witness } = await takeUp(session, intent!);
    await session.intents.progress(witness, { empty: false });
  },

  drop: async ({ deps, session }, { slot, intent, reason }) => {
    const { witness, provider } = await takeUp(session, intent!);
    await session.intents.end(witness, { state: 'abandoned', cause: reason });
    countCreation(deps, provider, 'abandoned');
    deps.log.info({ slot, reason }, 'a creation that was never requested is dropped');
  },

  abandon: async (at, { slot, intent, reason }) => {
    if (intent!.attempts > 0 && (await settle(at, intent!))) return;
    const { deps, session } = at;
    const { witness, provider } = await takeUp(session, intent!);
    const { penaltyMs } = deps.limits;
    await session.intents.end(witness, { state: 'abandoned', cause: reason, penaltyMs });
    countCreation(deps, provider, 'abandoned');
    deps.log.warn({ slot }, 'an unfinished creation is abandoned');
  },

  assimilate: async (at, { slot, device, intent: begun }) => {
    const { deps, state, session, ends, name: provider, provider: driver } = at;
    // A listing may be older than the rows, so that a device counts only in two listings.
    if (!state.orphansBefore.has(device!.id!)) return;
    const slotId = slotIdOfMachine(device!);
    const hostname = device!.hostname ?? driver.hostnameFor(slotId);
    const { lease } = state;
    try {
      const { witness } = begun
        ? await takeUp(session, begun)
        : await session.intents.open({ provider, slotId, hostname, lease });
      const ours = await driver
        .assimilate(device!.id!, witness, { signal: ends })
        .catch((error: unknown) => endRefused(error, witness, at));
      await restoreHolds(at, { provider, slotId, witness, device: ours });
      await session.intents.adopt(witness, providedBy(provider, slotId, ours));
    } catch (error) {
      if (!(error instanceof NothingToDo)) throw error;
      deps.log.info({ slot, cause: explain(error) }, 'a device must not be taken over');
      return;
    }
    deps.log.warn({ slot, device: device!.id }, 'an orphan is taken over');
  },
};

/** Records that the device is unchanged, so that it may be retried at once. @throws the error. */
async function endRefused(
  error: unknown,
  witness: Witness,
  { session, ends }: Iteration,
): Promise<never> {
  if (facetsOf(error).outcome === 'not-done' && !ends.aborted) {
    await session.intents.end(witness, { state: 'failed', cause: explain(error) });
  }
  throw error;
}

/** @throws {ProviderError} the provider could not be asked. */
async function isThere(
  { deps, name, provider, ends: signal }: Iteration,
  id: string,
): Promise<boolean> {
  try {
    const { status } = await deps.holds.guard(name, 'get', () =>
      provider.getMachine(id, { signal, timeoutMs: READ_MS }),
    );
    return status !== 'Missing';
  } catch (error) {
    if (isProviderError(error, 'not-found')) return false;
    throw error;
  }
}

/** Logs each orphan once, and the number of other owners' devices once. */
function tellStrangers({ deps, state, name: provider }: Iteration): void {
  const orphans = state.findings.filter((each) => each.case === 'orphan' || each.case === 'failed');
  for (const { slot, device, reason } of orphans) {
    const id = device!.id!;
    if (state.toldOrphans.has(id) || !state.orphansBefore.has(id)) continue;
    state.toldOrphans.add(id);
    deps.log.warn(
      { slot, device: id, reason },
      'a device has our name, and no record refers to it',
    );
  }
  state.orphansBefore = new Set(orphans.map(({ device }) => device!.id!));
  for (const id of state.toldOrphans) {
    if (!state.orphansBefore.has(id)) state.toldOrphans.delete(id);
  }
  const foreign = state.findings.filter((each) => each.case === 'foreign').length;
  if (foreign === 0 || state.isForeignTold) return;
  state.isForeignTold = true;
  deps.log.info({ provider, devices: foreign }, 'devices of other owners are left alone');
}

/** A device to adopt, and its slot. */
interface Adoption extends Pick<IntentRow, 'provider' | 'slotId' | 'witness'> {
  readonly device: ProviderMachine;
}

/**
 * Restores the holds that a device's tags name, before the adoption allows work on it. Safe to
 * repeat; not repeated once an operator removed the holds.
 */
async function restoreHolds(
  { deps: { bmdb, log }, session }: Iteration,
  { provider, slotId, witness, device }: Adoption,
): Promise<void> {
  const behaviour = taggedBehaviour(device.tags);
  const reason = `its device was tagged ${behaviour} when it was adopted`;
  for (const kind of holdsMeantBy(behaviour)) {
    const target = { provider, slotId, machineId: null };
    const what = { verb: 'hold', target, kind, untilMs: null } as const;
    const key = `adopted ${witness} ${kind}`;
    await bmdb.requests.submit({ key, by: 'shepherd', reason, what });
    await session.applyRequest(key);
    log.info({ slot: slotName(provider, slotId), device: device.id, kind }, 'hold restored');
  }
}

/** Simultaneous searches; each has a time limit, so that a hanging search delays little. */
const AT_ONCE = 3;
const SEARCH_MS = 60_000;

/**
 * Searches for the devices of unfinished creations without a session, by creation key and without
 * caches, and records existing ones. A creation that was never requested has no device. Reads rows
 * only if the last read showed such a creation, or may be older than our lease.
 */
export async function resolveIntents(at: Iteration): Promise<void> {
  const { deps, creations, name, state, session, ends } = at;
  // Nothing can be planned, so that a call to the provider is useless.
  if (throttleOf(deps.holds.holds(name), 'list', deps.nowMs())) return;
  const mark = creations.mark();
  const idleOf = (intents: readonly IntentRow[]): readonly IntentRow[] => {
    const running = creations.witnessesSince(name, mark);
    return intents.filter(
      (intent) =>
        intent.provider === name &&
        intent.attempts > 0 &&
        isIdle({ running, self: session.sessionId }, intent),
    );
  };
  const isJobNew = state.settledEpoch !== state.lease.epoch;
  const known = isJobNew ? null : deps.mirror.intents();
  if (!known || idleOf(known).length > 0) {
    const { intents } = await deps.mirror.readFleet(ends);
    const limit = pLimit(AT_ONCE);
    const results = await Promise.allSettled(
      idleOf(intents).map((intent) => limit(() => resolve(at, intent))),
    );
    const fatal = results.find((result) => result.status === 'rejected');
    if (fatal) throw fatal.reason;
  }
  state.settledEpoch = state.lease.epoch;
}

/** A failure with one intent does not affect the others. @throws {SessionExpired} */
async function resolve(at: Iteration, intent: IntentRow): Promise<void> {
  try {
    await settle(at, intent);
  } catch (error) {
    if (error instanceof SessionExpired) throw error;
    const fields = { slot: slotOf(intent), cause: explain(error) };
    at.deps.log.warn(fields, 'the result of an unfinished creation is unknown for now');
  }
}

/** Searches the device of an unfinished creation and records the result; false: not found. */
async function settle(at: Iteration, found: IntentRow): Promise<boolean> {
  const { deps, name, provider, session, ends: signal } = at;
  try {
    const device = await deps.holds.guard(name, 'get', () =>
      provider.findByWitness(found.witness, found.slotId, { signal, timeoutMs: SEARCH_MS }),
    );
    if (device) await adopt(at, found, device);
    return device !== null;
  } catch (error) {
    if (!isProviderError(error, 'race-lost')) throw error;
    const intent = await takeUp(session, found);
    await session.intents.end(intent.witness, { state: 'failed', cause: explain(error) });
    countCreation(deps, name, 'race_lost');
    deps.log.warn({ slot: slotOf(intent), cause: explain(error) }, 'another party took the slot');
    return true;
  }
}

/** Records the device of an unfinished creation. */
async function adopt(at: Iteration, found: IntentRow, device: ProviderMachine): Promise<void> {
  const { deps, session } = at;
  const intent = await takeUp(session, found);
  const { witness, provider, slotId, machineId } = intent;
  await restoreHolds(at, { ...intent, device });
  await session.intents.adopt(witness, providedBy(provider, slotId, device));
  countCreation(deps, provider, 'adopted');
  const fields = { slot: slotOf(intent), machine: machineId, device: device.id };
  deps.log.info(fields, 'the device of an unfinished creation is recorded');
}

/** Takes over the intent of a dead session. @throws {WorkConflict} */
const takeUp = async (session: BmdbSession, intent: IntentRow): Promise<IntentRow> =>
  intent.sessionId === session.sessionId ? intent : session.intents.resume(intent.witness);

const slotOf = ({ provider, slotId }: IntentRow): string => slotName(provider, slotId);
