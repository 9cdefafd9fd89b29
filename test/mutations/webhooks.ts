import { mutationsOf } from './mutation.ts';

/** Events in their order, and what becomes of each at a webhook. */
export const mutations = mutationsOf`
src/actors/webhooks/deliverer.ts test/actors/webhooks/records.test.ts
  webhook-sent-while-under-way: [-busy()-]{+[]+}, READ_MAX)
src/actors/webhooks/deliverer.ts test/actors/webhooks/deliverer.test.ts test/actors/webhooks/records.test.ts test/actors/webhooks/storm.test.ts
  webhook-test-is-for-all: details['webhook'] [-=== name-]{+!== null+}
  webhook-begins-with-all-there-is: [-await bmdb.events.newest(signal)-]{+'0'+}
  webhook-gone-is-told-on: [-  if (begun.isDisabled) return;\n-]
  webhook-failing-without-pause: failures [-< FAILURES_MAX-]{+>= 0+}
  webhook-failing-for-ever: [-isThere(answer) ? 0 : -]failures + 1
  webhook-refusing-is-away: [- || REFUSES_ONE.has(status)-]
  webhook-busy-is-there: status < [-300-]{+500+} ||
  webhook-hanging-by-one: underWay.size < [-AT_ONCE-]{+1+} && queue
  webhook-five-at-a-time: AT_ONCE = [-4-]{+5+}
  webhook-read-ahead-without-limit: [-if (queue.length === 0) -]await fill
  webhook-told-of-what-hangs: [-String(BigInt(next.value) - 1n)-]{+readTo+}
  webhook-end-is-a-failure: [-      if (sending.aborted) return null;\n-]
  webhook-throw-is-no-attempt: return [-{ status: null, cause: explain(error) }-]{+null+};
  webhook-mistake-is-nobodys: [-error instanceof FleetError ? 'debug' : 'error-]{+'debug+}'
  webhook-ends-meanwhile-are-lost:
    \_\_\_\_[-settled = [];\n    -]try {\n      await service.record(lease, name, results);{+\n      settled = [];+}\n
  webhook-not-written-is-forgotten: [-settled = [...these, ...settled];-]
  webhook-end-writes-nothing: [-      if (settled.length > 0) await record();\n-]
  webhook-gone-event-is-dead: [-verdict.verdict === 'dead' ? null : 0-]{+null+}
  webhook-oldest-is-new: ([-standing?.waitingSinceMs ?? -]Infinity,\_
  webhook-oldest-is-failed: [-, first?.atMs ?? Infinity-])
src/domain/events/retries.ts test/domain/events/events.test.ts
  webhook-204-is-none: status [->= 200 && status < 300-]{+=== 200+}
  webhook-300-will-do: status >= 200 && status <[- 300-]{+= 302+}
  webhook-410-is-tried-again: if (status === [-GONE-]{+411+})
  webhook-pause-too-late: RETRY_PAUSES_MS[attempts[- - 1-]]
  webhook-jitter-hurries: 1 [-+-]{+-+} RETRY_JITTER * chance
  webhook-left-alone-for-ever: [-Math.min(RETRY_AFTER_MAX_MS, askedMs)-]{+askedMs+}
  webhook-tried-sooner-when-asked: Math.max([-ownMs-]{+0+}, Math.min(
src/domain/events/fleet-event.ts test/domain/events/events.test.ts
  webhook-id-given-again: [-\`\${number}-\${Math.trunc(atMs)}\`-]{+number+}
src/adapters/webhooks/http-sender.ts test/adapters/webhooks/sign.test.ts
  webhook-id-not-signed: \`\${[-id}.\${-]timestamp}.\${body}\`
  webhook-one-secret-signs: secrets.{+slice(0, 1).+}map((secret)
src/adapters/webhooks/http-sender.ts test/adapters/webhooks/http-sender.test.ts
  webhook-time-in-ms: [-Math.floor(clock.now() / 1_000-]{+clock.now(+})
  webhook-secret-kept:
    [-secrets.-]{+((secrets as { kept?: string[] }).kept ??= secrets.+}map((read) => read()){+)+}
  webhook-slash-lost: [-pathname.endsWith('/') ? '/' : -]''
  webhook-body-is-waited-for: [-, passesBodiesMs: BODY_MS-]
  webhook-date-by-our-clock: [-headers.date ?? -]null
  webhook-abort-is-an-answer: [-        if (signal.aborted) throw error;\n-]
src/adapters/driver-kit/exchange.ts test/adapters/webhooks/http-sender.test.ts
  reply-head-is-not-enough: [-if (head) resolve(head);\n      else -]reject
  reply-body-of-any-size: if (sizeBytes [-> replyBytesMax-]{+< 0+}) return
src/adapters/bmdb/pg/events/webhook-service.ts test/adapters/bmdb/pg/contract-events.test.ts -t deliveries to webhooks
  webhook-written-without-lease: [-WHERE EXISTS (SELECT 1 FROM lease) -]ORDER BY
  webhook-told-goes-back: [-greatest(w.told_to, \${of.toldTo})-]{+\${of.toldTo}+}
  webhook-disabled-is-told-twice: [- AND found.disabled_at IS NULL-]
  webhook-due-at-once: d.next_at [-<= now()-]{+IS NOT NULL+}
  webhook-due-by-number: ORDER BY [-d.next_at, -]d.seq LIMIT
  webhook-delivered-keeps-its-row: AND d.seq [-= ANY (\${of.gone})-]{+< 0+}
src/adapters/bmdb/pg/events/webhooks.ts test/adapters/bmdb/pg/contract-events.test.ts -t deliveries to webhooks
  webhook-replay-is-the-last-attempt: SET [-attempts = 0, -]next_at
  webhook-letters-go-early: DEAD_KEPT_DAYS = [-30-]{+28+}
  webhook-letters-stay: DEAD_KEPT_DAYS = [-30-]{+300+}
  webhook-left-goes-early: DUE_KEPT_DAYS = [-90-]{+88+}
  webhook-left-stays: [-d.webhook = w.name AND \${LEFT}-]{+false+} LIMIT
src/adapters/bmdb/pg/session.ts test/adapters/bmdb/pg/locked-rows.test.ts -t a session closed while
  closed-session-is-told-as-expired:
    [-CASE WHEN session_deadline > now() THEN now() ELSE closed_at END-]{+closed_at+}
  late-goodbye-is-untold: CASE WHEN [-session_deadline > now()-]{+true+} THEN now()
src/adapters/bmdb/pg/events/horizon.ts test/adapters/bmdb/pg/events-horizon.test.ts -t the horizon of complete events
  events-wait-at-rest: [-  if (xmin === begun) return { number: newest, pending: null };\n-]
  events-told-while-pending: return [-{ number, pending }-]{+pending+};
  events-begun-is-the-oldest: const seen = { number: newest, xid: [-begun-]{+xmin+} };
src/adapters/bmdb/pg/events/read.ts test/adapters/bmdb/pg/events-horizon.test.ts
  events-told-beyond-the-horizon: [- && BigInt(seq) <= horizon-]
src/adapters/bmdb/pg/events/read.ts test/adapters/bmdb/pg/contract-events.test.ts -t the order of events
  events-of-a-restored-database-never: [-BigInt(after) > BigInt(newest)-]{+false+};
`;
