import { mutationsOf } from './mutation.ts';

/** Servers at Latitude.sh: how old records are, who wins a slot, and what only looks like another thing. */
export const mutations = mutationsOf`
src/adapters/provider/latitude/creation.ts test/adapters/provider/latitude/creation.test.ts
  latitude-rivals-are-not-seen: if (rivals.length [-=== 0 && (looks === 0 || complete)-]{+>= 0+}) return;
  latitude-all-rivals-withdraw: if (rivals.[-some(({ id }) => id < record.id)-]{+length > 0+}) break;
  latitude-no-rival-withdraws: if ({+!+}rivals.some(({ id }) => id < record.id)) [-break-]{+return+};
src/adapters/provider/latitude/api.ts test/adapters/provider/latitude/creation.test.ts
  latitude-any-limit-is-a-quota: if (endpoint !== CREATE[-)-]{+ && !says(messages, LIMIT))+} return
src/adapters/provider/latitude/records.ts test/adapters/provider/latitude/settings.test.ts
  latitude-the-future-is-young: [-Math.min(toldMs, seenAtMs)-]{+toldMs+}
  latitude-a-record-written-anew-is-old: const key = [-\`\${data.id} \${toldMs}\`-]{+data.id+};
src/adapters/provider/latitude/ownership.ts test/adapters/provider/latitude/settings.test.ts
  latitude-the-future-needs-no-proof-yet: clock.now() - [-writtenAtMs-]{+mark.t+} >= settleMs
src/adapters/provider/latitude/driver.ts test/adapters/provider/latitude/settings.test.ts
  latitude-one-key-has-two-budgets: return [-isOneKey ? 'token' : -]null;
src/adapters/provider/latitude/view.ts test/adapters/provider/latitude/changes.test.ts
  latitude-tells-no-day-of-leaving: [-isLeaving(owner) && !Number.isNaN(leavesAtMs)-]{+false+}
src/actors/tasks/deprovision.ts test/actors/tasks/deprovision.test.ts
  what-goes-on-a-day-is-asked-for-again: if ([-isAwaited(given, seen)-]{+deps === null+}) {\n      await pause
  what-goes-on-a-day-is-asked-for-at-each-start:
    if (seen.state === 'gone'[- || isAwaited(given, seen)-]) return { asked };
`;
