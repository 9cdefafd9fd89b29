import { describe, expect, test } from 'vitest';
import { NO_TROUBLE, type Trouble } from '../../../src/domain/balancing/matches.ts';
import { keyOf, type Desired, type Observed } from '../../../src/domain/balancing/objects.ts';
import {
  planOf,
  type Action,
  type PlanInput,
  type Refusal,
} from '../../../src/domain/balancing/plan.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { rowsIn, span } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';
import { desired, M1, M2, M3, observedOf, pool } from './pool.ts';

const NOW = 1_700_000_000_000;
const IDS: Readonly<Record<string, MachineId>> = { A: M1, B: M2, C: M3 };
const ports = pool().ports;
/** The ports of the pool: `http` alone, or a second port with another name or external port. */
const PORTS = {
  one: [ports[0]!],
  tls: [ports[0]!, { ...ports[1]!, name: 'tls' }],
  tls444: [ports[0]!, { ...ports[1]!, name: 'tls', external: 444 }],
};
/** `server A.http`: machines by their letter, without the common suffix of all names. */
const short = (name: string): string =>
  Object.entries(IDS)
    .reduce((text, [letter, id]) => text.replace(id, letter), name)
    .replace('.api.eu', '');
const titleOf = ({ kind, name }: { kind: string; name: string }) => `${kind} ${short(name)}`;
const SIGNS = { create: '+', destroy: '-', update: '~', adopt: '=' } as const;
const told = (action: Action): string =>
  SIGNS[action.act] + titleOf(action.act === 'create' ? action.desired.spec : action.object.spec);
function desiredIn([machines = '', of]: readonly string[]): readonly Desired[] {
  if (machines === 'nothing') return [];
  const ids = machines === 'none' ? [] : machines.split('').map((letter) => IDS[letter]!);
  return desired(ids, of === undefined ? {} : { ports: PORTS[of as 'tls'] });
}

/**
 * The desired and the existing objects in words: `wants AB tls`, `there ABC` (default: all of A and
 * B; `none`: no machine). Then differences of objects whose title begins so: `lacks bind`, `slow
 * frontend`, `failed backend http`, `untagged server`, `differs server A.http`, `moved bind
 * v4.http`. Then circumstances.
 */
const WORDS = new Set([
  ...['', 'wants', 'there', 'beside', 'lacks', 'slow', 'failed', 'untagged', 'differs', 'moved'],
  ...['trouble', 'refused', 'rigid', 'gone', 'accepted'],
]);
function inputOf(words: string): PlanInput {
  const phrases = words.split(', ').map((phrase) => phrase.split(' '));
  for (const [word = ''] of phrases) if (!WORDS.has(word)) throw new Error(`no word is "${word}"`);
  const saying = (name: string) => phrases.filter(([word]) => word === name).map(([, ...of]) => of);
  const [wanted = ['AB']] = saying('wants');
  const [there = ['AB']] = saying('there');
  const objects = [...desiredIn(there), ...saying('beside').flatMap((of) => desiredIn(of))];
  const seen = new Map(objects.map((each) => [keyOf(each.spec.kind, each.spec.name), each]));
  const observed = observedOf([...seen.values()], ({ spec }) => {
    const is = (name: string) =>
      saying(name).some((of) =>
        `${titleOf(spec)}.`.replace(' ', '.').startsWith(`${of.join('.')}.`),
      );
    if (is('lacks')) return null;
    return {
      ...(is('slow') && { phase: 'progressing' as const }),
      ...(is('failed') && { phase: 'failed' as const }),
      ...(is('untagged') && { tagged: false }),
      ...(is('differs') && { differs: 'its check is off' }),
      ...(is('moved') && { parentId: 'frontend of before' }),
    };
  });
  const troubles = new Map<string, Trouble>();
  for (const [kind = '', name = '', ...of] of saying('trouble')) {
    const fields = of.map((word) => word.split('=') as [string, string]);
    const at = ([key, text]: [string, string]): [string, unknown] =>
      key === 'tried'
        ? ['triedAtMs', NOW - span(text)]
        : [key, text === 'true' ? true : key === 'stuckUntilMs' ? NOW + span(text) : Number(text)];
    const trouble = { ...NO_TROUBLE, ...(Object.fromEntries(fields.map(at)) as Partial<Trouble>) };
    troubles.set(keyOf(kind as 'bind', `${name}.api.eu`), trouble);
  }
  const refusals = new Map<string, Refusal>();
  for (const [act = '', kind = '', name = '', since = '0s'] of saying('refused')) {
    const refusal = { count: 1, atMs: NOW - span(since), why: 'bad address' };
    refusals.set(`${act} ${kind} ${name}.api.eu`, refusal);
  }
  return {
    ...{ desired: desiredIn(wanted), observed, troubles, refusals, nowMs: NOW },
    capabilities: { update: saying('rigid').length === 0 },
    letGo: new Set(
      saying('gone').flatMap(([letters = '']) => letters.split('').map((of) => IDS[of]!)),
    ),
    mayDropAll: saying('accepted').length > 0,
  };
}
const plan = (words: string, more: Partial<PlanInput> = {}) =>
  planOf({ ...inputOf(words), ...more });
/** The stage and its actions; `incomplete` if a settled pool differs from its desired state. */
function doing(words: string, more: Partial<PlanInput> = {}): string {
  const { stage, actions, isComplete } = plan(words, more);
  const rest = stage === 'settled' && !isComplete ? ['incomplete'] : [];
  return [stage, ...actions.map(told), ...rest].join(' ');
}
const testPlans = (title: string, table: string) =>
  testRows(rowsIn(table))(`${title}: %s`, (words, expected) => {
    expect(doing(words)).toBe(expected);
  });

test('vector 1: takes passes for 2 backends; 2 frontends and 4 servers; 4 binds; nothing', () => {
  let observed: readonly Observed[] = [];
  const passes: Record<string, number>[] = [];
  for (;;) {
    const { stage, actions } = plan('', { observed });
    if (stage === 'settled') break;
    expect(stage).toBe('creating');
    const made = actions.flatMap((action) => (action.act === 'create' ? [action.desired] : []));
    const counts: Record<string, number> = {};
    for (const { spec } of made) counts[spec.kind] = (counts[spec.kind] ?? 0) + 1;
    passes.push(counts);
    observed = [...observed, ...observedOf(made)];
  }
  expect(passes).toEqual([{ backend: 2 }, { frontend: 2, server: 4 }, { bind: 4 }]);
});

test('vector 2: does nothing when everything exists', () => {
  expect(plan('')).toMatchObject({ stage: 'settled', actions: [], isComplete: true });
});

testPlans(
  'vectors 3 and 22: what is nobody’s member goes before anything else, not too much at once',
  `
  there ABC, lacks server C.http, differs server C         → dropping -server C.https
  there ABC, slow frontend, failed server A.http           → dropping -server C.http -server C.https
  wants A, there ABC                                       → frozen
  wants A, there AB                                        → dropping -server B.http -server B.https
  wants A, there ABC, gone B                               → dropping -server B.http -server C.http -server B.https -server C.https
  wants none, there ABC, accepted                          → dropping -server A.http -server B.http -server C.http -server A.https -server B.https -server C.https`,
);

test('vector 22: reports which servers would go', () => {
  expect(plan('wants A, there ABC')).toMatchObject({ actions: [], dropping: [M2, M3] });
});

testPlans(
  'vectors 5 and 15: ports are made before others are broken, children first',
  `
  there AB one                                             → creating +backend https
  wants AB one                                             → leaving -bind v4.https -bind v6.https -server A.https -server B.https -frontend https -backend https
  wants AB tls444                                          → creating +backend tls
  wants AB tls444, beside AB tls444, slow bind v4.tls      → waiting
  wants AB tls444, beside AB tls444                        → leaving -bind v4.https -bind v6.https -server A.https -server B.https -frontend https -backend https
  wants AB tls, beside AB tls, lacks bind v4.tls, lacks bind v6.tls → clashing -bind v4.https -bind v6.https
  wants nothing, accepted                                  → leaving -bind v4.http -bind v6.http -bind v4.https -bind v6.https -server A.http -server B.http -server A.https -server B.https -frontend http -frontend https -backend http -backend https`,
);

testPlans(
  'vector 9: a child waits for its parent, and is moved to it where that is possible',
  `
  lacks bind, lacks server B, slow backend                 → creating +bind v4.http +bind v6.http +bind v4.https +bind v6.https
  lacks backend http                                       → creating +backend http
  lacks server, slow frontend                              → creating +server A.http +server B.http +server A.https +server B.https
  slow frontend                                            → waiting
  moved bind v4.http                                       → creating ~bind v4.http
  moved bind v4.http, rigid                                → clashing -bind v4.http
  differs server A.http                                    → creating ~server A.http
  differs server A.http, rigid                             → clashing -server A.http`,
);

const FAILED = 'failed backend http, trouble backend http';
testPlans(
  'vector 8: what failed is asked for three times more, ever later, then made anew, then rests',
  `
  failed backend http                                      → recovering ~backend http
  ${FAILED} recoveries=1 tried=29s999ms                    → settled incomplete
  ${FAILED} recoveries=1 tried=30s                         → recovering ~backend http
  ${FAILED} recoveries=2 tried=119s999ms                   → settled incomplete
  ${FAILED} recoveries=2 tried=2m                          → recovering ~backend http
  ${FAILED} recoveries=3 tried=599s999ms                   → settled incomplete
  ${FAILED} recoveries=3 tried=10m                         → clashing -backend http
  ${FAILED} recoveries=3 tried=10m isBlocked=true          → clashing -bind v4.http -bind v6.http -server A.http -server B.http -frontend http -backend http
  ${FAILED} replacements=1 tried=1m                        → settled incomplete
  ${FAILED} replacements=1 tried=1m, wants A               → dropping -server B.http -server B.https
  ${FAILED} recoveries=1 tried=0s, lacks server            → creating +server A.https +server B.https
  failed backend http, rigid                               → clashing -backend http`,
);

test('vector 8: reports the next attempt and the objects on cooldown', () => {
  expect(plan(`${FAILED} recoveries=1 tried=29s999ms`).retryAtMs).toBe(NOW + 1);
  expect(plan(`${FAILED} replacements=1 tried=1m`).shelved).toEqual(['http.api.eu']);
});

testPlans(
  'what took too long to get ready is not waited for any more, and holds nobody back',
  `
  slow bind v4.http                                        → waiting
  slow bind v4.http, trouble bind v4.http stuckUntilMs=1ms → settled incomplete`,
);

describe('refused changes of a plan', () => {
  testPlans(
    'keep no other waiting, and are asked for again after a while',
    `
    lacks bind v6.http, lacks server, refused create bind v6.http → creating +server A.http +server B.http +server A.https +server B.https
    lacks bind v6.http, refused create bind v6.http        → settled incomplete
    lacks bind v6.http, refused create bind v6.http 5s     → creating +bind v6.http`,
  );
  test('are reported', () => {
    expect(plan('lacks bind v6.http, refused create bind v6.http')).toMatchObject({
      refused: [{ what: 'create bind v6.http.api.eu', why: 'bad address' }],
      retryAtMs: NOW + 5_000,
    });
  });
  test('keep a server that cannot be destroyed and let a namesake go', () => {
    const [first, second] = plan('there ABC').actions;
    const id = first?.act === 'destroy' ? first.object.ref.id : '';
    const refusal: Refusal = { count: 1, atMs: NOW, why: 'no' };
    const refusals = new Map([[`destroy server ${id}`, refusal]]);
    expect(plan('there ABC', { refusals }).actions).toEqual([second]);
  });
});

describe('a server to remove that still serves', () => {
  const oldBind: Observed = {
    ...observedOf(desired()).find(({ spec }) => spec.name === 'v4.http.api.eu')!,
    ref: { kind: 'bind', id: 'old' },
    spec: { kind: 'bind', name: 'v4-0ld.http.api.eu', address: '198.51.100.1', number: 80 },
  };
  const withOld = (words: string) =>
    doing(words, { observed: [...inputOf(words).observed, oldBind] });
  testRows([
    ['slow bind v4.http, trouble bind v4.http stuckUntilMs=1ms', 'settled incomplete'],
    ['failed bind v4.http, trouble bind v4.http recoveries=1 tried=0s', 'settled incomplete'],
    ['', 'leaving -bind v4-0ld.http'],
    [
      'failed bind v4.https, trouble bind v4.https recoveries=1 tried=0s',
      'leaving -bind v4-0ld.http',
    ],
  ])('stays until its successor is ready on its own port: %s: %s', (words, expected) => {
    expect(withOld(words)).toBe(expected);
  });
});

testRows([
  ['ready', 'a', 'the lower id stays', `server ${M1}.http.api.eu`],
  ['ready', 'z', 'the lower id stays', 'z'],
  ['progressing', 'a', 'the ready one stays', 'a'],
  ['failed', 'a', 'the ready one stays', 'a'],
] as const)(
  'vector 17: chooses among twins when one is %s with the id %s: %s',
  (phase, id, _, goes) => {
    const { observed } = inputOf('');
    const own = observed.find(({ spec }) => titleOf(spec) === 'server A.http')!;
    const twin: Observed = { ...own, phase, ref: { kind: 'server', id } };
    const { stage, actions } = plan('', { observed: [...observed, twin] });
    expect(stage).toBe('leaving');
    expect(actions).toMatchObject([{ act: 'destroy', object: { ref: { id: goes } } }]);
  },
);

testPlans(
  'vector 14: objects without a tag are adopted, and not made again or destroyed before',
  `
  untagged bind                                            → creating =bind v4.http =bind v6.http =bind v4.https =bind v6.https
  wants A, untagged server                                 → creating =server A.http =server A.https
  wants A, untagged server B                               → leaving =server B.http =server B.https`,
);
