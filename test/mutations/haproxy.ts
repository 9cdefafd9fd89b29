import { mistakesNamed, type Mutation } from './mutation.ts';

const FAULTS = ['test/adapters/balancer/haproxy/faults.test.ts'];
const TRAFFIC = ['test/adapters/balancer/haproxy/traffic.test.ts'];
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
      'await files.check(candidates, closing.signal);\n      await',
      'await',
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
      'else if (done.length === 1) done[0]!.reject(failure);',
      'else if (done.length >= 1) for (const each of done) each.reject(failure);',
      "one pool's mistake",
    ],
    [
      'haproxy-tries-ports-that-others-have',
      'await requireFree(newEnds(reshaped));',
      'await requireFree([]);',
      'a port that somebody else has',
    ],
  ),
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
