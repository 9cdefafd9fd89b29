import { mistakesIn, mistakesNamed, type Mutation } from './mutation.ts';

const DELIVERER = 'test/actors/webhooks/deliverer.test.ts';
const RECORDS = 'test/actors/webhooks/records.test.ts';
const STORM = 'test/actors/webhooks/storm.test.ts';
const SENDER = 'test/adapters/webhooks/http-sender.test.ts';
const RETRIES = 'test/domain/events/retries.test.ts';
const PG = 'src/adapters/bmdb/pg';
const CONTRACT = 'test/adapters/bmdb/pg/contract-events.test.ts';
const HORIZON = 'test/adapters/bmdb/pg/events-horizon.test.ts';
const LOCKED = 'test/adapters/bmdb/pg/locked-rows.test.ts';

const delivering: readonly Mutation[] = [
  ...mistakesIn(
    'src/actors/webhooks/deliverer.ts',
    [RECORDS],
    [['webhook-sent-while-under-way', 'busy(), READ_MAX)', '[], READ_MAX)']],
  ),
  ...mistakesIn(
    'src/actors/webhooks/deliverer.ts',
    [DELIVERER, RECORDS, STORM],
    [
      ['webhook-test-is-for-all', "details['webhook'] === name", "details['webhook'] !== null"],
      ['webhook-begins-with-all-there-is', 'await bmdb.events.newest(signal)', "'0'"],
      ['webhook-gone-is-told-on', '  if (begun.isDisabled) return;\n', ''],
      ['webhook-failing-without-pause', 'failures < FAILURES_MAX', 'failures >= 0'],
      ['webhook-failing-for-ever', 'isThere(answer) ? 0 : failures + 1', 'failures + 1'],
      ['webhook-refusing-is-away', ' || REFUSES_ONE.has(status)', ''],
      ['webhook-busy-is-there', 'status < 300 ||', 'status < 500 ||'],
      ['webhook-hanging-by-one', 'underWay.size < AT_ONCE && queue', 'underWay.size < 1 && queue'],
      ['webhook-five-at-a-time', 'AT_ONCE = 4', 'AT_ONCE = 5'],
      ['webhook-read-ahead-without-limit', 'if (queue.length === 0) await fill', 'await fill'],
      ['webhook-told-of-what-hangs', 'String(BigInt(next.value) - 1n)', 'readTo'],
      ['webhook-end-is-a-failure', '      if (sending.aborted) return null;\n', ''],
      [
        'webhook-throw-is-no-attempt',
        'return { status: null, cause: explain(error) };',
        'return null;',
      ],
      ['webhook-mistake-is-nobodys', "error instanceof FleetError ? 'debug' : 'error'", "'debug'"],
      [
        'webhook-ends-meanwhile-are-lost',
        `    settled = [];
    try {
      await desk.record(lease, name, results);
`,
        `    try {
      await desk.record(lease, name, results);
      settled = [];
`,
      ],
      ['webhook-not-written-is-forgotten', 'settled = [...these, ...settled];', ''],
      ['webhook-end-writes-nothing', '      if (settled.length > 0) await record();\n', ''],
      ['webhook-gone-event-is-dead', "verdict.verdict === 'dead' ? null : 0", 'null'],
      ['webhook-oldest-is-new', '(standing?.waitingSinceMs ?? Infinity, ', '(Infinity, '],
      ['webhook-oldest-is-failed', ', first?.atMs ?? Infinity)', ')'],
    ],
  ),
];

const verdicts: readonly Mutation[] = [
  ...mistakesIn(
    'src/domain/events/retries.ts',
    [RETRIES],
    [
      ['webhook-204-is-none', 'status >= 200 && status < 300', 'status === 200'],
      ['webhook-300-will-do', 'status >= 200 && status < 300', 'status >= 200 && status <= 302'],
      ['webhook-410-is-tried-again', 'if (status === GONE)', 'if (status === 411)'],
      ['webhook-pause-too-late', 'RETRY_PAUSES_MS[attempts - 1]', 'RETRY_PAUSES_MS[attempts]'],
      ['webhook-jitter-hurries', '1 + RETRY_JITTER * chance', '1 - RETRY_JITTER * chance'],
      ['webhook-left-alone-for-ever', 'Math.min(RETRY_AFTER_MAX_MS, askedMs)', 'askedMs'],
      ['webhook-tried-sooner-when-asked', 'Math.max(ownMs, Math.min(', 'Math.max(0, Math.min('],
    ],
  ),
  ...mistakesIn(
    'src/domain/events/cloud-event.ts',
    [RETRIES],
    [['webhook-id-given-again', '`${number}-${Math.trunc(atMs)}`', 'number']],
  ),
];

const sending: readonly Mutation[] = [
  ...mistakesIn(
    'src/adapters/webhooks/sign.ts',
    ['test/adapters/webhooks/sign.test.ts'],
    [
      ['webhook-id-not-signed', '`${id}.${timestamp}.${body}`', '`${timestamp}.${body}`'],
      ['webhook-one-secret-signs', 'secrets.map((secret)', 'secrets.slice(0, 1).map((secret)'],
    ],
  ),
  ...mistakesIn(
    'src/adapters/webhooks/http-sender.ts',
    [SENDER],
    [
      ['webhook-time-in-ms', 'Math.floor(clock.now() / 1_000)', 'clock.now()'],
      [
        'webhook-secret-kept',
        'secrets.map((read) => read())',
        '((secrets as { kept?: string[] }).kept ??= secrets.map((read) => read()))',
      ],
      ['webhook-slash-lost', "pathname.endsWith('/') ? '/' : ''", "''"],
      ['webhook-body-is-waited-for', ', passesBodiesMs: BODY_MS', ''],
      ['webhook-date-by-our-clock', 'headers.date ?? null', 'null'],
      ['webhook-abort-is-an-answer', '        if (signal.aborted) throw error;\n', ''],
    ],
  ),
  ...mistakesIn(
    'src/adapters/http/exchange.ts',
    [SENDER],
    [
      ['reply-head-is-not-enough', 'if (head) resolve(head);\n      else reject', 'reject'],
      [
        'reply-body-of-any-size',
        'if (sizeBytes > replyBytesMax) return',
        'if (sizeBytes < 0) return',
      ],
    ],
  ),
];

const rows: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${PG}/events/webhook-desk.ts`, tests: [CONTRACT], named: 'deliveries to webhooks' },
    ['webhook-written-without-lease', 'WHERE EXISTS (SELECT 1 FROM lease) ORDER BY', 'ORDER BY'],
    ['webhook-told-goes-back', 'greatest(w.told_to, ${of.toldTo})', '${of.toldTo}'],
    ['webhook-disabled-is-told-twice', ' AND found.disabled_at IS NULL', ''],
    ['webhook-due-at-once', 'd.next_at <= now()', 'd.next_at IS NOT NULL'],
    ['webhook-due-by-number', 'ORDER BY d.next_at, d.seq LIMIT', 'ORDER BY d.seq LIMIT'],
    ['webhook-delivered-keeps-its-row', 'AND d.seq = ANY (${of.gone})', 'AND d.seq < 0'],
  ),
  ...mistakesNamed(
    { file: `${PG}/events/webhooks.ts`, tests: [CONTRACT], named: 'deliveries to webhooks' },
    ['webhook-replay-is-the-last-attempt', 'SET attempts = 0, next_at', 'SET next_at'],
    ['webhook-letters-go-early', 'DEAD_KEPT_DAYS = 30', 'DEAD_KEPT_DAYS = 28'],
    ['webhook-letters-stay', 'DEAD_KEPT_DAYS = 30', 'DEAD_KEPT_DAYS = 300'],
    ['webhook-left-goes-early', 'DUE_KEPT_DAYS = 90', 'DUE_KEPT_DAYS = 88'],
    ['webhook-left-stays', 'd.webhook = w.name AND ${LEFT} LIMIT', 'false LIMIT'],
  ),
  ...mistakesNamed(
    { file: `${PG}/session.ts`, tests: [LOCKED], named: 'a session that is closed' },
    [
      'closed-session-is-told-as-expired',
      'CASE WHEN session_deadline > now() THEN now() ELSE closed_at END',
      'closed_at',
    ],
    [
      'late-goodbye-is-untold',
      'CASE WHEN session_deadline > now() THEN now()',
      'CASE WHEN true THEN now()',
    ],
  ),
];

const order: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${PG}/events/horizon.ts`, tests: [HORIZON], named: 'how far events are complete' },
    [
      'events-wait-at-rest',
      '  if (xmin === begun) return { number: newest, pending: null };\n',
      '',
    ],
    ['events-told-while-pending', 'return { number, pending };', 'return pending;'],
    [
      'events-begun-is-the-oldest',
      'const seen = { number: newest, xid: begun };',
      'const seen = { number: newest, xid: xmin };',
    ],
  ),
  ...mistakesNamed({ file: `${PG}/events/read.ts`, tests: [HORIZON] }, [
    'events-told-beyond-the-horizon',
    ' && BigInt(seq) <= horizon',
    '',
  ]),
  ...mistakesNamed(
    { file: `${PG}/events/read.ts`, tests: [CONTRACT], named: 'the order of events' },
    ['events-of-a-restored-database-never', 'BigInt(after) > BigInt(newest);', 'false;'],
  ),
];

/** Events in their order, and what becomes of each at a webhook. */
export const mutations: readonly Mutation[] = [
  ...delivering,
  ...verdicts,
  ...sending,
  ...rows,
  ...order,
];
