import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ApiTerms, Exchange } from '../../../src/adapters/driver-kit/terms.ts';
import { type ApiError, toProviderError } from '../../../src/adapters/driver-kit/errors.ts';
import type { AnswerForm } from '../../../src/adapters/driver-kit/outcome.ts';
import { createApiStand } from './stand.ts';
import { testRows } from '../../support/rows.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const live = new AbortController().signal;
const schema = z.unknown();

/** As Robot tells it: 403 with its limit in the body or with none, and 503 while it is maintained. */
const ROBOT: AnswerForm = {
  errorsIn: (json) => (json === undefined ? null : ['no']),
  tellsAbsence: new Set([404]),
  staysAway({ status, json, waitAskedMs, inARow }) {
    if (status === 503) return { waitMs: waitAskedMs || 5 * MINUTE };
    if (status !== 403) return undefined;
    const told = z.object({ max_requests: z.number(), interval: z.number() }).safeParse(json).data;
    const { max_requests: max, interval } = told ?? { max_requests: 200, interval: 3_600 };
    const leastMs = Math.max(MINUTE, (2 * interval * 1_000) / max);
    return { waitMs: Math.min(interval * 1_000, leastMs * 2 ** (inARow - 1)) };
  },
};
const BY_PATH: Partial<ApiTerms> = {
  form: ROBOT,
  classes: { reset: { budgets: [{ startsMax: 45, withinMs: HOUR, keptForUrgent: 10 }] }, list: {} },
  classOf: ({ path }: Exchange) =>
    path.startsWith('/reset') ? 'reset' : path === '/server' ? 'list' : null,
};
const listing = { method: 'GET', path: '/server', schema } as const;
const reset = { method: 'POST', path: '/reset/1', body: { type: 'hw' }, schema } as const;

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error as ApiError,
  );

test('the wait grows with each answer in a row that asks for one', async () => {
  const { api, clock } = await createApiStand((_, n) => ({ status: n === 3 ? 200 : 403 }), BY_PATH);
  const waits: number[] = [];
  for (const fails of [true, true, false, true]) {
    if (!fails) await api.call('list', live).send(listing);
    else {
      const { retryAt } = await failureOf(api.call('list', live).send(listing));
      waits.push(retryAt! - clock.now());
    }
  }
  expect(waits).toEqual([MINUTE, 2 * MINUTE, MINUTE]);
});

test('hetzner-robot vector 24: an empty budget is an error of ours and no request; urgent calls go', async () => {
  const { api, clock, heard } = await createApiStand(() => ({ status: 200, body: {} }), BY_PATH);
  for (let n = 0; n < 35; n++) await api.call('reset', live).send(reset);
  clock.increment(MINUTE);
  const error = await failureOf(api.call('reset', live).send(reset));
  expect(error).toMatchObject({
    kind: 'RateLimited',
    retryAt: clock.now() + HOUR - MINUTE,
    attempts: 0,
    ambiguous: false,
    message: expect.stringContaining('our own budget'),
  });
  expect(heard).toHaveLength(35);
  await api.call('give back', live).send({ ...reset, urgent: true });
  expect(heard).toHaveLength(36);
  expect(api.left('reset', true)).toBe(9);
});

test('a call that the core calls urgent is so without saying it', async () => {
  const waitsForTurn = () => ({ urgent: true, end: () => undefined });
  const answer = () => ({ status: 200, body: {} });
  const { api, heard } = await createApiStand(answer, BY_PATH, { waitsForTurn });
  for (let n = 0; n < 45; n++) await api.call('reset', live).send(reset);
  expect(heard).toHaveLength(45);
  await failureOf(api.call('reset', live).send(reset));
  expect(heard).toHaveLength(45);
});

test('a wait for the budget that is short enough is sat out', async () => {
  const { api, clock, heard } = await createApiStand(() => ({ status: 200, body: {} }), {
    classes: { read: { budgets: [{ startsMax: 2, withinMs: MINUTE }] } },
    classOf: () => 'read',
  });
  for (let n = 0; n < 2; n++) await api.call('list', live).send(listing);
  clock.increment(40_000);
  const third = api.call('list', live).send(listing);
  await new Promise((resolve) => setImmediate(resolve));
  expect(heard).toHaveLength(2);
  clock.increment(20_000);
  await third;
  expect(heard).toHaveLength(3);
});

/** As Latitude tells it: seconds in the body. */
const LATITUDE: AnswerForm = {
  errorsIn: (json) => (json === undefined ? null : ['no']),
  tellsAbsence: new Set([404]),
  staysAway({ status, json, waitAskedMs }) {
    if (status !== 429) return undefined;
    const errors = z.object({
      errors: z.array(z.object({ meta: z.object({ retry_after: z.number() }) })),
    });
    const seconds = errors.safeParse(json).data?.errors[0]?.meta.retry_after;
    return { waitMs: seconds === undefined ? waitAskedMs || MINUTE : seconds * 1_000 };
  },
  kindOf: ({ status }) => (status === 403 ? 'Unauthorized' : undefined),
};
const READS_AND_WRITES: Partial<ApiTerms> = {
  form: LATITUDE,
  classes: { reads: {}, writes: {} },
  classOf: ({ method }) => (method === 'GET' ? 'reads' : 'writes'),
};

testRows([
  ['seconds in the body', { errors: [{ meta: { retry_after: 61 } }] }, {}, 61_000],
  ['Retry-After', {}, { 'Retry-After': '42' }, 42_000],
  ['neither', {}, {}, MINUTE],
])('429 with %s holds up reads, and no writes', async (_, body, headers, waitMs) => {
  const { api, clock, heard } = await createApiStand(
    ({ method }) => (method === 'GET' ? { status: 429, body, headers } : { status: 201, body: {} }),
    READS_AND_WRITES,
  );
  const error = await failureOf(api.call('list', live).send(listing));
  expect(error.retryAt).toBe(clock.now() + waitMs);
  await api.call('create', live).send({ method: 'POST', path: '/servers', body: {}, schema });
  expect(heard).toHaveLength(2);
});

test('a pause that is short enough is sat out by its class alone', async () => {
  const { api, clock, heard } = await createApiStand(
    ({ method }, n) =>
      method === 'GET' && n === 1
        ? { status: 429, body: { errors: [{ meta: { retry_after: 20 } }] } }
        : { status: 200, body: {} },
    READS_AND_WRITES,
  );
  const read = api.call('list', live).send(listing);
  await expect.poll(() => heard.length).toBe(1);
  await api.call('create', live).send({ method: 'POST', path: '/servers', body: {}, schema });
  expect(heard.map(({ method }) => method)).toEqual(['GET', 'POST']);
  await expect.poll(() => clock.pending).toBeGreaterThan(0);
  clock.increment(21_000);
  await read;
  expect(heard.map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
});

test('what the form calls Unauthorized keeps all classes silent until the token changes', async () => {
  let token = 'old';
  const { api, clock, heard } = await createApiStand(
    ({ headers }) => ({ status: headers.authorization === 'Bearer new' ? 200 : 403, body: {} }),
    { ...READS_AND_WRITES, token: () => token },
  );
  const write = { method: 'POST', path: '/servers', body: {}, schema } as const;
  expect(await failureOf(api.call('list', live).send(listing))).toMatchObject({
    kind: 'Unauthorized',
  });
  for (let n = 0; n < 10; n++) await failureOf(api.call('create', live).send(write));
  expect(heard).toHaveLength(1);
  token = 'new';
  await api.call('create', live).send(write);
  expect(heard).toHaveLength(2);
  token = 'old';
  clock.increment(600_000);
  await failureOf(api.call('list', live).send(listing));
  expect(heard).toHaveLength(3);
});

test('an answer that asks to stay away and leaves a change in doubt is told as both', async () => {
  const form: AnswerForm = { ...ROBOT, staysAway: () => ({ waitMs: 300_000, ambiguous: true }) };
  const { api, clock, heard } = await createApiStand(() => ({ status: 503 }), { ...BY_PATH, form });
  const error = await failureOf(api.call('reset', live).send(reset));
  expect(error).toMatchObject({ ambiguous: true, retryAt: clock.now() + 300_000 });
  expect(toProviderError(error, 'resetting')).toMatchObject({ outcome: 'unknown' });
  expect(heard).toHaveLength(1);
});
