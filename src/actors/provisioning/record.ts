import pLimit from 'p-limit';
import type { BmdbSession } from '../../adapters/bmdb/port.ts';
import {
  LeaseLost,
  NothingToDo,
  SessionExpired,
  explain,
  isProviderError,
} from '../../domain/errors.ts';
import { slot as slotName, type ProviderName, type Witness } from '../../domain/ids.ts';
import type { IntentRow, ProviderMachine } from '../../domain/machine.ts';
import { isIdle, type Finding, type FindingAction } from '../../domain/provisioning/findings.ts';
import { holdsMeantBy, taggedBehaviour } from '../../domain/provisioning/provider-tags.ts';
import { facetsOf } from '../../domain/provisioning/provider-holds.ts';
import { slotIdOfMachine } from '../../domain/provisioning/stock.ts';
import type { Creations } from './creations.ts';
import {
  begin,
  countCreation,
  providedBy,
  providerNamed,
  type ProvisionDeps,
  type RoundState,
} from './deps.ts';

interface Held {
  readonly session: BmdbSession;
  readonly ends: AbortSignal;
}
interface Under extends Held {
  readonly provider: ProviderName;
}

/** The order of writing: adoptions first, so that no device found is given up; doubts come last. */
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

/** Longest time of the last search before a machine is called missing. */
const READ_MS = 60_000;

/**
 * Writes what an iteration found into the BMDB. What goes wrong with one machine keeps nothing from
 * the others; only the loss of session or job ends the iteration.
 */
export async function recordFindings(
  deps: ProvisionDeps,
  state: RoundState,
  provider: ProviderName,
  signal: AbortSignal,
): Promise<void> {
  const under: Under = { ...begin(deps, signal), provider };
  const { findings } = state;
  for (const action of ORDER) {
    for (const finding of findings) {
      if (finding.action === action) await recordOne(deps, state, finding, under);
    }
  }
  tellStrangers(deps, state, provider);
}

async function recordOne(
  deps: ProvisionDeps,
  state: RoundState,
  finding: Finding,
  under: Under,
): Promise<void> {
  try {
    await ACTS[finding.action](deps, state, finding, under);
  } catch (error) {
    if (error instanceof SessionExpired || error instanceof LeaseLost || under.ends.aborted) {
      throw error;
    }
    const { slot, action } = finding;
    deps.log.warn({ slot, action, cause: explain(error) }, 'a finding could not be recorded');
  }
}

type Act = (
  deps: ProvisionDeps,
  state: RoundState,
  finding: Finding,
  under: Under,
) => Promise<void>;

const ACTS: Readonly<Record<FindingAction, Act>> = {
  none: async () => undefined,

  adopt: async (deps, _state, { slot, device, intent }, { session }) => {
    const { witness, provider, slotId, machineId } = await takeUp(session, intent!);
    await restoreHolds(deps, { provider, slotId, witness, device: device! }, session);
    await session.intents.adopt(witness, providedBy(provider, slotId, device!));
    countCreation(deps, provider, 'adopted');
    const fields = { slot, machine: machineId, device: device!.id };
    deps.log.info(fields, 'the device of an unfinished creation is recorded');
  },

  markPresent: async (deps, _state, { slot, row, device }, { session }) => {
    const isBack = row!.provided!.status === 'Missing';
    await session.updateProvided(row!.machineId, {
      absent: false,
      ...(isBack && { status: device!.status ?? 'Unknown' }),
    });
    if (isBack) deps.log.info({ slot, machine: row!.machineId }, 'a missing machine is back');
  },

  markAbsent: async (deps, _state, { slot, row, reason }, { session }) => {
    await session.updateProvided(row!.machineId, { absent: true });
    deps.log.warn({ slot, machine: row!.machineId, reason }, 'a machine is not listed');
  },

  confirmMissing: async (deps, _state, { slot, row }, { session, ends, provider }) => {
    const { machineId, provided } = row!;
    if (await isThere(deps, provider, provided!.providerId, ends)) {
      await session.updateProvided(machineId, { absent: false });
      return;
    }
    await session.updateProvided(machineId, { absent: true, status: 'Missing' });
    const state = row!.agentStarted ? 'Running' : 'Provisioned';
    deps.metrics.count('shepherd_instances_disappeared', { state });
    deps.log.error({ slot, machine: machineId }, 'the provider no longer knows a machine');
  },

  noteEmpty: async (_deps, _state, { intent }, { session }) => {
    const { witness } = await takeUp(session, intent!);
    await session.intents.progress(witness, { empty: true });
  },

  noteGap: async (_deps, _state, { intent }, { session }) => {
    const { witness } = await takeUp(session, intent!);
    await session.intents.progress(witness, { empty: false });
  },

  drop: async (deps, _state, { slot, intent, reason }, { session }) => {
    const { witness, provider } = await takeUp(session, intent!);
    await session.intents.end(witness, { state: 'abandoned', cause: reason });
    countCreation(deps, provider, 'abandoned');
    deps.log.info({ slot, reason }, 'a creation that was never asked for is dropped');
  },

  abandon: async (deps, _state, { slot, intent, reason }, under) => {
    if (intent!.attempts > 0 && (await adoptFound(deps, intent!, under))) return;
    const { witness, provider } = await takeUp(under.session, intent!);
    const { penaltyMs } = deps.limits;
    await under.session.intents.end(witness, { state: 'abandoned', cause: reason, penaltyMs });
    countCreation(deps, provider, 'abandoned');
    deps.log.warn({ slot }, 'an unfinished creation is abandoned');
  },

  assimilate: async (deps, state, { slot, device, intent: begun }, under) => {
    const { session, ends, provider } = under;
    // A listing may be older than the rows, so a device is believed when two listings show it.
    if (!state.orphansBefore.has(device!.id!)) return;
    const driver = providerNamed(deps, provider);
    const slotId = slotIdOfMachine(device!);
    const hostname = device!.hostname ?? driver.hostnameFor(slotId);
    const { lease } = state;
    try {
      const { witness } = begun
        ? await takeUp(session, begun)
        : await session.intents.open({ provider, slotId, hostname, lease });
      const ours = await driver
        .assimilate(device!.id!, witness, { signal: ends })
        .catch((error: unknown) => endRefused(error, witness, under));
      await restoreHolds(deps, { provider, slotId, witness, device: ours }, session);
      await session.intents.adopt(witness, providedBy(provider, slotId, ours));
    } catch (error) {
      if (!(error instanceof NothingToDo)) throw error;
      deps.log.info({ slot, cause: explain(error) }, 'a device must not be taken over');
      return;
    }
    deps.log.warn({ slot, device: device!.id }, 'a device that nothing referred to is taken over');
  },
};

/** Notes that nothing was done to the device, which may be tried again at once. @throws the error. */
async function endRefused(
  error: unknown,
  witness: Witness,
  { session, ends }: Under,
): Promise<never> {
  if (facetsOf(error).outcome === 'not-done' && !ends.aborted) {
    await session.intents.end(witness, { state: 'failed', cause: explain(error) });
  }
  throw error;
}

/** @throws {ProviderError} it could not be asked. */
async function isThere(
  deps: ProvisionDeps,
  provider: ProviderName,
  id: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { status } = await deps.holds.guard(provider, 'get', () =>
      providerNamed(deps, provider).getMachine(id, { signal, timeoutMs: READ_MS }),
    );
    return status !== 'Missing';
  } catch (error) {
    if (isProviderError(error, 'not-found')) return false;
    throw error;
  }
}

/** Logs each orphan once, and once how many devices are of other owners. */
function tellStrangers(deps: ProvisionDeps, state: RoundState, provider: ProviderName): void {
  const orphans = state.findings.filter((each) => each.case === 'orphan' || each.case === 'failed');
  for (const { slot, device, reason } of orphans) {
    const id = device!.id!;
    if (state.toldOrphans.has(id) || !state.orphansBefore.has(id)) continue;
    state.toldOrphans.add(id);
    deps.log.warn({ slot, device: id, reason }, 'a device is ours by name and unknown to us');
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

/** A device that is about to be adopted, and where. */
export interface Adoption {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly witness: Witness;
  readonly device: ProviderMachine;
}

/**
 * Puts the holds on a slot that the tags of its device tell of, before the device is adopted: from
 * then on somebody may work on it. Safe to repeat, and not repeated once an operator took them away.
 */
export async function restoreHolds(
  { bmdb, log }: Pick<ProvisionDeps, 'bmdb' | 'log'>,
  { provider, slotId, witness, device }: Adoption,
  session: BmdbSession,
): Promise<void> {
  const behaviour = taggedBehaviour(device.tags);
  const reason = `its device was tagged ${behaviour} when it was adopted`;
  for (const kind of holdsMeantBy(behaviour)) {
    const target = { provider, slotId, machineId: null };
    const what = { verb: 'hold', target, kind, untilMs: null } as const;
    const key = `adopted ${witness} ${kind}`;
    await bmdb.requests.file({ key, by: 'shepherd', reason, what });
    await session.settle(key);
    log.info({ slot: slotName(provider, slotId), device: device.id, kind }, 'hold restored');
  }
}

/** Searches at the same time; each has a time limit, so that one that hangs delays little. */
const AT_ONCE = 3;
const SEARCH_MS = 60_000;

/**
 * Looks for the devices of unfinished creations that nobody works on, by their witness and past all
 * caches, and records those that exist. One that was never asked for has no device. Rows are read for
 * that only where the last read showed such a creation, or may be older than our having the job.
 */
export async function resolveIntents(
  deps: ProvisionDeps,
  creations: Pick<Creations, 'mark' | 'witnessesSince'>,
  provider: ProviderName,
  under: Held & { readonly isJobNew: boolean },
): Promise<void> {
  const mark = creations.mark();
  const idleOf = (intents: readonly IntentRow[]): readonly IntentRow[] => {
    const running = creations.witnessesSince(provider, mark);
    return intents.filter(
      (intent) =>
        intent.provider === provider &&
        intent.attempts > 0 &&
        isIdle({ running, self: under.session.sessionId }, intent),
    );
  };
  const known = under.isJobNew ? null : deps.mirror.intents();
  if (known && idleOf(known).length === 0) return;
  const { intents } = await deps.mirror.readFleet(under.ends);
  const limit = pLimit(AT_ONCE);
  const results = await Promise.allSettled(
    idleOf(intents).map((intent) => limit(() => resolve(deps, intent, under))),
  );
  const fatal = results.find(
    (result) => result.status === 'rejected' && result.reason instanceof SessionExpired,
  );
  if (fatal?.status === 'rejected') throw fatal.reason;
}

/** Whatever goes wrong with one intent keeps no other from being resolved. */
async function resolve(deps: ProvisionDeps, intent: IntentRow, under: Held): Promise<void> {
  try {
    await adoptFound(deps, intent, under);
  } catch (error) {
    if (error instanceof SessionExpired) throw error;
    const fields = { slot: slotOf(intent), cause: explain(error) };
    deps.log.warn(fields, 'an unfinished creation cannot be settled now');
  }
}

/** Records the device of an unfinished creation, if there is one. */
async function adoptFound(
  deps: ProvisionDeps,
  found: IntentRow,
  { session, ends }: Held,
): Promise<void> {
  const provider = providerNamed(deps, found.provider);
  const call = { signal: ends, timeoutMs: SEARCH_MS };
  try {
    const device = await deps.holds.guard(found.provider, 'get', () =>
      provider.findByWitness(found.witness, found.slotId, call),
    );
    if (!device) return;
    const intent = await takeUp(session, found);
    await restoreHolds(deps, { ...intent, device }, session);
    await session.intents.adopt(intent.witness, providedBy(intent.provider, intent.slotId, device));
    countCreation(deps, intent.provider, 'adopted');
    deps.log.info(
      { slot: slotOf(intent), machine: intent.machineId, device: device.id },
      'the device of an unfinished creation is recorded',
    );
  } catch (error) {
    if (!isProviderError(error, 'race-lost')) throw error;
    const intent = await takeUp(session, found);
    await session.intents.end(intent.witness, { state: 'failed', cause: explain(error) });
    countCreation(deps, intent.provider, 'race_lost');
    deps.log.warn({ slot: slotOf(intent), cause: explain(error) }, 'the slot was lost to another');
  }
}

/** Makes the intent ours, if it is of a dead session. @throws {WorkConflict} */
const takeUp = async (session: BmdbSession, intent: IntentRow): Promise<IntentRow> =>
  intent.sessionId === session.sessionId ? intent : session.intents.resume(intent.witness);

export const slotOf = ({ provider, slotId }: IntentRow): string => `${provider}/${slotId}`;
