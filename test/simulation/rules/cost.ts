import { PROVIDER } from '../../support/facts.ts';
import { LADDER, ATTEMPTS } from './facts.ts';
import type { RecordedCall } from '../recorder.ts';
import { deedOf, type Deed } from './deeds.ts';
import { changesOf, lasting, MINUTE, type SimulationRule } from './rule.ts';

const HOUR = 60 * MINUTE;
/** Maximum provider calls of one daemon in an hour without strikes and with a healthy fleet. */
const PROVIDER_CALLS_MAX = 240;
/** Maximum database calls of one idle daemon in an hour, without heartbeats. */
const DATABASE_CALLS_MAX = 9_000;
/** Maximum provider calls of all daemons in ten seconds: the configured rate and a burst. */
const BURST_MAX = 150;
/** A fleet is healthy this soon after its start or healing. */
const UP_WITHIN_MS = 15 * MINUTE;

/** What a fleet costs, and how long it may be unhealthy. */
export const COST: readonly SimulationRule[] = [
  {
    id: 'machines-are-spared',
    sentence: 'S8: no machine is interrupted more often than the ladder allows',
    watch(scene, say) {
      /** By machine, for this episode: how often each rung was carried out. */
      const done = new Map<string, number[]>();
      const begun = new Map<RecordedCall, Deed>();
      return (step) => {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          if (before?.row.recovery && !after?.row.recovery) done.delete(machineId);
        }
        const deed = deedOf(step, scene);
        if (deed?.machine && !deed.machine.row.recovery?.orderKey) begun.set(deed.call, deed);
        const ended = step.kind === 'answer' ? begun.get(step.call) : undefined;
        if (!ended) return;
        begun.delete(ended.call);
        if (!ended.call.isRefused) count(ended);
      };
      function count(deed: Deed) {
        const at = { reboot: 1, off: 2, reinstall: 3 }[deed.what as 'reboot'];
        if (at === undefined) return;
        const { machineId } = deed.machine!.row;
        const counts = done.get(machineId) ?? [0, 0, 0, 0];
        done.set(machineId, counts);
        counts[at]! += 1;
        const rung = LADDER[at]!;
        if (counts[at]! > ATTEMPTS[rung] + 1) say(`${machineId}: ${rung} ${counts[at]} times`);
      }
    },
  },
  {
    id: 'rest-is-cheap',
    sentence: 'S15 (I10): a fleet at rest costs few calls of its provider and its database',
    watch(scene, say) {
      const calls = new Map<string, number>();
      let hourAtMs = 0;
      return (step) => {
        const { atMs } = step;
        if (step.kind === 'call') {
          const port = step.call.path.split('.', 1)[0]!;
          if (step.call.path !== 'bmdb.heartbeats.recordHeartbeats') {
            const key = `${port} by ${step.call.by}`;
            calls.set(key, (calls.get(key) ?? 0) + 1);
          }
        }
        if (step.kind !== 'look' || atMs - hourAtMs < HOUR) return;
        const isRest = scene.recorder.calmSinceMs() < hourAtMs - HOUR && hourAtMs > 0;
        for (const [key, count] of isRest ? calls : []) {
          const max = key.startsWith('provider') ? PROVIDER_CALLS_MAX : DATABASE_CALLS_MAX;
          if (count > max) say(`${count} calls of ${key} in an hour of rest`);
        }
        calls.clear();
        hourAtMs = atMs;
      };
    },
  },
  {
    id: 'budget-of-calls',
    sentence: 'S12: the rate of calls of a provider never exceeds the budget, over all daemons',
    watch(_, say) {
      let times: number[] = [];
      return (step) => {
        if (step.kind !== 'call' || !step.call.path.startsWith('provider.')) return;
        times.push(step.atMs);
        if (times.length <= BURST_MAX) return;
        times = times.filter((each) => each > step.atMs - 10_000);
        if (times.length > BURST_MAX) say(`${times.length} calls in ten seconds`);
      };
    },
  },
  {
    id: 'nobody-unwell-in-calm',
    sentence: 'L1 (I7): while nothing is struck, every machine runs its agent within bounded time',
    watch: (scene, say) => {
      const startMs = scene.world.clock.now();
      return lasting(0, function* ({ world, recorder }, atMs) {
        // Later the ladder may take hours for a machine; at the start nothing is wrong with any
        // machine.
        if (recorder.calmSinceMs() > startMs || atMs - startMs < UP_WITHIN_MS) return;
        const heard = [...world.bmdb.tables.machines.values()].filter(({ row }) => row.heartbeat);
        const slots = world.provider.reservationIds().length;
        const wanted = world.config.providers[PROVIDER]!.target ?? slots;
        if (heard.length < wanted) yield ['fleet', `${heard.length} of ${wanted} have come up`];
      })(scene, say);
    },
  },
];
