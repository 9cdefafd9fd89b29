import type { BoardEntry } from '../../actors/fleet-state.ts';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import { ladderOf } from '../../config.ts';
import type { LiveMachine, MachineInsight } from '../../console/views.ts';
import { isHeld } from '../../domain/eligibility.ts';
import { ladderStatus } from '../../domain/explanation/ladder-status.ts';
import { explanationOf, ALL_MEANS } from '../../domain/explanation/explanation.ts';
import { hasPast, pastOf } from '../../domain/explanation/places.ts';
import { queueOf, type Queue } from '../../domain/explanation/queue.ts';
import type { Explanation } from '../../domain/explanation/types.ts';
import type { MachineId, Slot } from '../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../domain/machine.ts';
import { meansOf, type MachineMeans } from '../../domain/recovery/rungs.ts';
import type { MachineState } from '../../domain/states.ts';
import { viewOf, type MachineView, type Moment } from '../../domain/view.ts';
import { drawingOf } from '../../console/charts/layout.ts';
import { liveIn } from '../../machines/shown.ts';
import type { DaemonParts } from '../parts.ts';
import { waitingRows } from './guard-insight.ts';

/** Log lines searched for the start of a machine's state. */
const LINES_MAX = 200;

/** Explains machines' states and actors from this daemon's knowledge. */
export interface Explainer extends MachineInsight {
  /**
   * From memory alone: cheap enough for each row of a window. Null: the slot is unknown.
   * @param queue the machine's position among those that wait for a permit; absent: looked up.
   */
  glance(slot: Slot, queue?: Queue | null): Explanation | null;
}

type Past = ReturnType<typeof pastOf>;
const NO_PAST: Past = { seenSinceMs: null, quarantinedBy: null };

export function createExplainer(parts: DaemonParts): Explainer {
  const { bmdb, board, config, finder, keeper, loss, mirror, permits, planner, providers } = parts;
  const { stays, watch, guardPolicy: guard } = parts;
  const moment = () => ({ nowMs: mirror.nowMs(), loss, guard, providers });

  /** Null: the provider is unknown here. */
  const meansFor = (facts: SlotFacts): MachineMeans | null => {
    const { capabilities } = providers.get(facts.provider) ?? {};
    return capabilities ? meansOf(capabilities, facts) : null;
  };

  /** Also null if the next step needs no permit. */
  const queueFor = (slot: Slot, row: MachineRow): Queue | null =>
    permits.needsPermit(slot) ? queueOf(row, permits.use(), waitingRows(parts)) : null;
  const explain = (slot: Slot, past = NO_PAST, queue?: Queue | null): Explanation | null => {
    const facts = mirror.facts().get(slot);
    const entry = board.entries.get(slot);
    if (!facts) return null;
    const { row, provider } = facts;
    const { state, rows, counts } = watch.view();
    const isWaiting = row !== null && entry?.view.next === 'recovery';
    const told = {
      slot: facts,
      shown: entry ? { state: entry.state, substate: entry.substate } : null,
      ...past,
      seenSinceMs: past.seenSinceMs ?? (entry?.isSinceSeen ? entry.sinceMs : null),
      self: keeper.current()?.sessionId ?? null,
      guard: state === 'blind' ? null : { rows, counts },
      queue: queue === undefined && isWaiting ? queueFor(slot, row) : (queue ?? null),
      providerHolds: mirror.providerHolds(),
      ladder: { policy: ladderOf(config, provider), means: meansFor(facts) },
      breaker: planner.known(provider)?.foresight.breaker ?? null,
      usual: entry
        ? stays.usual({ provider, plan: facts.listed?.plan ?? null, ...placeOf(entry) })
        : null,
    };
    return explanationOf(told, moment());
  };
  return {
    glance: (slot, queue) => explain(slot, NO_PAST, queue),
    async explain(slot, signal) {
      const { row = null, provider } = mirror.facts().get(slot) ?? {};
      // If another daemon provisions, this plan shows its breaker, which only bars creations.
      if (row === null && provider !== undefined) planner.fresh(provider);
      const state = board.entries.get(slot)?.state;
      const past = row && state ? await readPast(bmdb, row, state, signal) : NO_PAST;
      return explain(slot, past);
    },
    ladder(slot) {
      const facts = mirror.facts().get(slot);
      if (!facts?.row) return null;
      const { row, provider, holds } = facts;
      const { nowMs } = moment();
      const standing = ladderStatus(row, {
        policy: ladderOf(config, provider),
        means: meansFor(facts) ?? ALL_MEANS,
        preserved: isHeld(row, 'preserve', { holds, nowMs }),
        ...{ nowMs, askAgainMs: 0 },
      });
      const isWaiting = board.entries.get(slot)?.view.next === 'recovery';
      return { ...standing, queue: isWaiting ? queueFor(slot, row) : null };
    },
    hardware: (machineId, signal) => readHardware(bmdb.inspection, machineId, signal),
    live(slot) {
      const actor = finder.find(slot);
      const entry = board.entries.get(slot);
      const facts = mirror.facts().get(slot);
      if (!actor || !entry || !facts) return null;
      const states = liveIn(actor.getSnapshot());
      const endsAtMs = states.task && (explain(slot)?.next.atMs ?? null);
      const task = states.task && { ...states.task, chart: drawingOf(states.task.chart), endsAtMs };
      return liveMachine({ ...states, task }, entry, facts, moment());
    },
  };
}

/** The report of a machine's agent by field name. @throws {Unreachable} */
export async function readHardware(
  inspection: Pick<Bmdb['inspection'], 'machines'>,
  machineId: MachineId,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { machines } = await inspection.machines({ machineId }, signal);
  const fields = machines[0]?.tags['HardwareReport'] ?? [];
  return fields.find(({ message }) => message !== undefined)?.message ?? null;
}

/** @throws {Unreachable} the database does not answer. */
export async function readPast(
  bmdb: Pick<Bmdb, 'inspection'>,
  { machineId }: Pick<MachineRow, 'machineId'>,
  state: MachineState,
  signal: AbortSignal,
): Promise<Past> {
  if (!hasPast(state)) return NO_PAST;
  const lines = await bmdb.inspection.events({ machineId, limit: LINES_MAX }, signal);
  return pastOf(state, lines);
}

/** A machine's actor and its next timed changes, besides the rows. */
function liveMachine(
  states: Pick<LiveMachine, 'life' | 'requests' | 'task'>,
  { state, substate, last }: BoardEntry,
  facts: SlotFacts,
  moment: Moment,
): LiveMachine {
  const shown = { state, substate };
  const view = viewOf(facts, moment);
  const rows = placeOf(view);
  const { dueAtMs } = view;
  const later = dueAtMs === null ? null : viewOf(facts, { ...moment, nowMs: dueAtMs + 1 });
  return {
    ...states,
    atMs: whole(moment.nowMs),
    shown,
    rows,
    agrees: states.task !== null || rows.state === state,
    last: last && { ...last, atMs: whole(last.atMs), to: shown },
    timer: later && { from: rows, to: placeOf(later), atMs: whole(dueAtMs!) },
  };
}

const placeOf = ({ state, substate }: Pick<MachineView, 'state' | 'substate'>) => ({
  state,
  substate,
});
const whole = (atMs: number): number => Math.ceil(atMs);
