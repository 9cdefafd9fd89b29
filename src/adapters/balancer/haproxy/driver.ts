import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { BalancerDriver } from '../port.ts';
import { createHaproxyBalancer } from './haproxy-balancer.ts';

const BASE_FILES_MAX = 20;

function settings(around: Surroundings) {
  return z.strictObject({
    masterSocket: leaf.path(
      'Socket of the master of HAProxy, on this machine (haproxy -W -S <socket>).',
      around,
    ),
    poolsDir: leaf.path(
      'Directory of the files that are generated, one per pool; HAProxy loads it after the operator’s own files.',
      around,
    ),
    baseFiles: leaf.paths(
      'The operator’s own files, as HAProxy is started with them: what is generated is checked together with them.',
      BASE_FILES_MAX,
      around,
    ),
    program: leaf
      .text('The program that checks files: a name or a path.', {
        matches: /^[^\s-]\S*$/,
        type: 'a name or a path without blanks',
      })
      .prefault('haproxy'),
    idleTimeout: leaf
      .duration('A connection over which nothing goes for so long is ended.', 1_000)
      .prefault('1h'),
  });
}

/** An HAProxy of ours, from 2.6 on, which runs on this machine as master and workers. */
export const haproxyDriver: BalancerDriver<z.output<ReturnType<typeof settings>>> = {
  name: 'haproxy',
  settings,
  open: ({ masterSocket, poolsDir, baseFiles, program, idleTimeout }, { clock, random }) =>
    createHaproxyBalancer({
      ...{ masterSocket, poolsDir, baseFiles, program, clock, random },
      idleMs: idleTimeout,
    }),
  overlaps: (one, other) => {
    if (one.masterSocket === other.masterSocket) return 'masterSocket';
    return one.poolsDir === other.poolsDir ? 'poolsDir' : null;
  },
};
