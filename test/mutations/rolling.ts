import { mutationsOf } from './mutation.ts';

/** Rolling actions. */
export const mutations = mutationsOf`
src/domain/rolling.ts test/domain/rolling.test.ts
  a-roll-goes-on-after-a-failure: failed.length > 0 && [-roll.stopOnFailure-]{+false+}
  a-roll-ignores-windows: [-if (closed !== null) return waits(closed);-]
  a-roll-ignores-a-freeze: [-if (frozen) return waits(-]{+if (frozen) waits(+}
  a-roll-orders-twice: if ([-!order-]{+order?.state !== 'refused'+}) return beforeOrder
  a-roll-trusts-the-first-heartbeat: order.settledAtMs! + [-PERIODS * loss.periodMs-]{+0+};
  a-roll-waits-for-ever: return nowMs > [-lastMs-]{+Infinity+}
  a-roll-goes-on-without-acceptance: acceptance.askedAtMs [-<-]{+>=+} sinceMs
  a-roll-trusts-an-agent-without-an-answer: return isOpen ? waits(why) : [-failed-]{+waits+}(why);
  a-roll-forgets-its-canary: position === 0 && [-canary > 0-]{+canary < 0+}
  announced-work-is-a-failure: [-type !== 'maintenance-announced' &&-]{+type !== '' &&+}
  an-old-condition-is-a-failure: Math.max(sinceMs, fromMs ?? 0) [->=-]{+<=+} order.createdAtMs
  a-batch-is-counted-too-late: machines += batch.length) [->-]{+>=+} position
  a-batch-may-be-empty: return Math.max([-1-]{+0+}, Math.min
src/adapters/bmdb/pg/people/rolls.ts test/adapters/bmdb/pg/contract-requests.test.ts
  a-paused-roll-is-deleted: NOT IN ('running'[-, 'paused'-])
src/console/api/rolls.ts test/commands/remote/rolls.test.ts
  a-roll-of-everything-by-mistake: if (filter.terms.length === 0[-)-]{+ && text !== '')+}
src/commands/remote/rolls.ts test/commands/remote/rolls.test.ts
  an-aborted-roll-is-a-success: state === 'stopped' [-|| state === 'aborted' -]|| failures
  a-paused-roll-is-not-awaited: state === 'running'[- || state === 'paused'-];
src/console/api/rolls.ts test/console/api/rolls.test.ts
  anybody-is-offered-to-abort: (verb) => [-isAllowed-]{+true+} &&
  anybody-may-roll-a-reinstallation: wishOf({ verb: [-action-]{+'restart-agent'+} })
`;
