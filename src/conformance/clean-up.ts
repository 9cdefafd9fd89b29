import { explain } from '../domain/errors.ts';
import type { ProviderMachine } from '../domain/machine.ts';
import { witnessOf } from '../domain/provisioning/provider-tags.ts';
import type { CreationEntry } from './ledger.ts';
import { destroyUntilGone, listWhole, presenceOf, straysOf } from './presence.ts';
import type { ConformanceStage } from './stage.ts';
import type { LeftBehind } from './step.ts';
import { NotInTime, pending, within } from './waiting.ts';

/** Destroys machines in parallel; returns the remaining ones. */
export async function destroyAll(
  stage: ConformanceStage,
  ids: readonly string[],
  timeoutMs: number,
): Promise<LeftBehind[]> {
  const bound = { timeoutMs };
  const ends = await Promise.allSettled(ids.map((id) => destroyUntilGone(stage, id, bound)));
  return ends.flatMap((end, at) =>
    end.status === 'fulfilled'
      ? []
      : [{ id: ids[at]!, reservationId: null, reason: explain(end.reason) }],
  );
}

export interface CleanedUp {
  readonly leftBehind: readonly LeftBehind[];
  readonly errors: readonly string[];
}

/**
 * Destroys all machines of this run, found by creation key or answered id. Waits for machines that
 * may still appear, and reports missing ones.
 */
export async function cleanUp(stage: ConformanceStage): Promise<CleanedUp> {
  const { ledger, found } = stage;
  const errors: string[] = [];
  if (!found.opened || ledger.creations.length === 0) return { leftBehind: [], errors };
  const told = (what: string) => (error: unknown) => void errors.push(`${what}: ${explain(error)}`);
  const seen: RunMachines = { slots: new Map(), witnesses: new Set() };
  await settle(stage);
  const isListed = await look(stage, seen).then(
    () => true,
    (error: unknown) => (told('machines that the test left could not be listed')(error), false),
  );
  const left = await destroySeen(stage, seen, new Set());
  if (isListed) {
    await awaitRest(stage, seen).catch(told('machines that may still appear could not be listed'));
    const before = new Set(left.map(({ id }) => id));
    left.push(...(await destroySeen(stage, seen, before)));
    const strays = others(stage, seen).catch(told('other new machines could not be listed'));
    left.push(...((await strays) ?? []));
  }
  return { leftBehind: [...left, ...openOnes(stage, seen).map(mayAppear)], errors };
}

/** What is known without calls, after a clean-up that did not end. */
export function unclean(stage: ConformanceStage): LeftBehind[] {
  const reason = 'the clean-up did not end';
  const seen: RunMachines = { slots: new Map(), witnesses: new Set() };
  const ids = answered(stage).filter(({ id }) => !stage.found.goneIds.has(id));
  for (const { id, slotId } of ids) seen.slots.set(id, slotId);
  const known = [...seen.slots].map(([id, reservationId]) => ({ id, reservationId, reason }));
  return [...known, ...openOnes(stage, seen).map(mayAppear)];
}

/** Machines of this run: slots by id, and the creation keys in listings. */
interface RunMachines {
  readonly slots: Map<string, string | null>;
  readonly witnesses: Set<string>;
}

async function others(stage: ConformanceStage, { slots }: RunMachines): Promise<LeftBehind[]> {
  const strays = await straysOf(stage, new Set(slots.keys()));
  const reason =
    'the machine appeared during the test without the mark of the test, so the test did not touch it';
  return strays.map((stray) => ({ ...stray, reason }));
}

/** Waits for pending requests, for a while. */
async function settle({ ledger, clock, patience, signal }: ConformanceStage): Promise<void> {
  const limits = { clock, signal, timeoutMs: patience.stopMs };
  const ends = Promise.all(ledger.creations.map(({ ended }) => ended));
  // A request that does not end is awaited as a machine that may still appear.
  await within('the pending requests', limits, () => ends).catch(() => undefined);
}

/** Adds machines from a complete listing and from the driver's answers. */
async function look(stage: ConformanceStage, seen: RunMachines): Promise<void> {
  for (const { id, slotId } of answered(stage)) {
    if (!seen.slots.has(id)) seen.slots.set(id, slotId);
  }
  const { machines } = await listWhole(stage, () => stage.fleet.listMachines(stage.call));
  for (const machine of machines) {
    if (!isOfRun(stage, machine)) continue;
    seen.slots.set(machine.id!, machine.reservationId);
    seen.witnesses.add(witnessOf(machine)!);
  }
}

/** A driver may answer with a foreign machine, which existed before. */
function answered({ ledger, found }: ConformanceStage) {
  return ledger.creations.flatMap(({ id, slotId }) =>
    id === null || found.before?.has(id) ? [] : { id, slotId },
  );
}

function isOfRun({ ledger }: ConformanceStage, machine: ProviderMachine): boolean {
  const mark: string | null = witnessOf(machine);
  const isMade = ledger.creations.some(({ witness }) => witness === mark);
  return machine.id !== null && machine.availability !== 'KnownUnused' && isMade;
}

async function destroySeen(
  stage: ConformanceStage,
  seen: RunMachines,
  known: ReadonlySet<string | null>,
): Promise<LeftBehind[]> {
  const present: string[] = [];
  for (const id of seen.slots.keys()) {
    if (known.has(id) || stage.found.goneIds.has(id)) continue;
    const isGone = await presenceOf(stage, id).then(
      (still) => still === null,
      () => false,
    );
    if (!isGone) present.push(id);
  }
  const left = await destroyAll(stage, present, stage.patience.cleanUpMs);
  return left.map((one) => ({ ...one, reservationId: seen.slots.get(one.id!) ?? null }));
}

/** Waits, for a while, for machines that may still appear. */
async function awaitRest(stage: ConformanceStage, seen: RunMachines): Promise<void> {
  if (openOnes(stage, seen).length === 0) return;
  const { cleanUpMs: timeoutMs, syncMs: intervalMs } = stage.patience;
  try {
    await stage.until('all pending requests', { timeoutMs, intervalMs }, async () => {
      await look(stage, seen);
      return openOnes(stage, seen).length === 0 ? true : pending('a machine may still appear');
    });
  } catch (error) {
    // A missing machine is reported by its creation key.
    if (!(error instanceof NotInTime)) throw error;
  }
}

/** Creations whose machine may still appear, one per creation key. */
function openOnes(stage: ConformanceStage, seen: RunMachines): readonly CreationEntry[] {
  const byWitness = Map.groupBy(stage.ledger.creations, ({ witness }) => witness);
  return [...byWitness].flatMap(([witness, creations]) =>
    seen.witnesses.has(witness) || creations.some((each) => isAccounted(stage, each))
      ? []
      : (creations.find((each) => mayStillMake(stage, each)) ?? []),
  );
}

/** Its machine is known, and no later listing is needed to find it. */
function isAccounted({ found, raw }: ConformanceStage, { id }: CreationEntry): boolean {
  if (id === null) return false;
  const isOld = found.before?.has(id) ?? false;
  return isOld || found.goneIds.has(id) || raw.capabilities.consistentList;
}

function mayStillMake({ raw }: ConformanceStage, { state }: CreationEntry): boolean {
  if (state === 'made') return !raw.capabilities.consistentList;
  return state !== 'refused';
}

const mayAppear = ({ witness, slotId }: CreationEntry): LeftBehind => ({
  id: null,
  reservationId: slotId,
  reason: `a machine may still appear: creation key ${witness} on slot ${slotId ?? 'unknown'}`,
});
