import { mutationsOf } from './mutation.ts';

/** Acceptances: when they are due, who is asked, what counts, and what follows. */
export const mutations = mutationsOf`
src/domain/acceptance.ts test/domain/acceptance.test.ts
  acceptance-unread-is-accepted: status === 'failed'[- || (status === 'unknown' && expected !== '')-],
  acceptance-without-checks-passes: if (checks.length === 0) return [-'nothing was checked'-]{+null+};
  acceptance-is-always-required: [-policies[provided.provider]?.required !== true-]{+policies === null+}
  acceptance-that-a-person-asks-for-drains: (isOpen[- && !held-]{+ && state === null+})
  acceptance-old-agents-stay-due: handedOutAtMs + ANSWER_MS [-<=-]{+<+} nowMs
src/actors/mirror/state.ts test/actors/mirror/slices.test.ts -t not accepted
  acceptance-holds-are-forgotten-by-a-change: facts.set(patched.slot, [-withAcceptanceHold(patched)-]{+patched+});
  acceptance-holds-are-not-assembled: if ([-whole !== each-]{+!whole+}) facts.set(slot, whole);
src/adapters/bmdb/pg/recovery/acceptances.ts test/adapters/bmdb/pg/contract-slots.test.ts -t acceptance
  acceptance-only-without-attempts: NOT EXISTS (SELECT FROM machine_[-hardware_report-]{+recovery+} r
  acceptance-of-each-agent-start: [-  WHERE NOT EXISTS (SELECT FROM machine_hardware_report r WHERE r.machine_id = h.machine_id)\n-]
  acceptance-the-next-agent-is-not-asked: AND x.state = [-'due'-]{+'passed'+} AND x.handed_out_at
  acceptance-a-failure-is-asked-away: excluded.held[- OR x.state = 'failed'-] OR
src/adapters/bmdb/pg/heartbeats/acceptances.ts test/adapters/bmdb/pg/contract-slots.test.ts -t acceptance
  acceptance-an-old-answer-counts: WHERE x.machine_id = results.machine_id[- AND x.id = results.id-] AND
  acceptance-the-inventory-wins:
    [-coalesce(x.inventory, '{}') || coalesce(\${policies} -> p.provider::text, '{}')-]{+coalesce(\${policies} -> p.provider::text, '{}') || coalesce(x.inventory, '{}')+}
  acceptance-a-failed-inventory-is-kept: CASE WHEN results.state = [-'passed'-]{+'failed'+} THEN
  acceptance-is-asked-for-ever:
    [-\n  AND (handed_out_at IS NULL OR handed_out_at > now() - interval '30 minutes')-]
src/adapters/bmdb/pg/tasks/tags.ts test/adapters/bmdb/pg/contract-slots.test.ts -t acceptance
  acceptance-of-each-recovery: (rung [-===-]{+!==+} 'reinstalling' ? [id] : [])
src/adapters/agents/acceptance.ts test/adapters/agents/acceptance.test.ts
  acceptance-without-id: if ([-!id || id < 1n || -](check ?? []).length > CHECKS_MAX) return null;
  acceptance-no-number-is-expected: [-Number.isFinite(value) && -](value ?? 0) > 0
src/agent/acceptance.ts test/agent/acceptance.test.ts
  acceptance-of-nearly-the-memory: const TOLERANCE = [-0.05-]{+0.5+};
  acceptance-a-link-that-is-down-counts: [-linkUp ? Number(currentSpeedBytes ?? 0n) / BYTES_PER_MEGABIT : 0-]{+Number(linkUp !== null && currentSpeedBytes) / BYTES_PER_MEGABIT+},
  acceptance-disks-are-read-unasked: of [-wanted.readMegabytes ?-]{+wanted !== report ?+} (report
  acceptance-the-checks-are-run-again: if (current === id[- || last?.id === id-]) return;
  acceptance-a-lost-result-stays-lost: [-if (last?.id === id) result = last;-]
src/agent/heartbeat-loop.ts test/agent/acceptance.test.ts
  acceptance-of-parts-that-nobody-reported: [-    await hardware.look();\n-]
src/agent/acceptance.ts test/agent/acceptance.test.ts
  acceptance-leaves-its-file: [-    await unlink(path);\n-]
`;
