import type { BmdbSession } from '../../adapters/bmdb/port.ts';
import {
  explain,
  isProviderError,
  LeaseLost,
  NothingToDo,
  SessionExpired,
} from '../../domain/errors.ts';
import type { Finding, FindingAction } from '../../domain/provisioning/findings.ts';
import type { ProviderName, Witness } from '../../domain/ids.ts';
import { facetsOf } from '../../domain/provisioning/provider-facets.ts';
import { slotIdOfMachine } from '../../domain/provisioning/stock.ts';
import { countCreation, begin, providedBy, providerNamed, type ProvisionDeps } from './deps.ts';
import { restoreHolds } from './restore-holds.ts';
import type { RoundState } from './round.ts';
import { adoptFound, takeUp } from './resolve-intents.ts';

interface Under {
  readonly session: BmdbSession;
  readonly ends: AbortSignal;
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
