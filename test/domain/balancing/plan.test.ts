import { describe, expect, test } from 'vitest';
import { planOf, type Action, type PlanInput } from '../../../src/domain/balancing/plan.ts';
import { keyOf, type Observed } from '../../../src/domain/balancing/objects.ts';
import { NO_TROUBLE, type Trouble } from '../../../src/domain/balancing/matches.ts';
import { desired, inPhase, M1, M2, M3, nameOf, observedOf, pool } from './pool.ts';
import { testRows } from '../../support/rows.ts';

const NOW = 1_700_000_000_000;
const plan = (change: Partial<PlanInput> = {}) =>
  planOf({
    desired: desired(),
    observed: observedOf(desired()),
    capabilities: { update: true },
    troubles: new Map(),
    nowMs: NOW,
    letGo: new Set(),
    ...change,
  });
const told = (action: Action): string => {
  const { spec } = action.act === 'create' ? action.desired : action.object;
  return `${action.act} ${spec.kind} ${spec.name}`;
};
const without = (...names: readonly string[]) =>
  observedOf(desired(), ({ spec }) =>
    names.some((name) => `${spec.kind} ${spec.name}`.startsWith(name)) ? null : {},
  );
const trouble = (
  kind: 'backend' | 'frontend' | 'bind' | 'server',
  name: string,
  of: Partial<Trouble>,
) => new Map([[keyOf(kind, name), { ...NO_TROUBLE, ...of }]]);

test('vector 1: passes of 2 backends; 2 frontends and 4 servers; 4 binds; nothing', () => {
  let observed: readonly Observed[] = [];
  const passes: Record<string, number>[] = [];
  for (;;) {
    const { stage, actions } = plan({ observed });
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

test('vector 2: all is there, so there is nothing to do', () => {
  expect(plan()).toMatchObject({ stage: 'settled', actions: [], isComplete: true });
});

test('vector 3: a server too many goes, and only that', () => {
  const extra = observedOf(desired([M3])).filter(({ spec }) => spec.name === nameOf(M3, 'https'));
  const { stage, actions } = plan({
    observed: [
      ...observedOf(desired()),
      ...extra.map((each) => ({ ...each, differs: 'no check' })),
    ],
  });
  expect(stage).toBe('dropping');
  expect(actions.map(told)).toEqual([`destroy server ${nameOf(M3, 'https')}`]);
});

describe('what is nobody’s member is removed before anything else', () => {
  test('although another port waits and a third one failed', () => {
    const observed = observedOf(desired([M1, M2, M3]), inPhase('progressing', 'frontend'));
    const failed = observed.map((each) =>
      each.spec.name === nameOf(M1, 'http') ? { ...each, phase: 'failed' as const } : each,
    );
    const { stage, actions } = plan({ observed: failed });
    expect(stage).toBe('dropping');
    expect(actions).toHaveLength(2);
  });

  test('vector 22: not when more than half of the machines would go at once', () => {
    const gone = plan({ desired: desired([M1]), observed: observedOf(desired([M1, M2, M3])) });
    expect(gone).toMatchObject({ stage: 'frozen', actions: [], dropping: [M2, M3] });
  });
  testRows([
    ['one of two', [M1, M2], []],
    ['those that were let go', [M1, M2, M3], [M2]],
  ] as const)('allows %s', (_, there, letGo) => {
    const { stage } = plan({
      desired: desired([M1]),
      observed: observedOf(desired(there)),
      letGo: new Set(letGo),
    });
    expect(stage).toBe('dropping');
  });
  test('all may when an operator says so', () => {
    const observed = observedOf(desired([M1, M2, M3]));
    expect(plan({ desired: desired([]), observed, mayDropAll: true }).stage).toBe('dropping');
  });
});

describe('make before break', () => {
  const ports = pool().ports;
  const renamed = { ports: [ports[0]!, { ...ports[1]!, name: 'tls', external: 444 }] };

  test('vector 15: a port that is added touches nothing of the other', () => {
    const one = desired([M1, M2], { ports: [ports[0]!] });
    const { stage, actions } = plan({ observed: observedOf(one) });
    expect(stage).toBe('creating');
    expect(actions.map(told)).toEqual(['create backend https.api.eu']);
  });

  test('vector 15: one that is removed is taken down children first, the other stays', () => {
    const { stage, actions } = plan({ desired: desired([M1, M2], { ports: [ports[0]!] }) });
    expect(stage).toBe('leaving');
    expect(actions.map(told)).toEqual([
      'destroy bind v4.https.api.eu',
      'destroy bind v6.https.api.eu',
      `destroy server ${nameOf(M1, 'https')}`,
      `destroy server ${nameOf(M2, 'https')}`,
      'destroy frontend https.api.eu',
      'destroy backend https.api.eu',
    ]);
  });

  test('a port that is replaced goes when the new one is ready, not before', () => {
    const wanted = desired([M1, M2], renamed);
    const before = observedOf(desired());
    const isNew = ({ spec }: Observed) => /\btls\b/.test(spec.name);
    const after = observedOf(wanted).filter(isNew);
    expect(plan({ desired: wanted, observed: before }).stage).toBe('creating');
    const slow = after.map((each) => ({ ...each, phase: 'progressing' as const }));
    expect(plan({ desired: wanted, observed: [...before, ...slow] }).stage).toBe('waiting');
    const { stage, actions } = plan({ desired: wanted, observed: [...before, ...after] });
    expect(stage).toBe('leaving');
    expect(actions).toHaveLength(6);
  });

  test('only what stands in the way goes first: a bind with the same address and port', () => {
    const wanted = desired([M1, M2], { ports: [ports[0]!, { ...ports[1]!, name: 'tls' }] });
    const made = observedOf(wanted).filter(
      ({ spec }) => /\btls\b/.test(spec.name) && spec.kind !== 'bind',
    );
    const { stage, actions } = plan({
      desired: wanted,
      observed: [...observedOf(desired()), ...made],
    });
    expect(stage).toBe('clashing');
    expect(actions.map(told)).toEqual([
      'destroy bind v4.https.api.eu',
      'destroy bind v6.https.api.eu',
    ]);
  });

  test('vector 5: when nothing is wanted all goes, children first', () => {
    const { stage, actions } = plan({ desired: [], mayDropAll: true });
    expect(stage).toBe('leaving');
    const kinds = actions.map((action) => told(action).split(' ')[1]);
    expect(kinds).toEqual([
      ...Array.from({ length: 4 }, () => 'bind'),
      ...Array.from({ length: 4 }, () => 'server'),
      ...Array.from({ length: 2 }, () => 'frontend'),
      ...Array.from({ length: 2 }, () => 'backend'),
    ]);
  });
});

describe('parents', () => {
  test('a child whose parent is not ready is kept, and not made', () => {
    const slow = without('bind', `server ${M2}`).map((each) =>
      each.spec.kind === 'backend' ? { ...each, phase: 'progressing' as const } : each,
    );
    expect(plan({ observed: slow })).toMatchObject({ stage: 'creating' });
    const { actions } = plan({ observed: slow });
    expect(actions.map(told).filter((each) => each.includes('server'))).toEqual([]);
  });

  test('a child whose parent is missing is kept', () => {
    const { stage, actions } = plan({ observed: without('backend http.') });
    expect(stage).toBe('creating');
    expect(actions.map(told)).toEqual(['create backend http.api.eu']);
  });

  test('vector 9: servers are missing and frontends not ready: servers are made, then it waits', () => {
    const observed = without('server').map((each) =>
      each.spec.kind === 'frontend' ? { ...each, phase: 'progressing' as const } : each,
    );
    const { stage, actions } = plan({ observed });
    expect([stage, actions.length]).toEqual(['creating', 4]);
    const rest = observedOf(desired(), inPhase('progressing', 'frontend'));
    expect(plan({ observed: rest })).toMatchObject({ stage: 'waiting', unready: { length: 2 } });
  });

  test('a child of another parent is moved, where that is possible', () => {
    const observed = observedOf(desired(), ({ spec }) =>
      spec.name === 'v4.http.api.eu' ? { parentId: 'frontend of before' } : {},
    );
    const { stage, actions } = plan({ observed });
    expect([stage, ...actions.map(told)]).toEqual(['creating', 'update bind v4.http.api.eu']);
    const anew = plan({ observed, capabilities: { update: false } });
    expect([anew.stage, ...anew.actions.map(told)]).toEqual([
      'clashing',
      'destroy bind v4.http.api.eu',
    ]);
  });
});

describe('objects that failed', () => {
  const observed = observedOf(desired(), inPhase('failed', 'backend', 'http.'));
  const after = (of: Partial<Trouble>, more: Partial<PlanInput> = {}) =>
    plan({ observed, troubles: trouble('backend', 'http.api.eu', of), ...more });

  test('vector 8: it is asked for once more, and nothing is destroyed', () => {
    const { stage, actions } = plan({ observed });
    expect([stage, ...actions.map(told)]).toEqual(['recovering', 'update backend http.api.eu']);
  });
  testRows([
    [1, 30_000],
    [2, 120_000],
    [3, 600_000],
  ])('vector 8: after %i times it rests for %i ms', (recoveries, ms) => {
    const waiting = after({ recoveries, triedAtMs: NOW - ms + 1 });
    expect(waiting).toMatchObject({ stage: 'settled', isComplete: false, retryAtMs: NOW + 1 });
    expect(after({ recoveries, triedAtMs: NOW - ms }).stage).not.toBe('settled');
  });
  test('vector 8: after three times it is replaced, and only it', () => {
    const { stage, actions } = after({ recoveries: 3, triedAtMs: NOW - 600_000 });
    expect([stage, ...actions.map(told)]).toEqual(['clashing', 'destroy backend http.api.eu']);
  });
  test('when it cannot be destroyed by itself, its own children go with it', () => {
    const { actions } = after({ recoveries: 3, triedAtMs: NOW - 600_000, isBlocked: true });
    expect(actions.map(told)).toEqual([
      'destroy bind v4.http.api.eu',
      'destroy bind v6.http.api.eu',
      `destroy server ${nameOf(M1, 'http')}`,
      `destroy server ${nameOf(M2, 'http')}`,
      'destroy frontend http.api.eu',
      'destroy backend http.api.eu',
    ]);
  });
  test('one that fails again after that is shelved, and the rest goes on', () => {
    const shelved = after({ replacements: 1, triedAtMs: NOW - 60_000 });
    expect(shelved).toMatchObject({ stage: 'settled', shelved: ['http.api.eu'] });
    const { stage } = after(
      { replacements: 1, triedAtMs: NOW - 60_000 },
      { desired: desired([M1]) },
    );
    expect(stage).toBe('dropping');
  });
  test('it holds back its own children, and nobody else’s', () => {
    const some = without('server').map((each) =>
      each.spec.name === 'http.api.eu' && each.spec.kind === 'backend'
        ? { ...each, phase: 'failed' as const }
        : each,
    );
    const troubles = trouble('backend', 'http.api.eu', { recoveries: 1, triedAtMs: NOW });
    const { stage, actions } = plan({ observed: some, troubles });
    expect([stage, ...actions.map(told)]).toEqual([
      'creating',
      `create server ${nameOf(M1, 'https')}`,
      `create server ${nameOf(M2, 'https')}`,
    ]);
  });
  test('where objects cannot be updated it is replaced at once', () => {
    const { stage, actions } = plan({ observed, capabilities: { update: false } });
    expect([stage, ...actions.map(told)]).toEqual(['clashing', 'destroy backend http.api.eu']);
  });
});

describe('changes that are refused', () => {
  const refusal = (atMs: number) => ({ count: 1, atMs, why: 'bad address' });
  const there = without('bind v6.http.', 'server');
  const refusals = (atMs: number) => new Map([['create bind v6.http.api.eu', refusal(atMs)]]);

  test('keep no other waiting, and are told', () => {
    const { stage, actions, refused } = plan({ observed: there, refusals: refusals(NOW) });
    expect([stage, actions.length]).toEqual(['creating', 4]);
    expect(refused).toEqual([{ what: 'create bind v6.http.api.eu', why: 'bad address' }]);
    expect(plan({ observed: without('bind v6.http.'), refusals: refusals(NOW) })).toMatchObject({
      stage: 'settled',
      isComplete: false,
      retryAtMs: NOW + 5_000,
    });
  });
  test('are asked for again after a while', () => {
    const observed = without('bind v6.http.');
    const { actions, refused } = plan({ observed, refusals: refusals(NOW - 5_000) });
    expect([actions.map(told), refused]).toEqual([['create bind v6.http.api.eu'], []]);
  });
  test('a server that cannot be destroyed stays, another with its name may go', () => {
    const observed = observedOf(desired([M1, M2, M3]));
    const [first, second] = plan({ observed }).actions;
    const id = first?.act === 'destroy' ? first.object.ref.id : '';
    const rest = plan({ observed, refusals: new Map([[`destroy server ${id}`, refusal(NOW)]]) });
    expect(rest.actions).toEqual([second]);
  });
});

describe('what is to leave and still serves', () => {
  const old = { address: '198.51.100.1', number: 80 };
  const oldBind: Observed = {
    ...observedOf(desired()).find(({ spec }) => spec.name === 'v4.http.api.eu')!,
    ref: { kind: 'bind', id: 'old' },
    spec: { kind: 'bind', name: 'v4-0ld.http.api.eu', ...old },
  };
  testRows(['progressing', 'failed'] as const)('stays while its successor is %s', (phase) => {
    const observed = [...observedOf(desired(), inPhase(phase, 'bind', 'v4.http.')), oldBind];
    const of = { stuckUntilMs: NOW + 1, recoveries: 1, triedAtMs: NOW };
    const troubles = trouble('bind', 'v4.http.api.eu', of);
    expect(plan({ observed, troubles })).toMatchObject({ stage: 'settled', isComplete: false });
    expect(plan({ observed: [...observedOf(desired()), oldBind] }).stage).toBe('leaving');
  });
  test('and goes though a bind of another port is not ready', () => {
    const observed = [...observedOf(desired(), inPhase('failed', 'bind', 'v4.https.')), oldBind];
    const troubles = trouble('bind', 'v4.https.api.eu', { recoveries: 1, triedAtMs: NOW });
    expect(plan({ observed, troubles }).actions.map(told)).toEqual([
      'destroy bind v4-0ld.http.api.eu',
    ]);
  });
});

describe('twins', () => {
  const twin = (change: Partial<Observed>) =>
    observedOf(desired())
      .filter(({ spec }) => spec.name === nameOf(M1, 'http'))
      .map((each): Observed => ({ ...each, ...change }));
  testRows([
    ['ready', 'a', 'the lower id stays', `server ${nameOf(M1, 'http')}`],
    ['ready', 'z', 'the lower id stays', 'z'],
    ['progressing', 'a', 'the ready one stays', 'a'],
    ['failed', 'a', 'the ready one stays', 'a'],
  ] as const)('vector 17: one that is %s with the id %s: %s', (phase, id, _, goes) => {
    const observed = [...observedOf(desired()), ...twin({ phase, ref: { kind: 'server', id } })];
    const { stage, actions } = plan({ observed });
    expect(stage).toBe('leaving');
    expect(actions).toMatchObject([{ act: 'destroy', object: { ref: { id: goes } } }]);
  });
});

describe('objects without a tag', () => {
  const untagged = (kind: string) =>
    observedOf(desired(), ({ spec }) => (spec.kind === kind ? { tagged: false } : {}));
  test('vector 14: they are adopted and not made again', () => {
    const { stage, actions } = plan({ observed: untagged('bind') });
    expect(stage).toBe('creating');
    expect(actions.map(({ act }) => act)).toEqual(['adopt', 'adopt', 'adopt', 'adopt']);
  });
  test('what is not wanted is adopted before it is destroyed', () => {
    const { stage, actions } = plan({ desired: desired([M1]), observed: untagged('server') });
    expect(stage).toBe('creating');
    expect(actions.map(({ act }) => act)).toEqual(['adopt', 'adopt']);
    const rest = untagged('server').map((each) =>
      each.spec.name.startsWith(M1) ? { ...each, tagged: true } : each,
    );
    const then = plan({ desired: desired([M1]), observed: rest });
    expect([then.stage, ...then.actions.map(({ act }) => act)]).toEqual([
      'leaving',
      'adopt',
      'adopt',
    ]);
  });
});

test('what took too long to get ready is not waited for any more, and holds nobody back', () => {
  const observed = observedOf(desired(), inPhase('progressing', 'bind', 'v4.http.'));
  const troubles = trouble('bind', 'v4.http.api.eu', { stuckUntilMs: NOW + 1 });
  expect(plan({ observed })).toMatchObject({ stage: 'waiting' });
  expect(plan({ observed, troubles })).toMatchObject({ stage: 'settled', isComplete: false });
});

test('what differs is updated in place, or made anew', () => {
  const observed = observedOf(desired(), ({ spec }) =>
    spec.name === nameOf(M1, 'http') ? { differs: 'its check is off' } : {},
  );
  expect(plan({ observed }).actions.map(told)).toEqual([`update server ${nameOf(M1, 'http')}`]);
  const anew = plan({ observed, capabilities: { update: false } });
  expect([anew.stage, ...anew.actions.map(told)]).toEqual([
    'clashing',
    `destroy server ${nameOf(M1, 'http')}`,
  ]);
});
