import { expect, test } from 'vitest';
import { z } from 'zod';
import { ANSWERS } from '../../../src/adapters/provider/equinix/api.ts';
import { HttpFailure } from '../../../src/adapters/driver-kit/exchange.ts';
import { createRedact } from '../../../src/adapters/driver-kit/redaction.ts';
import { judgeFailure, judgeReply, waitAsked } from '../../../src/adapters/driver-kit/outcome.ts';
import { testRows } from '../../support/rows.ts';

const NOW_MS = Date.parse('2026-08-01T10:00:00Z');
const OWN = '{"errors":["no"]}';
const judge = async (
  status: number,
  {
    mutates = false,
    endpoint = 'GetDevice',
    text = status >= 400 ? OWN : '',
    type = 'application/json; charset=utf-8',
  } = {},
) => {
  const redact = (line: string) => line;
  const attempted = { form: ANSWERS, endpoint, mutates, schema: z.unknown(), redact };
  const verdict = await judgeReply(
    attempted,
    { status, headers: { 'content-type': type }, text },
    NOW_MS,
  );
  return verdict.type === 'ok' ? 'ok' : `${verdict.type} ${verdict.failure.kind}`;
};

testRows([
  [200, 'ok', 'ok'],
  [201, 'ok', 'ok'],
  [202, 'ok', 'ok'],
  [204, 'ok', 'ok'],
  [301, 'fail Protocol', 'ambiguous Protocol'],
  [302, 'fail Protocol', 'ambiguous Protocol'],
  [307, 'fail Protocol', 'ambiguous Protocol'],
  [400, 'fail Rejected', 'fail Rejected'],
  [401, 'fail Unauthorized', 'fail Unauthorized'],
  [403, 'fail Forbidden', 'fail Forbidden'],
  [404, 'fail NotFound', 'fail NotFound'],
  [405, 'fail Rejected', 'fail Rejected'],
  [406, 'fail Rejected', 'fail Rejected'],
  [408, 'retry Network', 'ambiguous OutcomeUnknown'],
  [409, 'fail Rejected', 'fail Rejected'],
  [410, 'fail Rejected', 'fail Rejected'],
  [413, 'fail Rejected', 'fail Rejected'],
  [415, 'fail Rejected', 'fail Rejected'],
  [422, 'fail Rejected', 'fail Rejected'],
  [425, 'retry Network', 'retry Network'],
  [429, 'retry RateLimited', 'retry RateLimited'],
  [500, 'retry Network', 'ambiguous OutcomeUnknown'],
  [502, 'retry Network', 'ambiguous OutcomeUnknown'],
  [503, 'retry Network', 'ambiguous OutcomeUnknown'],
  [504, 'retry Network', 'ambiguous OutcomeUnknown'],
])('status %i: a read is %s, a change is %s', async (status, read, change) => {
  expect(await judge(status)).toBe(read);
  expect(await judge(status, { mutates: true })).toBe(change);
});

testRows([
  [403, 'retry Network', 'fail Forbidden'],
  [404, 'retry Network', 'ambiguous OutcomeUnknown'],
  [410, 'retry Network', 'ambiguous OutcomeUnknown'],
  [422, 'fail Rejected', 'fail Rejected'],
])(
  "A2: status %i that is not the API's own: a read is %s, a change is %s",
  async (status, read, change) => {
    const foreign = { text: 'default backend - 404', type: 'text/plain' };
    expect(await judge(status, foreign)).toBe(read);
    expect(await judge(status, { ...foreign, mutates: true })).toBe(change);
    expect(await judge(status, { text: OWN, type: 'text/html' })).toBe(read);
    expect(await judge(status, { text: '', type: '' })).toBe(read);
  },
);

test('A2: both forms of the API are its own', async () => {
  for (const text of ['{"errors":[]}', '{"error":"no"}', OWN]) {
    for (const type of [
      'application/json',
      'application/json;charset=utf-8',
      'application/problem+json',
    ]) {
      expect(await judge(404, { text, type })).toBe('fail NotFound');
    }
  }
});

testRows([
  'There are no available hardware reservations for this plan',
  'The facility has no provisionable m3.large.x86 servers matching your criteria',
  'Not enough capacity',
])('503 on a creation that says "%s" is Capacity; elsewhere it is not', async (message) => {
  const text = JSON.stringify({ errors: [message] });
  const creation = { mutates: true, endpoint: 'CreateDevice', text };
  expect(await judge(503, creation)).toBe('fail Capacity');
  expect(await judge(503, { ...creation, endpoint: 'UpdateDevice' })).toMatch(/^ambiguous/);
  expect(await judge(503, { ...creation, text: '' })).toMatch(/^ambiguous/);
  expect(await judge(500, creation)).toMatch(/^ambiguous/);
});

test('a success that cannot be read: a read is tried again, a change is ambiguous', async () => {
  expect(await judge(200, { text: '{' })).toBe('retry Protocol');
  expect(await judge(201, { text: '{', mutates: true })).toBe('ambiguous Protocol');
});

testRows([
  ['transport', false, 'retry Network', 'retry Network'],
  ['transport', true, 'retry Network', 'ambiguous OutcomeUnknown'],
  ['timeout', false, 'retry Network', 'retry Network'],
  ['timeout', true, 'retry Network', 'ambiguous OutcomeUnknown'],
  ['oversize', true, 'fail Protocol', 'ambiguous OutcomeUnknown'],
  ['certificate', false, 'fail Network', 'fail Network'],
  ['unsendable', false, 'fail InvalidArgument', 'fail InvalidArgument'],
] as const)('%s, sent %s: a read is %s, a change is %s', (reason, sent, read, change) => {
  const failed = (mutates: boolean) => {
    const verdict = judgeFailure({ mutates }, new HttpFailure(reason, sent, 'failed'));
    return verdict.type === 'ok' ? 'ok' : `${verdict.type} ${verdict.failure.kind}`;
  };
  expect(failed(false)).toBe(read);
  expect(failed(true)).toBe(change);
});

testRows([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': 'Sat, 01 Aug 2026 10:00:20 GMT' }, 20_000],
  [{ 'retry-after': 'Sat, 01 Aug 2026 09:00:00 GMT' }, 0],
  [
    { 'retry-after': 'Sat, 01 Aug 2026 10:00:20 GMT', date: 'Sat, 01 Aug 2026 10:00:15 GMT' },
    5_000,
  ],
  [{ 'retry-after': 'soon' }, 20_000],
  [{ 'retry-after': '-5' }, 20_000],
  [{ 'retry-after': '+60' }, 20_000],
  [{ 'retry-after': '1.5' }, 20_000],
  [{ 'retry-after': '0x10' }, 20_000],
  [{ 'retry-after': '2026-08-01' }, 20_000],
  [{ 'retry-after': '' }, 20_000],
  [{ 'retry-after': ' 7 ' }, 7_000],
  [{ 'retry-after': '86400' }, 3_600_000],
  [{ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578430' }, 30_000],
  [{ 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '1785578430' }, 0],
  [{ 'x-ratelimit-remaining': '0' }, 0],
  [
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1785578430', 'retry-after': '40' },
    40_000,
  ],
  [{}, 0],
])('%o asks for %i ms', (headers, waitMs) => {
  expect(waitAsked({ headers }, NOW_MS)).toBe(waitMs);
});

test('what a server says is freed of secrets before it is shortened', async () => {
  const secret = 'a1b2c3d4e5f6a7b8c9d0';
  const text = JSON.stringify({ errors: [`${'-'.repeat(294)}${secret}`] });
  const redact = createRedact([secret]);
  const sent = { endpoint: 'CreateDevice', mutates: true, schema: z.unknown(), redact };
  const attempted = { ...sent, form: ANSWERS };
  const verdict = await judgeReply(attempted, { status: 422, headers: {}, text }, NOW_MS);
  expect(JSON.stringify(verdict)).not.toContain('a1b2');
});
