import { mutationsOf } from './mutation.ts';

/** Conditions of machines: what they do, who may change them, and how they are told. */
export const mutations = mutationsOf`
src/domain/conditions.ts test/domain/conditions.test.ts
  many-machines-with-a-condition-are-believed: return those.size > silentLimit([-guard, machines.get(scope) ?? 0);-]{+guard, 1e9);+}
  a-suspicious-type-holds-all-the-same: [-    if (isSuspicious({ provider, type }, suspicious)) continue;\n-]
  suspicion-counts-what-is-not-begun: [-(fromMs ?? 0) <= nowMs && -]used.has(
  suspicion-counts-slots-without-machines: (fromMs ?? 0) <= nowMs[- && used.has(slot(provider, slotId))-],
  suspicion-is-of-the-fleet-only: [-[FLEET, provider].some((scope) => suspicious.has-]{+[FLEET].some((scope) => suspicious.has+}
  what-expires-is-wrong-no-more: [-status === 'False' && -]expiresAtMs !== null
  what-was-ok-stays-so: <= nowMs ? '[-Unknown-]{+False+}' : status;
  a-hold-that-ends-hides-a-condition: => fromMs === null[- && untilMs === null-];
  unknown-conditions-are-true: flatMap(({ type, status }) => (status [-=== 'True'-]{+!== 'False'+} ?
  anybody-makes-series: .slice(0, [-TYPES_COUNTED-]{+1e9+}));
  announced-work-delays-a-failing-disk: if (before[- && (before.fromMs ?? 0) <= (fromMs ?? 0)-]) continue;
  announced-work-only-tells: (type === 'maintenance-announced' ? '[-drain-]{+tell+}' : 'tell');
  a-beginning-that-is-no-time: typeof atMs === 'number'[- && atMs >= 0 && atMs <= 8.64e15-];
src/domain/conditions.ts test/daemon/conditions.test.ts
  announced-work-begins-when-it-is-told: [-        ...(fromMs !== null && { fromMs }),\n-]
src/domain/conditions.ts test/actors/provisioning/updater.test.ts -t conditions
  a-new-beginning-is-no-news: || hasNewDetail[- || hasNewBeginning-];
src/domain/conditions.ts test/actors/balancing/conditions.test.ts
  a-false-checker-empties-a-pool: those.size > silentLimit(guard, [-machines.get(scope) ?? 0-]{+1e9+});
  a-condition-drains-nobody: drain: ['no-allocate'[-, 'no-serve'-]],
src/console/api/conditions.ts test/console/api/conditions.test.ts
  a-foreign-source-may-clear: each.type === type[- && each.source === source-]);
  a-grant-for-other-providers-reports: [-  if (!mayDoAt(person, 'report', provider)) throw outside(person, \`machines of \${provider}\`);\n-]
src/console/access/rights.ts test/console/api/conditions.test.ts
  viewers-report: viewer: ['see'[--]{+, 'report'+}],
  checkers-operate: checker: ['see', 'report'[--]{+, 'operate'+}],
src/console/index/row.ts test/console/api/reading.test.ts
  a-part-of-a-type-is-the-type: conditions.split(',').some((type) => wanted.[-includes(type)-]{+some((each) => type.startsWith(each))+}));
src/actors/mirror/rows.ts test/actors/balancing/conditions.test.ts
  a-hold-and-a-condition-are-new-at-each-read: hold.kind[-, hold.setBy-]].join
  a-condition-alone-is-no-news: [-  a.conditions === b.conditions &&\n-]
src/domain/explanation/blocks.ts test/domain/explanation/explanation.test.ts
  an-operator-ends-what-a-condition-holds: [-isOfCondition({ setBy })-]{+setBy === ''+}
src/adapters/bmdb/pg/conditions/repository.ts test/adapters/bmdb/pg/contract-slots.test.ts -t conditions
  a-new-beginning-is-not-stored: seen = now(), [-from_at = excluded.from_at, -]expires_at
  a-report-replaces-those-of-others: AND c.type = reports.type[- AND c.source = reports.source-]
  the-start-moves-with-each-report: since = CASE WHEN c.status = excluded.status THEN [-c.since-]{+now()+} ELSE now() END,
`;
