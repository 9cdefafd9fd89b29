import { Subject } from 'rxjs';
import type { EntryChange, FleetView, MachineEntry } from '../../../src/console/port.ts';
import { slot, type Slot } from '../../../src/domain/ids.ts';
import { STATES } from '../../../src/domain/states.ts';
import { entryOf, machine, WATCHING } from '../../console/scripted-fleet.ts';
import { headlineOf } from '../../../src/domain/headline.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';

const LOCATIONS = ['am6', 'da11', 'fr2', 'ny5', 'sv15'];
const ID = '06aa1c5e-7c35-4b4e-9d3c-';

const idOf = (at: number) => `${ID}${String(at).padStart(12, '0')}`;
const slotOf = (at: number) => slot('equinix', idOf(at));

/** A fleet of any size that changes on command, at a constant cost. */
export function largeFleet(size: number) {
  const entries = new Map<Slot, MachineEntry>();
  const entryChanges$ = new Subject<EntryChange>();
  const nowMs = () => Date.now();
  const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<string, number>;
  const made = (at: number, isSilent: boolean) => {
    const id = idOf(at);
    return machine(id, {
      ...{ machineId: id, providerId: id, address: `192.0.2.${at % 256}`, state: 'Running' },
      ...{ substate: isSilent ? 'silent' : 'healthy', location: LOCATIONS[at % 5]! },
      ...{ sinceMs: nowMs(), lastHeartbeatAtMs: nowMs() - (at % 60_000) },
    });
  };
  const put = (at: number, isSilent: boolean) => {
    const summary = made(at, isSilent);
    const entry = entryOf(summary);
    entries.set(summary.slot, entry);
    entryChanges$.next({ type: 'changed', entry });
    return summary;
  };
  for (let at = 0; at < size; at += 1) put(at, at % 50 === 0);
  counts['Running'] = size;
  const frame = () => ({
    ...{ atMs: nowMs(), counts, needHuman: 0, guard: WATCHING, unlisted: [] },
    headline: headlineOf([{ word: 'healthy', machines: size }]),
  });
  const fleet = {
    ...{ entries, entryChanges$, nowMs, frame, loss: DEFAULT_LOSS },
    pools: () => [],
    budget: () => [],
    providers: () => ['equinix'],
    frameChanges$: new Subject<void>(),
    facts: () => undefined,
    isElsewhere: () => false,
    isOverdue: () => false,
  } as unknown as FleetView;
  /** One machine falls silent or comes back. */
  const turn = (at: number, isSilent: boolean) => void put(at, isSilent);
  /** One machine sends a heartbeat. */
  const beat = (at: number) => {
    const entry = entries.get(slotOf(at))!;
    const heard = { ...entry, view: { ...entry.view, lastHeartbeatAtMs: nowMs() } };
    entries.set(slotOf(at), heard);
    entryChanges$.next({ type: 'changed', entry: heard });
  };
  return { fleet, turn, beat };
}
