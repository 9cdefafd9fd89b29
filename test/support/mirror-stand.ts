import { Subject } from 'rxjs';
import { createMirror, type Mirror } from '../../src/actors/mirror/mirror.ts';
import type { Heard } from '../../src/adapters/agents/port.ts';
import type { BmdbChanges, BmdbSnapshot } from '../../src/adapters/bmdb/port.ts';
import type { Listing } from '../../src/adapters/provider/port.ts';
import type { ConditionPolicy } from '../../src/domain/conditions.ts';
import { cursor } from '../../src/domain/ids.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { clockScheduler } from './clock-scheduler.ts';
import { PROVIDER, SLOT } from './facts.ts';
import { runService, type FleetStandIn } from './fleet-stand-in.ts';
import { recordingLog, type RecordingLog } from '../doubles/recording-log.ts';
import { scriptedBmdb, type ScriptedBmdb } from '../doubles/scripted-bmdb.ts';
import { scriptedProvider } from '../doubles/scripted-provider.ts';
import { advance, createSimulatedClock, settled } from '../doubles/simulated-clock.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';

const GAP_MS = 250;
const LONG_MS = 24 * 3_600_000;
const MARK = cursor('mark');

/** A mirror whose reads the test answers. */
export interface MirrorStand {
  readonly clock: VirtualClock;
  readonly script: ScriptedBmdb;
  readonly heard$: Subject<Heard>;
  readonly log: RecordingLog;
  /** Answers the provider's listings; the default is an empty listing. */
  listing: () => Promise<Listing>;
  /** Slots that the mirror reported as vanished. */
  readonly vanished: string[];
  readonly mirror: Mirror;
  readonly fleet: FleetStandIn;
  /** Views from the mirror, in order; emptied by `begin`. */
  readonly views: MachineView[];
  /** Reported changes since `begin`: slots with a changed row, or null for any. */
  readonly changedTold: (readonly string[] | null)[];
  /** Reads the machine's row alone; null: the row is gone. */
  reread(row: MachineRow, found?: MachineRow | null): Promise<void>;
  /** How often the mirror reported all facts since `begin`. */
  factsTold(): number;
  /** The first scan, and the changes that the first listing causes. */
  begin(rows?: Partial<BmdbSnapshot>): Promise<void>;
  /** A wake and the read that follows. */
  change(changes: Partial<BmdbChanges>): Promise<void>;
  /** @returns the number of remaining timers. */
  stop(): Promise<number>;
}

export function mirrorStand(
  periods: { scanMs?: number; listMs?: number; conditions?: ConditionPolicy } = {},
): MirrorStand {
  const clock = createSimulatedClock();
  const script = scriptedBmdb(() => clock.now());
  const heard$ = new Subject<Heard>();
  const log = recordingLog();
  const vanished: string[] = [];
  const views: MachineView[] = [];
  let factsTold = 0;
  const changedTold: (readonly string[] | null)[] = [];
  const mirror = createMirror({
    bmdb: script.bmdb,
    providers: new Map([[PROVIDER, scriptedProvider({ listMachines: () => stand.listing() })]]),
    heard$,
    loss: DEFAULT_LOSS,
    clock,
    scheduler: clockScheduler(clock),
    log,
    scanMs: LONG_MS,
    listMs: LONG_MS,
    scanGapMs: GAP_MS,
    pollMs: null,
    random: { next: () => 0.5, uuid: () => 'unused' },
    onFacts: (_, changed) => {
      factsTold += 1;
      changedTold.push(changed ? [...changed] : null);
    },
    onView: (view) => views.push(view),
    onVanished: (name) => vanished.push(name),
    ...periods,
  });
  const fleet = runService(mirror.service);
  const tell = async (changes: Partial<BmdbChanges>) => {
    script.changes.shift()!.answer({ cursor: MARK, ...changes });
    await advance(clock, GAP_MS);
  };
  const stand: MirrorStand = {
    ...{ clock, script, heard$, log, vanished, mirror, fleet, views },
    listing: async () => ({ machines: [], complete: true }),
    changedTold,
    factsTold: () => factsTold,
    async reread(row, found = row) {
      await advance(clock, 1);
      script.reading = { nowMs: clock.now(), version: clock.now(), row: found };
      await mirror.reread({ slot: SLOT, machineId: row.machineId }, new AbortController().signal);
    },
    async begin({ machines = [], ...small } = {}) {
      await advance(clock, 0);
      script.scans.shift()!.answer({ cursor: MARK, machines, ...small });
      await advance(clock, GAP_MS);
      await tell(small);
      fleet.news.length = views.length = changedTold.length = factsTold = 0;
    },
    async change(changes) {
      await advance(clock, 1);
      script.wake();
      await settled();
      await tell(changes);
    },
    async stop() {
      fleet.stop();
      await settled();
      return clock.pending;
    },
  };
  return stand;
}
