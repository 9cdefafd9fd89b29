import { expect, test } from 'vitest';
import { createManualClock } from '../../emulators/kit/clock.ts';
import type { EquinixFaultRule } from '../../emulators/equinix/fault-rules.ts';
import type { EquinixEmulator } from '../../emulators/equinix/options.ts';
import { testRows } from '../support/rows.ts';
import { clientOf, createOn, start } from './equinix/harness.ts';

/* Faults common to all emulators, tested on one of them. */

type CommonRuleEffect = EquinixFaultRule['effect'];
const create = (fake: EquinixEmulator, index: number) =>
  clientOf(fake)('POST', `/projects/${fake.projectId}/devices`, createOn(fake, index));
const raw = (fake: EquinixEmulator, path = '/projects') =>
  fetch(`${fake.url}${path}`, {
    headers: { 'x-auth-token': fake.tokens.user },
    redirect: 'manual',
  });
const statusOf = async (fake: EquinixEmulator, path?: string) => (await raw(fake, path)).status;

const limit = { type: 'rateLimit', limit: 0, windowMs: 7_000 } as const;
const TEXT = { 'Retry-After': '7', 'Content-Type': 'text/plain' };
/** An effect common to all emulators, and the status, body and headers of a GET. */
const ANSWERS: readonly [CommonRuleEffect, number, string | RegExp, object?][] = [
  [{ type: 'status', code: 502, body: null }, 502, /^$/, { 'content-type': null }],
  [{ type: 'status', code: 502, body: '<p>no' }, 502, '<p>no', { 'content-type': 'text/html' }],
  [
    { type: 'status', code: 502, body: { error: 'no' } },
    502,
    '{"error":"no"}',
    { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'fake-1' },
  ],
  [
    { type: 'status', code: 503, body: 'no', headers: TEXT },
    503,
    'no',
    { 'retry-after': '7', 'content-type': 'text/plain' },
  ],
  [{ type: 'headers', headers: { Deprecation: 'true' } }, 200, /"id"/, { deprecation: 'true' }],
  [{ type: 'headers', headers: { Date: 'x' } }, 200, /"id"/, { date: 'x' }],
  [{ type: 'garbage', kind: 'notJson' }, 200, /^[^{"]/, { date: 'Sat, 01 Aug 2026 10:00:00 GMT' }],
  [{ type: 'garbage', kind: 'wrongType' }, 200, '"unexpected"'],
  [{ type: 'garbage', kind: 'redirect' }, 302, /^/, { location: '/elsewhere' }],
  [
    limit,
    429,
    '{"errors":["Too many requests"]}',
    { 'retry-after': '7', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578407' },
  ],
  [{ ...limit, retryAfter: 'date' }, 429, /^/, { 'retry-after': 'Sat, 01 Aug 2026 10:00:07 GMT' }],
  [{ ...limit, retryAfter: 'none' }, 429, /^/, { 'retry-after': null }],
];

testRows(ANSWERS)('answers by %j once', async (effect, status, body, headers = {}) => {
  const fake = await start();
  fake.addFault({ times: 1, effect });
  const reply = await raw(fake);
  expect([reply.status, await reply.text()]).toEqual([
    status,
    typeof body === 'string' ? body : expect.stringMatching(body),
  ]);
  for (const [name, value] of Object.entries(headers)) {
    expect([name, reply.headers.get(name)]).toEqual([name, value]);
  }
  expect(await statusOf(fake)).toBe(200);
});

test('delays answers on its own clock, with equal jitter for an equal seed', async () => {
  const waits = async (seed: number) => {
    const delays: number[] = [];
    const clock = {
      ...createManualClock(0),
      setTimeout: (fn: () => void, ms: number) => {
        delays.push(ms);
        queueMicrotask(fn);
      },
    };
    const fake = await start({ clock, seed });
    fake.addFault({ effect: { type: 'latency', minMs: 10, maxMs: 1_000 } });
    for (let i = 0; i < 3; i++) await raw(fake);
    expect(delays.every((ms) => ms >= 10 && ms < 1_000)).toBe(true);
    return delays;
  };
  const one = await waits(3);
  expect(new Set(one).size).toBe(3);
  expect(await waits(3)).toEqual(one);
  expect(await waits(4)).not.toEqual(one);
});

test('limits the requests of a token within a window', async () => {
  const fake = await start();
  fake.addFault({ effect: { type: 'rateLimit', limit: 2, windowMs: 7_000 } });
  const left = (await raw(fake)).headers.get('x-ratelimit-remaining');
  expect([left, await statusOf(fake), await statusOf(fake)]).toEqual(['1', 200, 429]);
  expect((await clientOf(fake, fake.tokens.project)('GET', '/projects')).status).toBe(200);
  await fake.advance(7_000);
  expect(await statusOf(fake)).toBe(200);
});

/** Calls for a rule: a creation on each of two reservations, and three reads. */
testRows([
  [{ method: 'post' }, undefined, [500, 500, 200, 200, 200]],
  [{ route: '/projects/:any/devices/' }, undefined, [500, 500, 200, 200, 200]],
  [{ method: 'POST', route: '/ssh-keys' }, undefined, [201, 201, 200, 200, 200]],
  [{ nth: 2 }, undefined, [201, 500, 200, 200, 200]],
  [{ every: 2 }, undefined, [201, 500, 200, 500, 200]],
  [{ every: 2 }, 1, [201, 500, 200, 200, 200]],
  [{ probability: 0 }, undefined, [201, 201, 200, 200, 200]],
  [{ probability: 1 }, undefined, [500, 500, 500, 500, 500]],
] as const)('applies a rule that matches %j %j times', async (match, times, expected) => {
  const fake = await start();
  fake.addFault({ match, ...(times && { times }), effect: { type: 'status', code: 500 } });
  const statuses = [
    (await create(fake, 0)).status,
    (await create(fake, 1)).status,
    await statusOf(fake, '/facilities'),
    await statusOf(fake),
    await statusOf(fake),
  ];
  expect(statuses).toEqual(expected);
});

test('applies rules of one kind in order, beside rules of other kinds; an id replaces its rule', async () => {
  const fake = await start();
  fake.addFault({ id: 'one', effect: { type: 'status', code: 418 } });
  fake.addFault({ id: 'one', times: 1, effect: { type: 'status', code: 500 } });
  fake.addFault({ times: 1, effect: { type: 'status', code: 503 } });
  fake.addFault({ effect: { type: 'rateLimit', limit: 0, windowMs: 1_000 } });
  const seen = [await statusOf(fake), await statusOf(fake), await statusOf(fake)];
  expect([seen, fake.faults().length]).toEqual([[500, 503, 429], 3]);
});

testRows([
  [{ effect: { type: 'latency' } }],
  [{ effect: { type: 'latency', minMs: 5, maxMs: 4 } }],
  [{ effect: { type: 'latency', ms: 1, minMs: 5, maxMs: 9 } }],
  [{ effect: { type: 'hang' } }],
  [{ match: { colour: 'red' }, effect: { type: 'tokenRevoked' } }],
] as const)('refuses the rule %j', async (rule) => {
  const fake = await start();
  expect(() => fake.addFault(rule as never)).toThrow(/effect|match|type/);
  expect(fake.faults()).toEqual([]);
});
