import { map, type Observable } from 'rxjs';
import type { Board, BoardChange, BoardEntry } from '../actors/board.ts';
import { worksElsewhere } from '../domain/view.ts';
import type { FleetChange, FleetView, MachineSummary, StateCounts } from '../console/port.ts';
import type { SessionId } from '../domain/ids.ts';
import type { SlotFacts } from '../domain/machine.ts';
import { STATES } from '../domain/view.ts';

/** The board in the words of the console. */
export function fleetView(
  board: Board,
  changes$: Observable<BoardChange>,
  facts: (slot: string) => SlotFacts | undefined,
  self: () => SessionId | null,
  nowMs: () => number,
): FleetView {
  const counts = (): StateCounts => {
    const found = board.counts();
    return Object.fromEntries(STATES.map((state) => [state, found[state] ?? 0])) as StateCounts;
  };
  const summary = ({ view, state, substate, sinceMs }: BoardEntry): MachineSummary => ({
    slot: view.slot,
    provider: view.provider,
    machineId: view.machineId,
    providerId: view.providerId,
    reservationId: view.reservationId,
    address: view.address,
    location: view.location,
    lastHeartbeatAtMs: view.lastHeartbeatAtMs,
    holds: view.holds,
    state,
    substate,
    reason: view.state === state ? view.reason : null,
    sinceMs,
    elsewhere: worksElsewhere(facts(view.slot)?.row ?? null, self()),
  });
  return {
    snapshot: () => ({
      atMs: nowMs(),
      machines: [...board.entries.values()].map(summary),
      counts: counts(),
    }),
    changes$: changes$.pipe(
      map((change): FleetChange => ({
        upserts: change.type === 'changed' ? [summary(change.entry)] : [],
        removed: change.type === 'removed' ? [change.slot] : [],
        counts: counts(),
      })),
    ),
  };
}
