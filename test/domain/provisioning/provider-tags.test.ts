import { expect, test } from 'vitest';
import {
  endOfCreation,
  IDLE_BEHAVIOURS,
  IDLE_TAG,
  holdsMeantBy,
  idleBehaviourOf,
  taggedBehaviour,
} from '../../../src/domain/provisioning/provider-tags.ts';
import {
  ProviderError,
  Unreachable,
  type ProviderErrorFacets,
  type ProviderErrorKind,
} from '../../../src/domain/errors.ts';
import type { HoldKind } from '../../../src/domain/machine.ts';

const error = (kind: ProviderErrorKind, facets: ProviderErrorFacets = {}) =>
  new ProviderError(kind, 'scripted', facets);
const soon = { rateLimit: { retryAt: new Date(1) } };

test.each<readonly [string, Error, string, string, boolean]>([
  ['a refusal blames the slot', error('invalid'), 'failed', 'rejected', true],
  ['a conflict blames the slot', error('conflict'), 'failed', 'rejected', true],
  ['a lost race only evicts it', error('race-lost'), 'failed', 'race_lost', false],
  ['our token', error('auth'), 'failed', 'unavailable', false],
  ['an outage', error('transient'), 'failed', 'unavailable', false],
  ['a rate limit', error('transient', soon), 'failed', 'rate_limited', false],
  ['a quota', error('invalid', { quota: true }), 'failed', 'quota', false],
  ['no capacity', error('transient', { capacity: { scope: 'all' } }), 'failed', 'capacity', false],
  ['an abort', error('aborted'), 'open', 'aborted', false],
  ['a stop', error('stopped'), 'open', 'aborted', false],
  ['a lost reply', error('transient', { outcome: 'unknown' }), 'unresolved', 'unknown', false],
  [
    'an abort after it was sent',
    error('aborted', { outcome: 'unknown' }),
    'unresolved',
    'unknown',
    false,
  ],
  ['what is no error of a provider', new Unreachable('database'), 'unresolved', 'unknown', false],
])('%s', (_, cause, intent, outcome, isSlotToBlame) => {
  expect(endOfCreation(cause, { isResumed: false, isAttempted: false })).toEqual({
    intent,
    outcome,
    isSlotToBlame,
  });
});

test('ends only by a stranger’s proof after an earlier request', () => {
  for (const kind of ['invalid', 'conflict', 'auth', 'transient', 'permanent'] as const) {
    expect(endOfCreation(error(kind), { isResumed: true, isAttempted: false })).toMatchObject({
      intent: 'unresolved',
      isSlotToBlame: false,
    });
  }
  expect(endOfCreation(error('race-lost'), { isResumed: true, isAttempted: false })).toMatchObject({
    intent: 'failed',
  });
});

test('treats an outage after a request as no definite refusal, unlike other errors', () => {
  const attempted = { isResumed: false, isAttempted: true };
  expect(endOfCreation(error('transient'), attempted)).toMatchObject({ intent: 'unresolved' });
  for (const kind of ['invalid', 'conflict', 'auth', 'race-lost'] as const) {
    expect(endOfCreation(error(kind), attempted)).toMatchObject({ intent: 'failed' });
  }
  expect(endOfCreation(error('transient', soon), attempted)).toMatchObject({ intent: 'failed' });
});

test.each<readonly [HoldKind[], string]>([
  [[], 'run'],
  [['no-allocate'], 'run'],
  [['no-start'], 'drain'],
  [['no-recover'], 'hold'],
  [['preserve'], 'hold'],
  [['no-start', 'no-recover'], 'hold'],
  [['no-start', 'preserve', 'no-allocate'], 'hold'],
])('reads the holds %j: %s', (holds, behaviour) => {
  expect(idleBehaviourOf(holds)).toBe(behaviour);
});

test.each<readonly [string | undefined, string]>([
  ...IDLE_BEHAVIOURS.map((each) => [each, each] as const),
  [undefined, 'run'],
  ['HOLD', 'run'],
  ['', 'run'],
])('reads the tag %j: %s', (tag, behaviour) => {
  expect(taggedBehaviour(tag === undefined ? {} : { [IDLE_TAG]: tag })).toBe(behaviour);
});

test('maps the holds of a behaviour back to that behaviour', () => {
  for (const each of IDLE_BEHAVIOURS) expect(idleBehaviourOf(holdsMeantBy(each))).toBe(each);
});
