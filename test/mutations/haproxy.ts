import { mistakesNamed, type Mutation } from './mutation.ts';

const FAULTS = ['test/adapters/balancer/haproxy/faults.test.ts'];
const TRAFFIC = ['test/adapters/balancer/haproxy/traffic.test.ts'];
const TOGETHER = ['test/adapters/balancer/haproxy/together.test.ts'];
const LEFT_BEHIND = ['test/adapters/balancer/haproxy/left-behind.test.ts'];
const AT_ONCE = [
  'test/adapters/balancer/haproxy/at-once.test.ts',
  'test/adapters/balancer/haproxy/run-time.test.ts',
];
const room = 'src/adapters/balancer/haproxy';

/** The driver of HAProxy. Without the program its tests are left out, and nobody notices any of these. */
export const mutations: readonly Mutation[] = [
  ...mistakesNamed(
    { file: `${room}/files.ts`, tests: FAULTS },
    [
      'haproxy-overwrites-a-file-without-a-mark',
      'if (text === null || isMarked(text, owner)) return;',
      'if (text !== undefined) return;',
      'is left alone',
    ],
    [
      'haproxy-checks-without-the-candidate',
      'for (const { owner, text } of candidates) texts.set(basename(pathOf(owner)), text);',
      '',
      'vector 23',
    ],
    ['haproxy-checks-without-the-base-files', '[...baseFiles, dir]', '[dir]', 'vector 23'],
  ),
  ...mistakesNamed(
    { file: `${room}/changes.ts`, tests: FAULTS },
    [
      'haproxy-candidates-are-not-checked',
      'await files.check(candidates, closing.signal);\n      if',
      'if',
      'vector 23',
    ],
    [
      'haproxy-leaves-a-file-that-cannot-be-loaded',
      'for (const candidate of before) await files.put(candidate);',
      '',
      'vector 23',
    ],
    [
      'haproxy-takes-one-pools-mistake-for-anothers',
      'else if (done.length === 1) done[0]!.waiting.reject(failure);',
      'else if (done.length >= 1) for (const { waiting } of done) waiting.reject(failure);',
      "one pool's mistake",
    ],
    [
      'haproxy-tries-ports-that-others-have',
      'await requireFree(newEnds(reshaped, await runTimes.read(closing.signal)));',
      'await requireFree([]);',
      'a port that somebody else has',
    ],
  ),
  ...mistakesNamed(
    { file: `${room}/changes.ts`, tests: LEFT_BEHIND },
    [
      'haproxy-breaks-a-reload-off-when-closed',
      'await master.reload(toTheEnd)',
      'await master.reload(closing.signal)',
      'closed amid a reload',
    ],
    [
      'haproxy-fails-all-for-one-unreadable-pool',
      'const found = looks.get(owner.suffix) ?? draftOf(owner);',
      'const found = looks.get(owner.suffix) ?? Promise.resolve(await draftOf(owner));',
      'failure of its own changes',
    ],
  ),
  ...mistakesNamed({ file: `${room}/free-ends.ts`, tests: LEFT_BEHIND }, [
    'haproxy-takes-its-own-listener-for-a-strangers',
    'pools.some(({ owner }) => isOf(owner, name))',
    'pools.length === 0',
    'not taken for a stranger',
  ]),
  ...mistakesNamed({ file: `${room}/pool-file.ts`, tests: LEFT_BEHIND }, [
    'haproxy-keeps-what-it-cannot-write',
    "CHECK_PATH.test(path) ? { by: 'http', path } : { by: 'tcp' }",
    "{ by: 'http', path }",
    'left out or put right',
  ]),
  ...mistakesNamed({ file: `${room}/haproxy-balancer.ts`, tests: LEFT_BEHIND }, [
    'haproxy-fails-all-for-one-unwritable-server',
    "requireSpec({ kind: 'server', name, ...server });",
    '',
    'failure of its own changes',
  ]),
  ...mistakesNamed(
    { file: `${room}/changes.ts`, tests: TRAFFIC },
    [
      'haproxy-takes-a-pool-without-files-for-nothing',
      'if (text === null && loadedText === null) {',
      'if (text === undefined) {',
      'both files of a pool',
    ],
    [
      'haproxy-loads-a-lost-pool-without-its-servers',
      'return { owner, file: served, loaded: served,',
      'return { owner, file: emptyFile(), loaded: served,',
      'both files of a pool',
    ],
  ),
  ...mistakesNamed(
    { file: `${room}/run-time.ts`, tests: AT_ONCE },
    [
      'haproxy-takes-for-done-what-it-said',
      'new Set(changes.filter((each) => isMade(each, now, left)))',
      'new Set(changes)',
      'came out as wanted|stays though',
    ],
    [
      'haproxy-makes-servers-one-by-one',
      'new Set(changes.filter((each) => isMade(each, now, left)))',
      'new Set<ServerChange>()',
      'many servers are made',
    ],
  ),
  ...mistakesNamed({ file: `${room}/changes.ts`, tests: AT_ONCE }, [
    'haproxy-tries-each-though-all-is-refused',
    'if (isWithout) {',
    'if (isWithout && all.length === 0) {',
    'not each is tried',
  ]),
  ...mistakesNamed({ file: `${room}/files.ts`, tests: TOGETHER }, [
    'haproxy-removes-what-others-check',
    'nowMs - found.mtimeMs > DEAD_MS',
    'found',
    'under check',
  ]),
  ...mistakesNamed({ file: `${room}/exchange.ts`, tests: TOGETHER }, [
    'haproxy-takes-a-reload-for-its-end',
    'if (!(error instanceof Unreachable)) throw error;',
    'throw error;',
    'fail by another',
  ]),
  ...mistakesNamed({ file: `${room}/pool-file.ts`, tests: TRAFFIC }, [
    'haproxy-drained-servers-come-back-with-a-reload',
    "drain: 'weight 0'",
    "drain: 'weight 1'",
    'a drained server keeps|vector 24',
  ]),
  ...mistakesNamed(
    { file: `${room}/run-time.ts`, tests: TRAFFIC },
    [
      'haproxy-forgets-the-connections-of-old-workers',
      "if (answer !== null) tableOf(answer, ',', 'pxname').filter(isServer).forEach(count);",
      'void answer;',
      'a drained server keeps',
    ],
    [
      'haproxy-leaves-the-connections-of-old-workers',
      'for (const pid of [worker, ...old]) {',
      'for (const pid of [worker]) {',
      'a drained server keeps',
    ],
  ),
];
