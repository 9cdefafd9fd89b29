import { mutationsOf } from './mutation.ts';

/** What is known to be wrong with machines: who finds it, who is believed, and what is stored. */
export const mutations = mutationsOf`
src/agent/hardware/conditions.ts test/agent/hardware/conditions.test.ts
  conditions-old-media-errors-count: return errors - [-(first ?? errors)-]{+0n+};
  conditions-unread-is-fine: const isClear = known[- && faults.length === 0-];
  conditions-known-is-forgotten: if (!found.known && [-!last-]{+type !== ''+}) return [];
  conditions-an-unreadable-fault-is-no-fault: const stays = last?.status === Status.STATUS_[-TRUE-]{+UNKNOWN+}
  conditions-no-source-is-a-failure: each.startsWith(\`\${disk.name}: \`)[- && !NO_HEALTH.test(each)-],
  conditions-worn-too-early: (spare <{+=+} SPARE_MIN_RATIO
  conditions-a-slow-call-is-a-wrong-clock: [-serverMs > receivedMs ? -]receivedMs - serverMs[- : 0-];
  conditions-a-link-that-is-down-is-slow:
    const speed = [-link.linkUp ? (link.currentSpeedBytes ?? 0n) : 0n-]{+link.currentSpeedBytes ?? 0n+};
  conditions-carriers-changed-since-boot: return changes - [-(before ?? changes)-]{+0+};
src/agent/hardware/kernel-files.ts test/agent/hardware/conditions.test.ts
  conditions-a-full-array-is-degraded: \\[[-(?=[U_]*_)-][U_]+
  conditions-a-live-image-is-broken: options === undefined[- || READ_ONLY_TYPES.includes(type)-])
  conditions-the-first-mount-counts: lines.find[-Last-]((
src/agent/hardware-schedule.ts test/agent/heartbeat-loop.test.ts -t conditions
  conditions-are-not-repeated-each-day: const isNews = [-isDue || -]hashOf
  conditions-of-a-change-wait-for-a-day:
    isDue[- || hashOfConditions(judged) !== deliveredConditions-];
  conditions-are-lost-with-a-call: if ([-conditions === carried.conditions-]{+carried+}) conditions = null;
src/domain/conditions.ts test/adapters/agents/conditions.test.ts
  conditions-without-end: of reported[-.slice(0, REPORTED_MAX)-])
  conditions-of-any-type: Object.hasOwn(CONDITION_TYPES, type){+ || type !== ''+};
src/domain/conditions.ts test/actors/provisioning/updater.test.ts -t conditions
  conditions-that-never-were-end: if (!row) return [-status !== 'False'-]{+true+};
  conditions-of-others-are-the-providers: [-each.source === PROVIDER_SOURCE && -]each.type
  conditions-lose-their-detail: const hasNewDetail = [-detail !== '' && -]detail
src/adapters/bmdb/missing-hardware.ts test/adapters/bmdb/mem/mem-bmdb.test.ts -t parts of a machine are missing
  missing-memory-of-a-few-percent: Number(had)[- * MEMORY_MIN_RATIO-])
  missing-memory-that-is-unknown: [-(memoryOf(old) > 0n && memoryOf(now) === 0n) ||-]{+!now ||+}
  missing-disks-that-were-not-read: .some((each) => [-each.startsWith('block devices:')-]{+each === ''+});
src/adapters/bmdb/pg/heartbeats/agent-reports.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t heartbeats
  missing-parts-are-forgotten: raw: missing ? [-before-]{+null+} : null
  unreadable-parts-are-back: if (missing !== 'unreadable'{+ || found+}) found.set(id, [missing [-??-]{+!== 'unreadable' && missing ||+} HARDWARE_COMPLETE
  agents-say-which-parts-are-missing: [-type !== 'hardware-missing'-]{+type+});
src/adapters/bmdb/pg/heartbeats/heartbeats.ts test/adapters/bmdb/pg/contract-recovery.test.ts -t wrong with their machines
  conditions-are-no-part-of-a-heartbeat: !acceptance[- &&\n  conditions.length === 0-];
src/adapters/provider/redfish/client/health.ts test/adapters/provider/redfish/health.test.ts
  redfish-old-entries-are-news: createdMs > [-sinceMs-]{+-Infinity+})
  redfish-the-oldest-entry-is-shown: [-b.Created - a.Created-]{+a.Created - b.Created+});
  redfish-a-broken-log-is-read-each-time: [-    cannot.add(log);\n-]
`;
