import { mutationsOf } from './mutation.ts';

/** Episodes of recovery, and the failures by kind that are counted from them. */
export const mutations = mutationsOf`
src/domain/failures.ts test/domain/failures.test.ts
  a-machine-that-is-gone-raises-the-rate: (100 * [-(episodes.length - gone)-]{+episodes.length+})
  days-before-the-window-count: nowMs - [-Math.max(sinceMs, machine.createdAtMs)-]{+machine.createdAtMs+}
  a-ratio-is-a-rate: null : rate[- / whole-],
  a-repair-that-lasts-healed: [-if (healedAtMs === null) continue;-]{+if (healedAtMs === 0) continue;+}
  the-worst-kind-is-the-last: [-(b.ratio ?? -1) - (a.ratio ?? -1)-]{+(a.ratio ?? -1) - (b.ratio ?? -1)+}
  a-slot-that-is-gone-hides-its-provider: by === 'provider' ? [-provider-]{+null+} :
src/console/api/stats.ts test/console/api/stats.test.ts
  a-cut-window-begins-too-early: const sinceMs = [-isCut ? episodes.at(-1)!.beganAtMs : -]atMs - forMs;
  a-hold-that-ended-retires: kind === 'retired'[- && isInForce(hold, nowMs)-];
  every-reader-reads-anew: if (known{+ && key === ''+}) return known;
src/adapters/bmdb/pg/recovery/episodes.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t episodes of recovery
  an-order-is-an-episode: WHERE ladders.attempts >{+=+} 0
  an-episode-is-deleted-a-day-early: interval '[-\${EPISODES_KEPT_DAYS}-]{+398+} days'
  a-release-forgives-nothing: SET [-counted = false, -]ended_at
  each-attempt-is-the-first: attempts = [-z.attempts + -]1\`
src/adapters/bmdb/pg/sweep.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t episodes of recovery
  old-episodes-stay: \_\_episodes: [-\`EXISTS (SELECT 1 FROM recovery_episodes WHERE \${OUTDATED})\`-]{+'false'+},
src/adapters/bmdb/pg/tasks/forget.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t episodes of recovery
  an-episode-outlives-its-machine: [-  await q.run(episodes.endOfTenancies, { machines });\n-]
src/adapters/bmdb/pg/heartbeats/episodes.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t episodes of recovery
  nothing-heals: SET [-healed_at = h.unbroken_since, -]ended_at = now()
src/adapters/bmdb/pg/reading/episodes.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t episodes of recovery
  the-oldest-episodes-come-first: ORDER BY z.began_at[- DESC-], z.episode
  nobody-hears-that-episodes-are-cut: isCut: rows.length > size{+ + 1+}
`;
